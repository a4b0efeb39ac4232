#include "layrub/placement/cost/floor.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement::cost {
namespace {

/// Saved tensors that no operation reads in all of its variants, so that some choice of variants
/// does without them.
std::vector<bool> OptionalTensors(const Graph& graph) {
  std::vector<bool> optional(graph.tensors.size());
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    optional[t] = graph.tensors[t].role == Role::kSaved && !graph.tensors[t].keep;
  }
  for (const Op& op : graph.ops) {
    for (const TensorId t : op.variants.front().reads) {
      const bool always =
          std::all_of(op.variants.begin(), op.variants.end(), [t](const Variant& variant) {
            return std::find(variant.reads.begin(), variant.reads.end(), t) != variant.reads.end();
          });
      if (always) optional[t] = false;
    }
  }
  return optional;
}

}  // namespace

Homes AllOnDevice(const Graph& graph) { return Homes(graph.tensors.size(), StateHome::kDevice); }

Homes AllAway(const Graph& graph, int64_t host_bytes) {
  Homes homes = AllOnDevice(graph), in_place = homes;
  for (size_t t = 0; t < homes.size(); ++t) {
    if (!MayLeave(graph.tensors[t])) continue;
    homes[t] = StateHome::kAway;
    in_place[t] = graph.tensors[t].host_access ? StateHome::kInPlace : StateHome::kAway;
  }
  if (homes == in_place) return homes;
  return UseInPlace(graph, std::move(homes), FloorBytes(graph, in_place), host_bytes);
}

Homes UseInPlace(const Graph& graph, Homes homes, int64_t bytes, int64_t host_bytes) {
  const int64_t capacity = bytes - ResidentBytes(graph, homes);
  const std::vector<int64_t> sets = WorkingSets(graph, homes);
  Homes changed = homes;
  int64_t taken = 0;
  for (size_t o = 0; o < sets.size(); ++o) {
    if (sets[o] <= capacity) continue;
    for (const Variant& variant : graph.ops[o].variants) {
      for (const auto* tensors : {&variant.reads, &variant.writes}) {
        for (const TensorId t : *tensors) {
          if (changed[t] != StateHome::kAway || !graph.tensors[t].host_access) continue;
          changed[t] = StateHome::kInPlace;
          taken += Aligned(graph.tensors[t].bytes);
        }
      }
    }
  }
  return taken <= host_bytes ? changed : homes;
}

bool MayLeave(const Tensor& tensor) {
  const bool trained = tensor.role == Role::kParameter || tensor.role == Role::kParameterGradient ||
                       tensor.role == Role::kHistory;
  return tensor.is_state() && trained && tensor.bytes > 0;
}

int64_t ResidentBytes(const Graph& graph, const Homes& homes) {
  int64_t bytes = 0;
  for (size_t t = 0; t < homes.size(); ++t) {
    if (IsResident(graph.tensors[t], homes[t])) bytes += Aligned(graph.tensors[t].bytes);
  }
  return bytes;
}

std::vector<int64_t> WorkingSets(const Graph& graph, const Homes& homes) {
  const std::vector<bool> optional = OptionalTensors(graph);
  const std::vector<bool> none;
  std::vector<int64_t> least;
  for (const Op& op : graph.ops) {
    int64_t bytes = std::numeric_limits<int64_t>::max();
    for (const Variant& variant : op.variants) {
      const std::vector<bool>& skip = op.pass == Pass::kForward ? optional : none;
      bytes =
          std::min(bytes, OperandBytes(graph, variant, skip, homes) +
                              WorkspaceBytes(graph, variant, SmallestAlgorithm(graph, variant)));
    }
    least.push_back(bytes);
  }
  return least;
}

int64_t FloorBytes(const Graph& graph, const Homes& homes) {
  const std::vector<int64_t> sets = WorkingSets(graph, homes);
  return ResidentBytes(graph, homes) +
         (sets.empty() ? 0 : *std::max_element(sets.begin(), sets.end()));
}

}  // namespace layrub::placement::cost

namespace layrub {

namespace cost = placement::cost;

namespace {

OpId FloorOp(const Graph& graph, const cost::Homes& homes) {
  const std::vector<int64_t> sets = cost::WorkingSets(graph, homes);
  if (sets.empty()) return kNone;
  return static_cast<OpId>(std::max_element(sets.begin(), sets.end()) - sets.begin());
}

}  // namespace

int64_t FloorBytes(const Graph& graph) { return cost::FloorBytes(graph, cost::AllOnDevice(graph)); }
OpId FloorOp(const Graph& graph) { return FloorOp(graph, cost::AllOnDevice(graph)); }

int64_t StateFloorBytes(const Graph& graph) {
  return cost::FloorBytes(graph, cost::AllAway(graph));
}
OpId StateFloorOp(const Graph& graph) { return FloorOp(graph, cost::AllAway(graph)); }

}  // namespace layrub
