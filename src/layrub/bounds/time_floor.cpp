#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "layrub/bounds/making_again.hpp"
#include "layrub/bounds/needs.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub {
namespace bounds {
namespace {

/// A price of bytes so many times that of the link's both ways makes again all that can be.
constexpr double kSteep = 1e3;
/// Prices that are tried; it takes less than ten in a net of a thousand operations.
constexpr int kMostTrades = 40;
/// Less than this part is a matter of rounding.
constexpr double kPriceRounding = 1e-9;

/// Tensors with a `maker` that some backward operation reads in each of its forms that are worth
/// considering.
std::vector<bool> NeededByBackward(const Graph& graph, const std::vector<OpId>& maker) {
  std::vector<bool> needed(graph.tensors.size());
  std::vector<bool> written(graph.tensors.size());  // by backward: no longer what forward made
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kBackward) continue;
    const std::vector<const Form*> forms = FormsToConsider(graph, maker, op);
    for (const TensorId t : forms.front()->reads) {
      if (maker[t] == kNone || written[t]) continue;
      needed[t] =
          needed[t] || std::all_of(forms.begin(), forms.end(), [t](const Form* form) {
            return std::find(form->reads.begin(), form->reads.end(), t) != form->reads.end();
          });
    }
    for (const Form& form : op.forms) {
      for (const TensorId t : form.writes) written[t] = true;
    }
  }
  return needed;
}

/// Two lanes: compute, and the link. `moved` bytes leave in the forward pass and come back in the
/// backward pass, which computes `again` seconds more.
struct Passes {
  double forward = 0;
  double backward = 0;
  double update = 0;
  double Seconds(double moved, double again, const Machine& machine) const {
    return std::max(forward, moved / machine.link_down) +
           std::max(backward + again, moved / machine.link_up) + update;
  }
};

/// Seconds of making again that leave `bytes` to be there or to come over the link, by what
/// `trades` say.
double Again(const std::vector<Trade>& trades, double bytes) {
  double again = 0;
  for (const Trade& trade : trades)
    again = std::max(again, trade.seconds + trade.price * (trade.bytes - bytes));
  return again;
}

/// Of `lasting` bytes and more over the link, those for which the passes take the least: it lies
/// where the sum bends.
double BestMoved(const Passes& passes, const std::vector<Trade>& trades, double room,
                 double lasting, const Machine& machine) {
  double best = lasting, least = std::numeric_limits<double>::max();
  const auto consider = [&](double moved) {
    if (!std::isfinite(moved) || moved < lasting) return;
    const double seconds = passes.Seconds(moved, Again(trades, room + moved), machine);
    if (seconds < least) least = seconds, best = moved;
  };
  for (const double moved :
       {lasting, passes.forward * machine.link_down, passes.backward * machine.link_up})
    consider(moved);
  for (const Trade& one : trades) {
    const double again = one.seconds + one.price * (one.bytes - room);
    consider(again / one.price);
    consider((passes.backward + again) / (1 / machine.link_up + one.price));
    for (const Trade& other : trades) {
      const double gap = again - other.seconds - other.price * (other.bytes - room);
      consider(gap / (one.price - other.price));
    }
  }
  return best;
}

/// The least that the passes take with `room` for what is needed of the forward pass.
double LeastOfPasses(const Passes& passes, const MakingAgain& making, double room,
                     const Machine& machine) {
  const double lasting = std::max(0.0, making.LastingBytes() - room);
  // By falling bytes, from nothing made again to as much as can be.
  std::vector<Trade> trades{{0, 0, making.Bytes()},
                            making.At(kSteep * (1 / machine.link_down + 1 / machine.link_up))};
  for (int i = 0;; ++i) {
    const double moved = BestMoved(passes, trades, room, lasting, machine);
    const double least = passes.Seconds(moved, Again(trades, room + moved), machine);
    const auto after = std::find_if(trades.begin(), trades.end(),
                                    [&](const Trade& trade) { return trade.bytes < room + moved; });
    if (i == kMostTrades || after == trades.begin() || after == trades.end()) return least;
    // A choice between these two, if there is one, is the cheapest at a price at which they cost
    // the same.
    const Trade before = *(after - 1);
    const Trade trade =
        making.At((after->seconds - before.seconds) / (before.bytes - after->bytes));
    const double cost = trade.seconds + trade.price * trade.bytes;
    const bool last = cost >= (before.seconds + trade.price * before.bytes) * (1 - kPriceRounding);
    trades.insert(after, trade);
    if (last) i = kMostTrades - 1;
  }
}

double LeastSeconds(const Op& op, const Machine& machine) {
  double least = std::numeric_limits<double>::max();
  for (size_t form = 0; form < op.forms.size(); ++form) {
    const size_t variants = std::max<size_t>(op.forms[form].scratch.size(), 1);
    for (size_t scratch = 0; scratch < variants; ++scratch) {
      least = std::min(
          least, OpSeconds(op, static_cast<int32_t>(form), static_cast<int32_t>(scratch), machine));
    }
  }
  return least;
}

}  // namespace
}  // namespace bounds

double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget, bool offload_state) {
  bounds::Passes passes;
  std::vector<double> seconds;
  for (const Op& op : graph.ops) {
    seconds.push_back(bounds::LeastSeconds(op, machine));
    (op.pass == Pass::kForward    ? passes.forward
     : op.pass == Pass::kBackward ? passes.backward
                                  : passes.update) += seconds.back();
  }
  const std::vector<OpId> maker = bounds::ForwardMakers(graph);
  const bounds::MakingAgain making(graph, seconds, maker, bounds::NeededByBackward(graph, maker));
  int64_t left = std::max<int64_t>(0, budget - StateBytes(graph));
  if (offload_state) left = std::max(left, std::min(budget, FloorBytes(graph)));
  const auto room = static_cast<double>(left);
  if (making.Bytes() <= room) return passes.Seconds(0, 0, machine);
  return bounds::LeastOfPasses(passes, making, room, machine);
}

}  // namespace layrub
