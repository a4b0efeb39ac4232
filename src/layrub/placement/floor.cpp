#include <algorithm>

#include "layrub/graph.hpp"
#include "layrub/placement/aliases.hpp"

namespace layrub {
namespace {

/// Saved tensors that some choice of forms does without: no operation reads them in all of its
/// forms.
std::vector<bool> OptionalTensors(const Graph& graph) {
  std::vector<bool> optional(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    optional[t] = graph.tensors[t].role == Role::kSaved && !graph.tensors[t].keep;
  }
  for (const Op& op : graph.ops) {
    for (const TensorId t : op.forms.front().reads) {
      const bool always = std::all_of(op.forms.begin(), op.forms.end(), [t](const Form& form) {
        return std::find(form.reads.begin(), form.reads.end(), t) != form.reads.end();
      });
      if (always) optional[t] = false;
    }
  }
  return optional;
}

struct Floor {
  int64_t working_set = 0;
  OpId op = kNone;
};

Floor FindFloor(const Graph& graph) {
  const std::vector<bool> optional = OptionalTensors(graph);
  Floor floor;
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const Op& op = graph.ops[o];
    const std::vector<bool> none;
    int64_t least = -1;
    for (const Form& form : op.forms) {
      const int64_t bytes = OperandBytes(graph, form, op.pass == Pass::kForward ? optional : none) +
                            ScratchBytes(graph, form, SmallestScratch(graph, form));
      if (least < 0 || bytes < least) least = bytes;
    }
    if (floor.op == kNone || least > floor.working_set) floor = {least, o};
  }
  return floor;
}

}  // namespace

int64_t FloorBytes(const Graph& graph) {
  return PersistentBytes(graph) + FindFloor(graph).working_set;
}

OpId FloorOp(const Graph& graph) { return FindFloor(graph).op; }

}  // namespace layrub
