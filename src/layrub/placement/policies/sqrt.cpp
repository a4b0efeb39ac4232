#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::placement::policies {
namespace {

/// The time of a tensor in the forward pass: from the operation that writes it first to the last
/// one that uses it.
struct Stay {
  OpId begin = kNone;
  OpId end = kNone;
};

std::vector<Stay> ForwardStays(const Graph& graph, const UseLists& uses) {
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  std::vector<Stay> stays(graph.tensors.size());
  for (size_t t = 0; t < stays.size(); ++t) {
    if (graph.tensors[t].is_state()) continue;
    for (const Use& use : uses[t]) {
      if (use.run >= first_backward) break;
      if (stays[t].begin == kNone) stays[t].begin = use.run;
      stays[t].end = use.run;
    }
  }
  return stays;
}

/// By forward operation, the bytes that later operations need from it and from those before it.
std::vector<int64_t> CrossingBytes(const Graph& graph, const std::vector<Stay>& stays) {
  std::vector<int64_t> change(FirstOp(graph, Pass::kBackward) + 1);
  for (size_t t = 0; t < stays.size(); ++t) {
    if (stays[t].begin == kNone) continue;
    change[stays[t].begin] += graph.tensors[t].bytes;
    change[stays[t].end] -= graph.tensors[t].bytes;
  }
  for (size_t o = 1; o < change.size(); ++o) change[o] += change[o - 1];
  return change;
}

/// By forward operation, the number of its segment. There are about as many segments as a segment
/// has operations that write something. A segment ends where the fewest bytes cross.
std::vector<int> Segments(const Graph& graph, const std::vector<Stay>& stays) {
  const std::vector<int64_t> crossing = CrossingBytes(graph, stays);
  std::vector<OpId> makers;
  for (const Stay& stay : stays) {
    if (stay.begin != kNone) makers.push_back(stay.begin);
  }
  std::sort(makers.begin(), makers.end());
  makers.erase(std::unique(makers.begin(), makers.end()), makers.end());
  const auto length = static_cast<size_t>(std::ceil(std::sqrt(makers.size())));
  std::vector<int> segments(crossing.size());
  for (size_t i = 0; i + length < makers.size(); i += length) {
    OpId end = makers[i];
    for (size_t k = i; k < i + length; ++k) {
      if (crossing[makers[k]] <= crossing[end]) end = makers[k];
    }
    for (size_t o = end + 1; o < segments.size(); ++o) ++segments[o];
  }
  return segments;
}

}  // namespace

// Cuts the forward pass into about sqrt(n) segments. What crosses a cut stays on the device, and so
// does what cannot be recomputed. The rest of each segment but the last is dropped after its last
// forward use, and recomputed once, when the backward pass first needs it. Source: Chen, Xu, Zhang,
// Guestrin, "Training Deep Nets with Sublinear Memory Cost" (2016), section 4.
Result<Program> Sqrt(const Graph& graph, const Machine&, const Budget&) {
  Program program = InSmallestVariants(graph);
  const std::vector<Stay> stays = ForwardStays(graph, FindUses(graph, program.runs));
  const std::vector<int> segments = Segments(graph, stays);
  const std::vector<OpId> producers = Producers(graph, program.runs);
  std::vector<bool> dropped(graph.tensors.size());
  for (size_t t = 0; t < dropped.size(); ++t) {
    if (producers[t] == kNone || graph.tensors[t].keep) continue;
    const int segment = segments[stays[t].begin];
    dropped[t] = segment == segments[stays[t].end] && segment != segments.back();
  }
  const UseLists uses = RecomputeOnce(graph, dropped, &program);
  RunInPlace(graph, uses, InPlace::kAnyRole, &program);
  return program;
}

}  // namespace layrub::placement::policies
