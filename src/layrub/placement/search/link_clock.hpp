#ifndef LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_
#define LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::search {

/// An evicted tensor.
struct Evicted {
  int64_t bytes = 0;      ///< bytes that a copy moves
  int64_t range = 0;      ///< bytes of its range on the device
  RunId last = kNone;     ///< the last run that used it; it can be offloaded once that has ended
  RunId release = kNone;  ///< the run after which its range became free
  bool saved = false;     ///< an earlier copy is still valid, so nothing has to be offloaded
};

/// Predicts when runs begin and end while they are still being chosen, one after the other, and how
/// long they wait for copies. A prefetch takes the link up in the order of the calls, as early as
/// the capacity allows. The offload before it takes the link down as soon as that is idle after the
/// last use, and delays the first run that needs the range before the offload has ended.
class LinkClock {
 public:
  /// `capacity`: bytes of the device. `machine` must outlive the clock.
  LinkClock(const Machine& machine, int64_t capacity) : machine_(machine), capacity_(capacity) {}

  double Seconds(int64_t bytes) const;  ///< of a prefetch

  /// Seconds for which the next run would wait if it needed `evicted`.
  double Wait(const Evicted& evicted) const;

  /// Notes that the next run needs `evicted`.
  void Fetch(const Evicted& evicted);

  /// Adds the next run, which takes `seconds`. The device holds `load` bytes during it.
  void Run(double seconds, int64_t load);

 private:
  struct Stretch {
    double begin = 0;
    double end = 0;
  };
  /// A prefetch that uses the link until `end`; its range is taken from run `first` on.
  struct Arrival {
    RunId first = kNone;
    double end = 0;
  };
  struct Save {
    size_t place = 0;  ///< index at which to insert it into saves_
    Stretch stretch{};
    double delay = 0;  ///< of the run that needed its range
  };
  RunId Count() const { return static_cast<RunId>(runs_.size()); }
  Save FindSave(const Evicted& evicted) const;
  Arrival FindArrival(const Evicted& evicted) const;

  const Machine& machine_;
  const int64_t capacity_;
  std::vector<Stretch> runs_;
  std::vector<int64_t> loads_;  ///< by run; prefetched tensors count from where Fetch begins them
  std::vector<Stretch> saves_;  ///< when the link down is in use, sorted
  double now_ = 0;
  double link_free_ = 0;  ///< when the last prefetch ends
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_
