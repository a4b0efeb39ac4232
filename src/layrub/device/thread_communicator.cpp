#include <glog/logging.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "layrub/base/per_process.hpp"
#include "layrub/device/communicator.hpp"
#include "mailboxes.hpp"

namespace layrub {
namespace {

constexpr int64_t kChunk = 16384;  ///< values summed at a time; fits into a part of a cache

struct Task {
  enum class Kind : uint8_t { kBroadcast, kSum } kind;
  std::vector<Values> values;
};

bool Match(const Task& a, const Task& b) {
  const auto same = [](const Values& x, const Values& y) {
    return x.count == y.count && x.element == y.element;
  };
  return a.kind == b.kind &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(), same);
}

template <typename Number>
Number* At(const Task& task, size_t index, int64_t offset) {
  return static_cast<Number*>(task.values[index].first) + offset;
}

template <typename Number>
struct Buffers {
  std::vector<Number> sum = std::vector<Number>(kChunk), part = sum;
};

/// What the members share: a queue for each of them, and a thread that does a task as soon as all
/// have queued it.
class Shared {
 public:
  explicit Shared(const std::vector<Device*>& devices)
      : devices_(devices), queues_(devices.size()), thread_([this] { Work(); }) {}
  ~Shared() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  int size() const { return static_cast<int>(queues_.size()); }
  Device* device(int rank) const { return devices_[rank]; }

  void Push(int rank, Task task) {
    const bool alone = size() == 1;  // there is nothing to exchange
    if (devices_[rank] && !alone) devices_[rank]->Synchronize();
    {
      const std::lock_guard lock(mutex_);
      if (failed_) throw GroupFailed(reason_);
      if (alone) return;
      queues_[rank].push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void Await(int rank) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !busy_ && (failed_ || queues_[rank].empty()); });
    if (failed_) throw GroupFailed(reason_);
  }

  Mailboxes& mailboxes() { return mailboxes_; }

  void Abort(const std::string& reason) {
    std::unique_lock lock(mutex_);
    Fail(reason);
    changed_.wait(lock, [&] { return !busy_; });
  }

  void Leave(int rank) {
    std::unique_lock lock(mutex_);
    if (!queues_[rank].empty()) Fail("member " + std::to_string(rank) + " has left its group");
    changed_.wait(lock, [&] { return !busy_; });
  }

 private:
  void Fail(const std::string& reason) {
    if (!failed_) reason_ = reason;
    failed_ = true;
    changed_.notify_all();
    mailboxes_.Fail(reason_);
  }

  bool Ready() const {
    return !failed_ && std::none_of(queues_.begin(), queues_.end(),
                                    [](const auto& queue) { return queue.empty(); });
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return stop_ || Ready(); });
      if (stop_) return;
      std::vector<Task> tasks;  // by rank
      for (std::deque<Task>& queue : queues_) {
        tasks.push_back(std::move(queue.front()));
        queue.pop_front();
      }
      for (size_t rank = 1; rank < tasks.size() && !failed_; ++rank) {
        if (!Match(tasks[0], tasks[rank])) {
          Fail("members 0 and " + std::to_string(rank) +
               " of a group exchange different values: their nets differ");
        }
      }
      if (failed_) continue;
      busy_ = true;
      lock.unlock();
      std::string error;
      try {
        Do(tasks);
      } catch (const std::exception& thrown) {
        error = thrown.what();
      }
      lock.lock();
      busy_ = false;
      if (!error.empty()) Fail(error);
      changed_.notify_all();
    }
  }

  void Do(const std::vector<Task>& tasks) {
    for (size_t i = 0; i < tasks[0].values.size(); ++i) {
      if (tasks[0].values[i].element == Element::kFloat) {
        Combine<float>(tasks, i, &floats_);
      } else {
        Combine<double>(tasks, i, &doubles_);
      }
    }
  }

  void Copy(size_t rank, void* to, const void* from, int64_t bytes) {
    if (devices_[rank]) {
      devices_[rank]->CopyConcurrently(to, from, bytes);
    } else {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    }
  }

  template <typename Number>
  void Combine(const std::vector<Task>& tasks, size_t index, Buffers<Number>* buffers) {
    const int64_t count = tasks[0].values[index].count;
    const size_t members = tasks[0].kind == Task::Kind::kSum ? tasks.size() : 1;
    auto& [sum, part] = *buffers;
    for (int64_t begin = 0; begin < count; begin += kChunk) {
      const int64_t n = std::min(kChunk, count - begin);
      const int64_t bytes = n * static_cast<int64_t>(sizeof(Number));
      Copy(0, sum.data(), At<Number>(tasks[0], index, begin), bytes);
      for (size_t rank = 1; rank < members; ++rank) {
        Copy(rank, part.data(), At<Number>(tasks[rank], index, begin), bytes);
        for (int64_t k = 0; k < n; ++k) sum[k] += part[k];
      }
      for (size_t rank = 0; rank < tasks.size(); ++rank)
        Copy(rank, At<Number>(tasks[rank], index, begin), sum.data(), bytes);
    }
  }

  const std::vector<Device*> devices_;  ///< by rank
  Mailboxes mailboxes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Task>> queues_;  ///< by rank
  bool busy_ = false;                     ///< the thread is using values
  bool failed_ = false;
  std::string reason_;
  bool stop_ = false;
  Buffers<float> floats_;
  Buffers<double> doubles_;
  std::thread thread_;  ///< last: it uses all of the above
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<PerProcess<Shared>> shared, int rank)
      : shared_(std::move(shared)), rank_(rank) {}
  ~ThreadCommunicator() override {
    if (shared_->here()) (*shared_)->Leave(rank_);
  }

  int rank() const override { return rank_; }
  int size() const override { return shared_->copy().size(); }
  Device* device() const override { return shared_->copy().device(rank_); }
  void Broadcast(const std::vector<Values>& values) override {
    (*shared_)->Push(rank_, {Task::Kind::kBroadcast, values});
  }
  void Sum(const std::vector<Values>& values) override {
    (*shared_)->Push(rank_, {Task::Kind::kSum, values});
  }
  void Wait() override { (*shared_)->Await(rank_); }
  void Synchronize() override { Wait(); }
  using Communicator::Receive;
  using Communicator::Send;
  void Send(int to, std::string message, Channel channel) override {
    (*shared_)->mailboxes().Send(rank_, to, std::move(message), channel);
  }
  std::optional<std::string> Receive(int from, double seconds, Channel channel) override {
    return (*shared_)->mailboxes().Receive(from, rank_, seconds, channel);
  }
  void Abort(const std::string& reason) override { (*shared_)->Abort(reason); }

 private:
  const std::shared_ptr<PerProcess<Shared>> shared_;
  const int rank_;
};

}  // namespace

Group ConnectThreads(const std::vector<Device*>& devices) {
  const auto shared = std::make_shared<PerProcess<Shared>>(devices);
  Group group;
  for (int rank = 0; rank < (*shared)->size(); ++rank) {
    group.push_back(std::make_unique<ThreadCommunicator>(shared, rank));
  }
  return group;
}

Group Connect(const std::vector<Device*>& devices) {
  const bool gpus = std::all_of(devices.begin(), devices.end(), [](const Device* device) {
    return device != nullptr && device->LaunchesKernels();
  });
  if (!gpus || devices.size() < 2) return ConnectThreads(devices);
  std::string why_not;
  Group group = ConnectGpus(devices, &why_not);
  if (!group.empty()) return group;
  LOG(WARNING) << "Values go through host memory, which is slower: " << why_not;
  return ConnectThreads(devices);
}

}  // namespace layrub
