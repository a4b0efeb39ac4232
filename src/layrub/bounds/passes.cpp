#include "layrub/bounds/passes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "layrub/bounds/making_again.hpp"
#include "layrub/bounds/needs.hpp"

namespace layrub::bounds {
namespace {

/// A price of bytes so many times that of the link's both ways makes again all that can be.
constexpr double kSteep = 1e3;
/// Prices that are tried; it takes less than ten in a net of a thousand operations.
constexpr int kMostTrades = 40;
/// Less than this part is a matter of rounding.
constexpr double kPriceRounding = 1e-9;

/// Tensors with a `maker` that some backward operation before `last` reads in each of its forms
/// that are worth considering.
std::vector<bool> NeededByBackward(const Graph& graph, const std::vector<OpId>& maker, OpId last) {
  std::vector<bool> needed(graph.tensors.size());
  std::vector<bool> written(graph.tensors.size());  // by backward: no longer what forward made
  const std::vector<OpId> makers = ForwardMakers(graph);
  for (OpId o = 0; o < last; ++o) {
    const Op& op = graph.ops[o];
    if (op.pass != Pass::kBackward) continue;
    const std::vector<const Form*> forms = FindNeeds(graph, makers, op).forms;
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

}  // namespace

double PassesSeconds(const Graph& graph, const Machine& machine, const std::vector<double>& seconds,
                     int64_t room, OpId first, OpId last) {
  Passes passes;
  for (OpId o = first; o < last; ++o) {
    const Pass pass = graph.ops[o].pass;
    (pass == Pass::kForward    ? passes.forward
     : pass == Pass::kBackward ? passes.backward
                               : passes.update) += seconds[o];
  }
  std::vector<OpId> maker = ForwardMakers(graph);
  for (OpId& o : maker) o = o < first ? kNone : o;
  const MakingAgain making(graph, seconds, maker, NeededByBackward(graph, maker, last));
  const auto bytes = static_cast<double>(room);
  if (making.Bytes() <= bytes) return passes.Seconds(0, 0, machine);
  return LeastOfPasses(passes, making, bytes, machine);
}

}  // namespace layrub::bounds
