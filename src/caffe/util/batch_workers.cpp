#include "caffe/util/batch_workers.hpp"

#include <boost/thread/thread.hpp>
#include <system_error>

#ifdef __linux__
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace caffe {

namespace {

using Lock = boost::mutex::scoped_lock;

/// Lowers the calling thread's priority: it gets about a third of the time of another thread of the
/// process that competes for the same core.
void LowerPriority() {
#ifdef __linux__
  constexpr int kNicer = 5;
  const auto thread = static_cast<id_t>(syscall(SYS_gettid));
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + kNicer);
#endif
}

}  // namespace

BatchWorkers::~BatchWorkers() {
  {
    const Lock lock(mutex_);
    ends_ = true;
  }
  queued_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void BatchWorkers::set_threads(int threads) {
  CHECK_GE(threads, 1);
  CHECK(threads_.empty()) << "BatchWorkers: the number of threads is set before they start.";
  most_ = threads;
}

void BatchWorkers::Run(int items, const std::function<Work(int)>& read) {
  {
    const Lock lock(mutex_);
    passed_.assign(static_cast<size_t>(items), false);
    turn_ = 0;
    failed_ = items;
    error_ = nullptr;
  }
  try {
    ReadAll(items, read);
  } catch (...) {
    // Reached on an interruption or lack of memory. Waits, because running work uses objects of the
    // caller.
    const boost::this_thread::disable_interruption uninterrupted;
    Lock lock(mutex_);
    failed_ = -1;
    queue_.clear();
    turned_.notify_all();
    AwaitWork(&lock);
    throw;
  }
  if (!error_) return;
  try {
    std::rethrow_exception(error_);
  } catch (const Error& failed_check) {
    LOG(FATAL) << failed_check.what();
  }
}

void BatchWorkers::ReadAll(int items, const std::function<Work(int)>& read) {
  const auto fails = [&] {
    const Lock lock(mutex_);
    return failed_ < items;
  };
  for (int i = 0; i < items && !fails(); ++i) {
    boost::this_thread::interruption_point();
    Work work;
    Try(i, [&] { work = read(i); });
    if (!work || !Hand(i, &work)) Finish(i, &work);
  }
  Lock lock(mutex_);
  AwaitWork(&lock);
}

void BatchWorkers::AwaitWork(Lock* lock) {
  done_.wait(*lock, [this] { return queue_.empty() && busy_ == 0; });
}

/// Queues `work`. Returns false if there is no thread to take it.
bool BatchWorkers::Hand(int item, Work* work) {
  if (most_ == 1) return false;
  Lock lock(mutex_);
  taken_.wait(lock, [this] { return queue_.size() < static_cast<size_t>(most_); });
  if (queue_.size() >= idle_ && threads_.size() < static_cast<size_t>(most_)) StartThread();
  if (threads_.empty()) return false;
  queue_.emplace_back(item, std::move(*work));
  queued_.notify_one();
  return true;
}

/// If the system cannot start a thread, the existing ones must do.
void BatchWorkers::StartThread() {
  const Caffe::Brew mode = Caffe::mode();
  layrub::Device* const device = Caffe::chosen_device();
  try {
    threads_.emplace_back([this, mode, device] {
      LowerPriority();
      Caffe::UseDevice(device);
      Caffe::set_mode(mode);
      WorkOn();
    });
  } catch (const std::system_error& error) {
    LOG_FIRST_N(WARNING, 1) << "Data are read with " << threads_.size()
                            << " threads, as no other can be started: " << error.what();
  }
}

void BatchWorkers::WorkOn() {
  Lock lock(mutex_);
  while (true) {
    ++idle_;
    queued_.wait(lock, [this] { return ends_ || !queue_.empty(); });
    --idle_;
    if (ends_) return;
    ++busy_;
    auto [item, work] = std::move(queue_.front());
    queue_.pop_front();
    taken_.notify_one();
    lock.unlock();
    Finish(item, &work);
    lock.lock();
    --busy_;
    done_.notify_one();
  }
}

/// Runs `body` and records the error of the first item that fails.
void BatchWorkers::Try(int item, const Work& body) {
  std::exception_ptr error;
  try {
    const ThrowOnError bare(ThrowOnError::kNotLogged);
    body();
    return;
  } catch (const GivenUp&) {
    return;
  } catch (const boost::thread_interrupted&) {
    throw;  // only on the thread of Run
  } catch (...) {
    error = std::current_exception();
  }
  const Lock lock(mutex_);
  if (item >= failed_) return;
  failed_ = item;
  error_ = error;
}

/// Runs the remaining work of `item`, unless an earlier item has failed, and deletes the work.
void BatchWorkers::Finish(int item, Work* work) {
  {
    const Lock lock(mutex_);
    if (failed_ < item) *work = nullptr;
  }
  if (*work) Try(item, *work);
  *work = nullptr;
  const Lock lock(mutex_);
  Pass(item);
}

void BatchWorkers::InOrder(int item, const Work& body) {
  {
    Lock lock(mutex_);
    const auto turn = static_cast<size_t>(item);
    turned_.wait(lock, [&] { return turn_ == turn || failed_ < item; });
    if (failed_ < item) throw GivenUp();
  }
  body();
  const Lock lock(mutex_);
  Pass(item);
}

/// The mutex must be held.
void BatchWorkers::Pass(int item) {
  passed_[static_cast<size_t>(item)] = true;
  const size_t before = turn_;
  while (turn_ < passed_.size() && passed_[turn_]) ++turn_;
  // Waiting threads may be waiting for a failure.
  if (turn_ != before || failed_ < static_cast<int>(passed_.size())) turned_.notify_all();
}

}  // namespace caffe
