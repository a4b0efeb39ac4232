#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "layrub/placement/tight_windows.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

/// What a forward operation makes for the backward pass, and what making it again takes.
struct Stash {
  double bytes = 0;
  double seconds = 0;
};

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

/// By tensor, the forward operation that makes it; kNone for persistent tensors and those of
/// backward.
std::vector<OpId> ForwardMakers(const Graph& graph) {
  std::vector<OpId> maker(graph.tensors.size(), kNone);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    if (graph.ops[o].pass != Pass::kForward) break;
    for (const TensorId t : graph.ops[o].forms.front().writes) {
      if (!graph.tensors[t].persistent && maker[t] == kNone) maker[t] = o;
    }
  }
  return maker;
}

std::vector<TensorId> MissingIn(const std::vector<TensorId>& some,
                                const std::vector<TensorId>& other) {
  std::vector<TensorId> missing;
  for (const TensorId t : some) {
    if (std::find(other.begin(), other.end(), t) == other.end()) missing.push_back(t);
  }
  return missing;
}

/// `worse` needs in place of something that a forward operation reads or writes a copy that the
/// same operation saved, no smaller: no plan is faster for that.
bool Dominates(const Graph& graph, const std::vector<OpId>& maker, const Form& better,
               const Form& worse) {
  const std::vector<TensorId> more = MissingIn(worse.reads, better.reads);
  const std::vector<TensorId> less = MissingIn(better.reads, worse.reads);
  if (more.size() != 1 || less.size() != 1) return false;
  const Tensor& copy = graph.tensors[more[0]];
  const OpId o = maker[more[0]];
  if (copy.role != Role::kSaved || o == kNone || maker[less[0]] == kNone) return false;
  const Form& forward = graph.ops[o].forms.front();
  const auto touches = [&](const std::vector<TensorId>& operands) {
    return std::find(operands.begin(), operands.end(), less[0]) != operands.end();
  };
  return copy.bytes >= graph.tensors[less[0]].bytes &&
         (touches(forward.reads) || touches(forward.writes));
}

/// Tensors that some backward operation reads in each of its forms that are worth considering.
std::vector<bool> NeededByBackward(const Graph& graph, const std::vector<OpId>& maker) {
  std::vector<bool> needed(graph.tensors.size());
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kBackward) continue;
    std::vector<const Form*> forms;
    for (const Form& form : op.forms) {
      const bool dominated = std::any_of(op.forms.begin(), op.forms.end(), [&](const Form& other) {
        return &other != &form && Dominates(graph, maker, other, form);
      });
      if (!dominated) forms.push_back(&form);
    }
    for (const TensorId t : forms.front()->reads) {
      needed[t] =
          needed[t] || std::all_of(forms.begin(), forms.end(), [t](const Form* form) {
            return std::find(form->reads.begin(), form->reads.end(), t) != form->reads.end();
          });
    }
  }
  return needed;
}

/// By forward operation, the seconds that computing it again takes with all that has to be computed
/// again for it: what it reads and no backward operation needs is made from what is needed. That
/// is shared evenly by the operations that read it, and left out where keeping it takes less than
/// what it is for. Infinite where something cannot be made again.
std::vector<double> ChainSeconds(const Graph& graph, const std::vector<OpId>& maker,
                                 const std::vector<bool>& needed,
                                 const std::vector<double>& op_seconds) {
  std::vector<int32_t> readers(graph.tensors.size());
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kForward) break;
    for (const TensorId t : op.forms.front().reads) ++readers[t];
  }
  std::vector<double> chain(graph.ops.size());
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const Op& op = graph.ops[o];
    if (op.pass != Pass::kForward) break;
    chain[o] = op.repeatable ? op_seconds[o] : std::numeric_limits<double>::infinity();
    int64_t made = 0;
    for (const TensorId t : op.forms.front().writes) {
      if (graph.tensors[t].role == Role::kActivation) made = std::max(made, graph.tensors[t].bytes);
    }
    for (const TensorId t : op.forms.front().reads) {
      const bool chained =
          maker[t] != kNone && maker[t] < o && !needed[t] && graph.tensors[t].bytes >= made;
      if (chained) chain[o] += chain[maker[t]] / readers[t];
    }
  }
  return chain;
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

/// One boundary, that between the passes: see TimeFloor.
double PassesSeconds(const Graph& graph, const Machine& machine,
                     const std::vector<double>& op_seconds, int64_t all_room) {
  const std::vector<OpId> maker = ForwardMakers(graph);
  const std::vector<bool> needed = NeededByBackward(graph, maker);
  Passes passes;
  std::vector<Stash> stashes;
  double held = 0;
  const std::vector<double> chain = ChainSeconds(graph, maker, needed, op_seconds);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const Op& op = graph.ops[o];
    const double seconds = op_seconds[o];
    (op.pass == Pass::kForward    ? passes.forward
     : op.pass == Pass::kBackward ? passes.backward
                                  : passes.update) += seconds;
    if (op.pass != Pass::kForward) continue;
    Stash stash{0, chain[o]};
    for (const TensorId t : op.forms.front().writes) {
      if (!needed[t] || maker[t] != o) continue;
      stash.bytes += static_cast<double>(graph.tensors[t].bytes);
    }
    held += stash.bytes;
    if (stash.bytes > 0 && std::isfinite(stash.seconds)) stashes.push_back(stash);
  }
  std::sort(stashes.begin(), stashes.end(), [](const Stash& a, const Stash& b) {
    return a.seconds * b.bytes < b.seconds * a.bytes;
  });
  const auto room = static_cast<double>(all_room);
  double excess = held - room;  // what is neither in the room nor computed again
  double again = 0;
  double least = passes.Seconds(std::max(excess, 0.0), 0, machine);
  for (const Stash& stash : stashes) {
    if (excess <= 0) break;
    // Computing a part of it again trades link time for compute time. The least lies where the sum
    // bends: at an end, where the link of either pass is no longer the slower lane, or where
    // nothing moves.
    const double rate = stash.seconds / stash.bytes;
    const double bend =
        (excess / machine.link_up - passes.backward - again) / (rate + 1 / machine.link_up);
    for (const double part :
         {excess - passes.forward * machine.link_down, bend, excess, stash.bytes}) {
      const double bytes = std::clamp(part, 0.0, std::min(stash.bytes, excess));
      least = std::min(least, passes.Seconds(excess - bytes, again + bytes * rate, machine));
    }
    excess -= stash.bytes;
    again += stash.seconds;
  }
  return least;
}

}  // namespace

double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget) {
  std::vector<double> seconds;
  for (const Op& op : graph.ops) seconds.push_back(LeastSeconds(op, machine));
  const int64_t room = std::max<int64_t>(0, budget - PersistentBytes(graph));
  return std::max(PassesSeconds(graph, machine, seconds, room),
                  TightWindowsSeconds(graph, machine, seconds, room));
}

}  // namespace layrub
