// liblayrub_mpi.so: the processes that mpirun has started together, as a group.
//
// One thread makes all calls of MPI, so MPI needs no support for threads. The thread never waits
// inside MPI, which would spin on a core that others compute on. It polls its requests and sleeps
// in between, for an eighth of the time that it has waited so far.
#include <mpi.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "connect.hpp"
#include "layrub/device/mailboxes.hpp"
#include "layrub/device/ranks.hpp"
#include "mpi_letters.hpp"
#include "mpi_values.hpp"

namespace layrub {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

/// The exchange of a piece usually takes no longer than this.
constexpr auto kLongestTransfer = std::chrono::milliseconds(5);

/// Sleeps for an eighth of the time since it was made, 1 ms at most.
class Pauses {
 public:
  Clock::duration Next() const {
    return std::clamp<Clock::duration>((Clock::now() - begin_) / 8, microseconds(10),
                                       microseconds(1000));
  }
  void Sleep() const { std::this_thread::sleep_for(Next()); }

 private:
  Clock::time_point begin_ = Clock::now();
};

/// Thrown by the thread to leave a task when the group has failed or the process ends.
struct Stopped {};

class MpiCommunicator final : public RankCommunicator {
 public:
  MpiCommunicator() : thread_([this] { Run(); }) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return connected_; });
  }
  ~MpiCommunicator() override {
    if (live == this) live = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (busy_ || !tasks_.empty())
        FailHere("member " + std::to_string(rank_) + " has left its group", true);
      leaves_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  /// Ends the thread without leaving the group, for a process that exits early.
  void StopThread() {
    stops_ = true;
    changed_.notify_all();
    thread_.join();
  }

  /// The communicator of this process. Null before it is made and after it is destroyed.
  static inline std::atomic<MpiCommunicator*> live = nullptr;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  int sharers() const override { return sharers_; }
  int idle_cores() const override { return idle_cores_; }
  Device* device() const override { return device_; }
  void UseDevice(Device* device) override { device_ = device; }

  void Broadcast(const std::vector<Values>& values) override {
    Push({MpiTask::Kind::kBroadcast, values});
  }
  void Sum(const std::vector<Values>& values) override { Push({MpiTask::Kind::kSum, values}); }

  void Wait() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_ && (failed_ || tasks_.empty()); });
    ThrowIfFailed();
  }
  void Synchronize() override { Wait(); }

  using Communicator::Receive;
  using Communicator::Send;
  void Send(int to, std::string message, Channel channel) override {
    {
      const std::lock_guard lock(mutex_);
      ThrowIfFailed();
      unsent_.push_back({to, MpiLetters::TagOf(channel), std::move(message)});
    }
    changed_.notify_all();
  }

  std::optional<std::string> Receive(int from, double seconds, Channel channel) override {
    return inbox_.Receive(from, rank_, seconds, channel);
  }

  void Abort(const std::string& reason) override {
    std::unique_lock lock(mutex_);
    FailHere(reason, true);
    changed_.wait(lock, [this] { return !busy_; });
  }

 private:
  // ---- For any thread ----

  void Push(MpiTask task) {
    // So that the copies see exactly the values computed so far.
    if (device_ != nullptr) device_->Synchronize();
    {
      const std::lock_guard lock(mutex_);
      ThrowIfFailed();
      tasks_.push_back(std::move(task));
    }
    changed_.notify_all();
  }

  void ThrowIfFailed() const {
    if (failed_) throw GroupFailed(reason_);
  }

  /// Needs the lock. `tell`: sends the reason to the other members.
  void FailHere(const std::string& reason, bool tell) {
    if (failed_) return;
    reason_ = reason;
    failed_ = true;
    inbox_.Fail(reason);
    for (int to = 0; to < size_ && tell; ++to) {
      if (to != rank_) unsent_.push_back({to, MpiLetters::kFailure, reason});
    }
    changed_.notify_all();
  }

  // ---- The thread ----

  void Run() {
    prctl(PR_SET_TIMERSLACK, 1000UL);  // so that short sleeps are not prolonged
    Connect();
    while (RunNext()) {
    }
    Leave();
  }

  void Connect() {
    int provided = 0;  // ignored: this thread makes all calls
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
    DetectMachine();
    values_.emplace([this](std::vector<MPI_Request>* requests, bool all_are_here) {
      Await(requests, all_are_here);
    });
    letters_.emplace([this](int from, MpiLetters::Tag tag, std::string text) {
      TakeIn(from, tag, std::move(text));
    });
    const std::lock_guard lock(mutex_);
    connected_ = true;
    changed_.notify_all();
  }

  void DetectMachine() {
    MPI_Comm local = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local);
    MPI_Comm_rank(local, &local_rank_);
    MPI_Comm_size(local, &local_size_);
    cpu_set_t cores;
    CPU_ZERO(&cores);
    sched_getaffinity(0, sizeof(cores), &cores);
    std::vector<cpu_set_t> all(static_cast<size_t>(local_size_));
    MPI_Allgather(&cores, sizeof(cores), MPI_BYTE, all.data(), sizeof(cores), MPI_BYTE, local);
    MPI_Comm_free(&local);
    cpu_set_t used;
    CPU_ZERO(&used);
    for (cpu_set_t& each : all) {
      sharers_ += CPU_EQUAL(&each, &cores) ? 1 : 0;
      CPU_OR(&used, &used, &each);
    }
    const int64_t online = sysconf(_SC_NPROCESSORS_ONLN);
    idle_cores_ = static_cast<int>(std::max<int64_t>(0, online - CPU_COUNT(&used)));
  }

  /// Does the next task, or waits a moment. Returns false when the thread must end.
  bool RunNext() {
    MpiTask task;
    {
      const std::lock_guard lock(mutex_);
      if (stops_ || leaves_) return false;
      busy_ = !failed_ && !tasks_.empty();
      if (busy_) task = tasks_.front();
    }
    if (!busy_) {
      if (Serve()) idle_ = Pauses();
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, idle_.Next(), [this] {
        return stops_ || leaves_ || (!failed_ && !tasks_.empty()) || !unsent_.empty();
      });
      return true;
    }
    std::string error;
    try {
      values_->Do(task, device_);
    } catch (const Stopped&) {
      // MPI would write values of this task when it is called again, into memory that may be gone.
      SendRest();
      quiet_ = true;
    } catch (const std::exception& thrown) {
      error = thrown.what();
    }
    idle_ = Pauses();
    const std::lock_guard lock(mutex_);
    busy_ = false;
    tasks_.pop_front();
    if (!error.empty()) FailHere(error, true);
    changed_.notify_all();
    return true;
  }

  void SendRest() {
    const Clock::time_point latest = Clock::now() + std::chrono::milliseconds(500);
    const auto sent = [this] {
      const std::lock_guard lock(mutex_);
      return unsent_.empty() && letters_->sent();
    };
    for (const Pauses pauses; !sent() && Clock::now() < latest; pauses.Sleep()) Serve();
  }

  void Leave() {
    if (quiet_) return;
    SendRest();  // most of all the reason of a failure
    if (stops_) return;
    try {
      std::vector<MPI_Request> all_leave(1);
      MPI_Ibarrier(values_->comm(), all_leave.data());
      Await(&all_leave, false);
      MPI_Finalize();
    } catch (const Stopped&) {
      // This process has failed and ends; mpirun ends the others.
    }
  }

  /// See MpiValues::Await. MPI moves values only while it is called, so this polls without sleeping
  /// while values flow.
  void Await(std::vector<MPI_Request>* requests, bool all_are_here) {
    const Clock::time_point begin = Clock::now();
    const Pauses pauses;
    for (int done = 0;;) {
      MPI_Testall(static_cast<int>(requests->size()), requests->data(), &done, MPI_STATUSES_IGNORE);
      if (done) return;
      if (stops_ || failed_) throw Stopped();
      if (all_are_here && Clock::now() - begin < kLongestTransfer) {
        sched_yield();
        continue;
      }
      Serve();
      pauses.Sleep();
    }
  }

  /// Sends and receives letters. Returns whether there were any.
  bool Serve() {
    if (quiet_) return false;
    {
      const std::lock_guard lock(mutex_);
      letters_->Send(&unsent_);
    }
    return letters_->Serve();
  }

  void TakeIn(int from, MpiLetters::Tag tag, std::string text) {
    const std::lock_guard lock(mutex_);
    if (tag == MpiLetters::kFailure) {
      FailHere(text, false);
    } else if (!failed_) {
      inbox_.Send(from, rank_, std::move(text), MpiLetters::ChannelOf(tag));
    }
  }

  // Used by the thread only, or set by it before `connected_`.
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1, sharers_ = 0, idle_cores_ = 0;
  std::optional<MpiValues> values_;
  std::optional<MpiLetters> letters_;
  bool quiet_ = false;  ///< MPI must not be called any more
  Pauses idle_;         ///< since the thread last had something to do
  Mailboxes inbox_;     ///< messages received for this member
  Device* device_ = nullptr;
  std::atomic<bool> stops_ = false;

  std::mutex mutex_;  ///< of all that follows
  std::condition_variable changed_;
  bool connected_ = false;
  std::deque<MpiTask> tasks_;
  bool busy_ = false;  ///< with the first task
  std::list<MpiLetters::Letter> unsent_;
  std::atomic<bool> failed_ = false;
  std::string reason_;
  bool leaves_ = false;

  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace
}  // namespace layrub

layrub::RankCommunicator* layrub_connect_mpi(std::string* why_not) {
  using layrub::MpiCommunicator;
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (initialized) {
    *why_not = "This process already uses MPI.";
    return nullptr;
  }
  MpiCommunicator::live = new MpiCommunicator;
  // Otherwise a call of exit would leave the thread inside MPI.
  std::atexit([] {
    if (MpiCommunicator* const live = MpiCommunicator::live.exchange(nullptr)) live->StopThread();
  });
  return MpiCommunicator::live;
}
