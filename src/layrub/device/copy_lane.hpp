#ifndef LAYRUB_DEVICE_COPY_LANE_HPP_
#define LAYRUB_DEVICE_COPY_LANE_HPP_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "layrub/device/first_error.hpp"

namespace layrub {

/// Seconds on the monotonic clock.
double Now();

/// The times at which the last kKept tickets of a lane were reached, in a ring that is allocated
/// once. After Set, the writer publishes the ticket (CopyLane uses an atomic); then other threads
/// may call At for it.
class TicketTimes {
 public:
  static constexpr uint64_t kKept = uint64_t{1} << 20;

  void Set(uint64_t ticket, double seconds) { times_[ticket % kKept] = seconds; }
  double At(uint64_t ticket) const { return times_[ticket % kKept]; }

 private:
  // Not initialised: pages are touched only as tickets are given out.
  std::unique_ptr<double[]> times_ = std::make_unique_for_overwrite<double[]>(kKept);
};

/// A thread that makes copies one after another. One thread queues; any thread may await a ticket.
/// The destructor first finishes everything queued, so the lanes that queued waits refer to must
/// still be alive.
class CopyLane {
 public:
  /// Copies `bytes` from the second address to the first. The lane's thread calls it.
  using Copier = std::function<void(void*, const void*, int64_t)>;

  /// Copies from memory to memory.
  CopyLane();
  explicit CopyLane(Copier copier);
  ~CopyLane();
  CopyLane(const CopyLane&) = delete;
  CopyLane& operator=(const CopyLane&) = delete;

  void Copy(void* to, const void* from, int64_t bytes);
  /// Queues a call of `function` by the lane's thread.
  void Call(std::function<void()> function);
  /// Queues a wait: the lane goes on when `other` has reached `ticket`.
  void Wait(const CopyLane* other, uint64_t ticket);
  /// Returns a ticket that is reached when everything queued so far is done.
  uint64_t Record();

  /// Blocks the caller until `ticket` is reached.
  void Await(uint64_t ticket) const;
  /// Blocks the caller until everything queued is done. Does not wake an idle lane.
  void Finish();
  /// Whether everything queued is done.
  bool idle() const;
  /// Throws the first exception of a copy or call, if any. No copy is made after it.
  void Rethrow() const { error_.Rethrow(); }
  /// Returns when `ticket` was reached, or NaN if it has not been, or if it is not among the last
  /// TicketTimes::kKept tickets.
  double SecondsOf(uint64_t ticket) const;

 private:
  /// A copy if `to` is set, a call if `function` is, a wait if `lane` is, otherwise a mark by which
  /// `ticket` is reached.
  struct Item {
    void* to = nullptr;
    const void* from = nullptr;
    int64_t bytes = 0;
    std::function<void()> function = {};
    const CopyLane* lane = nullptr;
    uint64_t ticket = 0;
  };

  void Push(Item item);
  void Work();
  void Execute(const Item& item);

  const Copier copier_;
  mutable std::mutex mutex_;
  std::condition_variable queued_;
  mutable std::condition_variable marked_;
  std::deque<Item> items_;
  bool stop_ = false;
  std::atomic<uint64_t> pushed_{0};   ///< items ever queued
  std::atomic<uint64_t> done_{0};     ///< items done
  std::atomic<uint64_t> reached_{0};  ///< the last ticket reached
  uint64_t recorded_ = 0;             ///< the last ticket given out
  TicketTimes times_;
  FirstError error_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_COPY_LANE_HPP_
