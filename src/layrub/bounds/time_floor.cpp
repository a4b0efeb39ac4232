#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "layrub/bounds/needs.hpp"
#include "layrub/bounds/recompute_costs.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub {
namespace bounds {
namespace {

/// At a price of bytes this many times the cost of the link in both directions, everything that can
/// be is recomputed.
constexpr double kRecomputeAllPrice = 1e3;
/// The most prices that are tried. A net of a thousand operations takes less than ten.
constexpr int kMaxTrades = 40;
/// A relative difference below this is due to rounding.
constexpr double kPriceRounding = 1e-9;

/// By tensor, whether it has a `maker` and some backward operation reads it in each of its variants
/// that a lower bound has to consider.
std::vector<bool> NeededByBackward(const Graph& graph, const std::vector<OpId>& maker) {
  std::vector<bool> needed(graph.tensors.size());
  std::vector<bool> written(graph.tensors.size());  // by backward: not the forward value
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kBackward) continue;
    const std::vector<const Variant*> variants = VariantsToConsider(graph, maker, op);
    for (const TensorId t : variants.front()->reads) {
      if (maker[t] == kNone || written[t]) continue;
      needed[t] =
          needed[t] || std::all_of(variants.begin(), variants.end(), [t](const Variant* variant) {
            return std::find(variant->reads.begin(), variant->reads.end(), t) !=
                   variant->reads.end();
          });
    }
    for (const Variant& variant : op.variants) {
      for (const TensorId t : variant.writes) written[t] = true;
    }
  }
  return needed;
}

/// Seconds of the passes with two lanes, compute and the link. `moved` bytes leave in the forward
/// pass and come back in the backward pass, which recomputes for `again` seconds.
struct Passes {
  double forward = 0;
  double backward = 0;
  double update = 0;
  double Seconds(double moved, double again, const Machine& machine) const {
    return std::max(forward, moved / machine.link_down) +
           std::max(backward + again, moved / machine.link_up) + update;
  }
};

/// Returns a lower bound, from `trades`, on the seconds of recomputation if `bytes` are resident or
/// come over the link.
double Again(const std::vector<Trade>& trades, double bytes) {
  double again = 0;
  for (const Trade& trade : trades)
    again = std::max(again, trade.seconds + trade.price * (trade.bytes - bytes));
  return again;
}

/// Returns how many bytes, at least `lasting`, go over the link when the passes take the least.
/// This is at a bend of their sum, which is piecewise linear in the bytes.
double BestBytesMoved(const Passes& passes, const std::vector<Trade>& trades, double capacity,
                      double lasting, const Machine& machine) {
  double best = lasting, least = std::numeric_limits<double>::max();
  const auto consider = [&](double moved) {
    if (!std::isfinite(moved) || moved < lasting) return;
    const double seconds = passes.Seconds(moved, Again(trades, capacity + moved), machine);
    if (seconds < least) least = seconds, best = moved;
  };
  for (const double moved :
       {lasting, passes.forward * machine.link_down, passes.backward * machine.link_up})
    consider(moved);
  for (const Trade& one : trades) {
    const double again = one.seconds + one.price * (one.bytes - capacity);
    consider(again / one.price);
    consider((passes.backward + again) / (1 / machine.link_up + one.price));
    for (const Trade& other : trades) {
      const double difference = again - other.seconds - other.price * (other.bytes - capacity);
      consider(difference / (one.price - other.price));
    }
  }
  return best;
}

/// Returns the least seconds of the passes with `capacity` bytes for the forward values that are
/// needed.
double MinPassSeconds(const Passes& passes, const RecomputeCosts& making, double capacity,
                      const Machine& machine) {
  const double lasting = std::max(0.0, making.UnrecomputableBytes() - capacity);
  // By falling bytes, from no recomputation to as much as possible.
  std::vector<Trade> trades{
      {0, 0, making.Bytes()},
      making.At(kRecomputeAllPrice * (1 / machine.link_down + 1 / machine.link_up))};
  for (int i = 0;; ++i) {
    const double moved = BestBytesMoved(passes, trades, capacity, lasting, machine);
    const double least = passes.Seconds(moved, Again(trades, capacity + moved), machine);
    const auto after = std::find_if(trades.begin(), trades.end(), [&](const Trade& trade) {
      return trade.bytes < capacity + moved;
    });
    if (i == kMaxTrades || after == trades.begin() || after == trades.end()) return least;
    // A choice between these two, if there is one, is the cheapest at the price at which both cost
    // the same.
    const Trade before = *(after - 1);
    const Trade trade =
        making.At((after->seconds - before.seconds) / (before.bytes - after->bytes));
    const double cost = trade.seconds + trade.price * trade.bytes;
    const bool last = cost >= (before.seconds + trade.price * before.bytes) * (1 - kPriceRounding);
    trades.insert(after, trade);
    if (last) i = kMaxTrades - 1;
  }
}

double LeastSeconds(const Op& op, const Machine& machine) {
  double least = std::numeric_limits<double>::max();
  for (size_t variant = 0; variant < op.variants.size(); ++variant) {
    const size_t algorithms = std::max<size_t>(op.variants[variant].algorithms.size(), 1);
    for (size_t algorithm = 0; algorithm < algorithms; ++algorithm) {
      least = std::min(least, OpSeconds(op, static_cast<int32_t>(variant),
                                        static_cast<int32_t>(algorithm), machine));
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
  const bounds::RecomputeCosts making(graph, seconds, maker,
                                      bounds::NeededByBackward(graph, maker));
  int64_t left = std::max<int64_t>(0, budget - StateBytes(graph));
  if (offload_state) left = std::max(left, std::min(budget, FloorBytes(graph)));
  const auto capacity = static_cast<double>(left);
  if (making.Bytes() <= capacity) return passes.Seconds(0, 0, machine);
  return bounds::MinPassSeconds(passes, making, capacity, machine);
}

}  // namespace layrub
