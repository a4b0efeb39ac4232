#include <algorithm>
#include <array>
#include <limits>
#include <vector>

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
      least = std::min(least, OpSeconds(op, static_cast<int32_t>(form),
                                        static_cast<int32_t>(scratch), machine));
    }
  }
  return least;
}

/// Tensors that some backward operation reads in each of its forms.
std::vector<bool> NeededByBackward(const Graph& graph) {
  std::vector<bool> needed(graph.tensors.size());
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kBackward) continue;
    for (const TensorId t : op.forms.front().reads) {
      needed[t] = needed[t] ||
                  std::all_of(op.forms.begin(), op.forms.end(), [t](const Form& form) {
                    return std::find(form.reads.begin(), form.reads.end(), t) != form.reads.end();
                  });
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

}  // namespace

double TimeFloor(const Graph& graph, const Machine& machine, int64_t budget) {
  const std::vector<bool> needed = NeededByBackward(graph);
  Passes passes;
  std::vector<Stash> stashes;
  double held = 0;
  std::vector<bool> counted(graph.tensors.size());
  for (const Op& op : graph.ops) {
    const double seconds = LeastSeconds(op, machine);
    (op.pass == Pass::kForward    ? passes.forward
     : op.pass == Pass::kBackward ? passes.backward
                                  : passes.update) += seconds;
    if (op.pass != Pass::kForward) continue;
    Stash stash{0, op.repeatable ? seconds : std::numeric_limits<double>::infinity()};
    for (const TensorId t : op.forms.front().writes) {
      if (!needed[t] || counted[t] || graph.tensors[t].persistent) continue;
      counted[t] = true;
      stash.bytes += static_cast<double>(graph.tensors[t].bytes);
    }
    held += stash.bytes;
    if (stash.bytes > 0 && op.repeatable) stashes.push_back(stash);
  }
  std::sort(stashes.begin(), stashes.end(), [](const Stash& a, const Stash& b) {
    return a.seconds * b.bytes < b.seconds * a.bytes;
  });
  const auto room = static_cast<double>(std::max<int64_t>(0, budget - PersistentBytes(graph)));
  double excess = held - room;  // what is neither in the room nor computed again
  double again = 0;
  double least = passes.Seconds(std::max(excess, 0.0), 0, machine);
  for (const Stash& stash : stashes) {
    if (excess <= 0) break;
    // Computing a part of it again trades link time for compute time. The least lies where the sum
    // bends: at an end, where the link of either pass is no longer the slower lane, or where
    // nothing moves.
    const double rate = stash.seconds / stash.bytes;
    const double bend = (excess / machine.link_up - passes.backward - again) /
                        (rate + 1 / machine.link_up);
    for (const double part : {excess - passes.forward * machine.link_down, bend, excess,
                              stash.bytes}) {
      const double bytes = std::clamp(part, 0.0, std::min(stash.bytes, excess));
      least = std::min(least, passes.Seconds(excess - bytes, again + bytes * rate, machine));
    }
    excess -= stash.bytes;
    again += stash.seconds;
  }
  return least;
}

}  // namespace layrub
