#ifndef LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_
#define LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_

#include <cstdint>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::search {

/// A tensor that has left the device.
struct Evicted {
  int64_t bytes = 0;      ///< that a copy moves
  int64_t range = 0;      ///< that it takes on the device
  RunId last = kNone;     ///< the last run that used it: it can be saved once that has ended
  RunId release = kNone;  ///< after which its range was given to others
  bool saved = false;     ///< an earlier copy is still there: nothing has to be saved
};

/// Tells when runs begin and end while they are still being chosen, one after the other, and how
/// long they wait for copies. A copy back takes the link up in the order of the calls, as early as
/// the room allowed. Its save takes the link down at the first time from its last use on at which
/// that is idle, and delays what needed the range before the save has ended.
class LinkClock {
 public:
  /// `room`: bytes of the device; `machine` has to live as long as the clock.
  LinkClock(const Machine& machine, int64_t room) : machine_(machine), room_(room) {}

  double Seconds(int64_t bytes) const;  ///< of a copy back

  /// Seconds for which the next run would wait if it needed `evicted`.
  double Wait(const Evicted& evicted) const;

  /// The next run needs `evicted`.
  void Fetch(const Evicted& evicted);

  /// The next run, for which the device holds `load` bytes.
  void Run(double seconds, int64_t load);

 private:
  struct Stretch {
    double begin = 0;
    double end = 0;
  };
  /// A copy back that takes the link until `end`; its range is taken from run `first` on.
  struct Arrival {
    RunId first = kNone;
    double end = 0;
  };
  struct Save {
    size_t place = 0;  ///< among saves_
    Stretch stretch{};
    double delay = 0;  ///< of the run that needed its range
  };
  RunId Count() const { return static_cast<RunId>(runs_.size()); }
  Save FindSave(const Evicted& evicted) const;
  Arrival FindArrival(const Evicted& evicted) const;

  const Machine& machine_;
  const int64_t room_;
  std::vector<Stretch> runs_;
  std::vector<int64_t> loads_;  ///< by run, with copies back from where Fetch begins them
  std::vector<Stretch> saves_;  ///< of the link down, in their order
  double now_ = 0;
  double link_free_ = 0;  ///< when the last copy back is here
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_LINK_CLOCK_HPP_
