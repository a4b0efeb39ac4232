#include "layrub/placement/policies/vdnn.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/conv_like.hpp"
#include "layrub/placement/policies/policies.hpp"

namespace layrub::placement::policies {
namespace {

/// Whether the operation of `variant` overwrites `t` or writes the next version of its blob.
bool InPlaceOn(const Graph& graph, const Variant& variant, TensorId t) {
  return std::any_of(variant.writes.begin(), variant.writes.end(), [&](TensorId written) {
    const int32_t blob = graph.tensors[written].blob;
    return written == t || (blob != kNone && blob == graph.tensors[t].blob);
  });
}

std::vector<bool> OffloadedInputs(const Graph& graph, Offload which) {
  std::vector<bool> leaves(graph.tensors.size());
  for (const Op& op : graph.ops) {
    if (op.pass != Pass::kForward || which == Offload::kNothing) continue;
    if (which == Offload::kConv && !IsConvLike(graph, op)) continue;
    const Variant& variant = op.variants.front();
    for (const TensorId t : variant.reads) {
      const Tensor& tensor = graph.tensors[t];
      const bool data = tensor.role == Role::kActivation && !tensor.is_state() && tensor.bytes > 0;
      if (data && !InPlaceOn(graph, variant, t)) leaves[t] = true;
    }
  }
  return leaves;
}

/// By operation, the evicted tensors that it is the first backward operation to use; without those
/// that it does not read.
using Claims = std::vector<std::vector<TensorId>>;

Claims FindClaims(const std::vector<bool>& leaves, const UseLists& uses, OpId first_backward,
                  size_t ops) {
  Claims claims(ops);
  for (size_t t = 0; t < leaves.size(); ++t) {
    if (!leaves[t]) continue;
    const auto use = std::find_if(uses[t].begin(), uses[t].end(),
                                  [&](const Use& u) { return u.run >= first_backward; });
    if (use == uses[t].begin() || use == uses[t].end() || !use->reads) continue;
    claims[use->run].push_back(static_cast<TensorId>(t));
  }
  return claims;
}

/// By operation with claims, the operation before which they are prefetched. Each operation looks
/// at those below it and prefetches for the first one for which nobody has done so, unless a
/// conv-like operation lies before that one.
std::vector<OpId> FetchPoints(const Graph& graph, const Claims& claims, OpId first_backward) {
  const auto count = static_cast<OpId>(graph.ops.size());
  std::vector<OpId> points(graph.ops.size());
  OpId next = first_backward, conv = first_backward;
  for (OpId o = first_backward; o < count; ++o) {
    const auto skip_to = [&](OpId* at, auto stop) {
      while (*at < count && (*at <= o || !stop(*at))) ++*at;
    };
    points[o] = points[o] == 0 ? o : points[o];
    skip_to(&next, [&](OpId at) { return !claims[at].empty(); });
    skip_to(&conv, [&](OpId at) { return IsConvLike(graph, graph.ops[at]); });
    if (next < count && next <= conv) points[next++] = o;
  }
  return points;
}

}  // namespace

Program OffloadInputs(const Graph& graph, Offload which) {
  Program program = InSmallestVariants(graph);
  const UseLists uses = FindUses(graph, program.runs);
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  const Claims claims =
      FindClaims(OffloadedInputs(graph, which), uses, first_backward, graph.ops.size());
  const std::vector<OpId> points = FetchPoints(graph, claims, first_backward);
  for (OpId o = first_backward; o < static_cast<OpId>(graph.ops.size()); ++o) {
    for (const TensorId t : claims[o]) {
      const auto use =
          std::find_if(uses[t].begin(), uses[t].end(), [&](const Use& u) { return u.run == o; });
      const RunId after = (use - 1)->run;
      // A tensor that would be evicted for no operation stays.
      if (points[o] - after >= 2) program.tensors[t].evictions = {{after, after, points[o], o}};
    }
  }
  RunInPlace(graph, uses, InPlace::kSameRole, &program);
  return program;
}

Program WithFastestAlgorithms(const Graph& graph, const Machine& machine, Program program) {
  cost::TakeFastestAlgorithms(graph, machine, cost::kNoLimit, &program);
  return program;
}

// The static policies of vDNN: vDNN_all, which offloads the input of every layer that does not run
// in place, and vDNN_conv, which offloads the inputs of conv-like operations, whose arithmetic
// hides the copies; each with memory-optimal algorithms (the smallest workspaces) and, as `_fast`,
// with performance-optimal ones (the fastest, however large their workspaces). Source: as
// OffloadInputs.
Result<Program> VdnnAll(const Graph& graph, const Machine&, const Budget&) {
  return OffloadInputs(graph, Offload::kAll);
}
Result<Program> VdnnAllFast(const Graph& graph, const Machine& machine, const Budget&) {
  return WithFastestAlgorithms(graph, machine, OffloadInputs(graph, Offload::kAll));
}
Result<Program> VdnnConv(const Graph& graph, const Machine&, const Budget&) {
  return OffloadInputs(graph, Offload::kConv);
}
Result<Program> VdnnConvFast(const Graph& graph, const Machine& machine, const Budget&) {
  return WithFastestAlgorithms(graph, machine, OffloadInputs(graph, Offload::kConv));
}

}  // namespace layrub::placement::policies
