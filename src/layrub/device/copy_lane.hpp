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

/// When tickets were reached: the last kKept of a lane, in a ring that is made once. The writer
/// publishes a ticket (CopyLane: by an atomic) after Set; At may then be called by others.
class TicketTimes {
 public:
  static constexpr uint64_t kKept = uint64_t{1} << 20;

  void Set(uint64_t ticket, double seconds) { times_[ticket % kKept] = seconds; }
  double At(uint64_t ticket) const { return times_[ticket % kKept]; }

 private:
  // Not initialised: pages are touched as tickets are given out.
  std::unique_ptr<double[]> times_ = std::make_unique_for_overwrite<double[]>(kKept);
};

/// A thread that does copies one after another. One thread queues; any thread may await a ticket.
/// The destructor does all that is queued before it returns, so the lanes that queued waits refer
/// to must still be alive then.
class CopyLane {
 public:
  /// Copies `bytes` from the second address to the first; called by the lane's thread.
  using Copier = std::function<void(void*, const void*, int64_t)>;

  /// Copies from memory to memory.
  CopyLane();
  explicit CopyLane(Copier copier);
  ~CopyLane();
  CopyLane(const CopyLane&) = delete;
  CopyLane& operator=(const CopyLane&) = delete;

  void Copy(void* to, const void* from, int64_t bytes);
  /// Calls `function`, in the lane's thread.
  void Call(std::function<void()> function);
  /// Lets the lane go on only when `other` has reached `ticket`.
  void Wait(const CopyLane* other, uint64_t ticket);
  /// The ticket that is reached when all that has been queued is done.
  uint64_t Record();

  /// Blocks the caller until `ticket` is reached.
  void Await(uint64_t ticket) const;
  /// Blocks the caller until all that has been queued is done; wakes no lane that has nothing to
  /// do.
  void Finish();
  /// Whether all that has been queued is done.
  bool idle() const;
  /// Throws what a copy or a call has thrown: no copy that was queued behind it is made.
  void Rethrow() const { error_.Rethrow(); }
  /// When `ticket` was reached; NaN if it has not been, or more than TicketTimes::kKept tickets
  /// ago.
  double SecondsOf(uint64_t ticket) const;

 private:
  /// A copy if `to`, a call if `function`, a wait if `lane`, else a mark: `ticket` is reached.
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
  std::atomic<uint64_t> done_{0};     ///< and how many of them are done
  std::atomic<uint64_t> reached_{0};  ///< the last ticket reached
  uint64_t recorded_ = 0;             ///< the last ticket given out
  TicketTimes times_;
  FirstError error_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_COPY_LANE_HPP_
