#ifndef LAYRUB_PLACEMENT_SEARCH_BEST_PROGRAM_HPP_
#define LAYRUB_PLACEMENT_SEARCH_BEST_PROGRAM_HPP_

#include <cstdint>
#include <limits>
#include <optional>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/search/pack_timed.hpp"

namespace layrub::placement::search {

/// The best program that has been tried: the fastest within a budget or, while none fits, the one
/// that needs the fewest bytes.
class BestProgram {
 public:
  /// Keeps references to `graph` and `machine`. `state`: bytes of state at home on the device.
  BestProgram(const Graph& graph, const Machine& machine, const Budget& budget, int64_t state)
      : graph_(graph),
        machine_(machine),
        budget_(budget),
        room_{budget.device - budget.reserved, pack::HostBytes(budget)},
        state_(state) {}

  /// Tries the program, also with faster algorithms. Returns its predicted seconds; kNever if it is
  /// of no use.
  double Consider(Program program);
  /// Tries it with faster algorithms alone.
  void ConsiderFaster(const Program& program);
  /// Tries it packed as tightly as possible without Moves, as other strategies are.
  void ConsiderWithoutMoves(const Program& program);
  /// Takes the program if it is better than the best so far.
  void Take(Packed packed);

  /// A program that exceeds the budget is packed into hardly more than its peak if that is at most
  /// `goal` bytes.
  void AimFor(int64_t goal) { goal_ = goal; }

  const Room& room() const { return room_; }
  bool found() const { return best_.has_value(); }
  bool fits() const { return fits_; }
  const Program& program() const { return best_->program; }
  /// kNever if none fits.
  double seconds() const { return fits_ ? best_->seconds : kNever; }
  /// Of the device; the largest number if there is none.
  int64_t bytes() const {
    return best_ ? best_->plan.device_bytes : std::numeric_limits<int64_t>::max();
  }
  schedule::Choice choice() const {
    return {best_->program, best_->options, fits_ ? std::optional(best_->plan) : std::nullopt};
  }

 private:
  double Try(Program program);
  double Predict(const Program& program) const;
  int64_t EnoughBytes(int64_t peak) const;

  const Graph& graph_;
  const Machine& machine_;
  const Budget budget_;
  const Room room_;
  const int64_t state_;
  int64_t goal_ = 0;
  std::optional<Packed> best_;
  bool fits_ = false;  ///< the best one fits
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_BEST_PROGRAM_HPP_
