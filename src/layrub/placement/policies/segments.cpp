#include "layrub/placement/policies/segments.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/policies/conv_like.hpp"
#include "layrub/placement/policies/recompute.hpp"

namespace layrub::placement::policies {
namespace {

/// The segments of a forward pass, and the tensors that they drop.
struct CutSegments {
  std::vector<int> of_op;  ///< by operation; those before the first checkpoint are segment 0
  std::vector<OpId> producers;
  std::vector<bool> dropped;  ///< by tensor
  int Of(TensorId t) const { return of_op[producers[t]]; }
};

CutSegments Cut(const Graph& graph, const std::vector<Run>& originals) {
  const std::vector<bool> checkpoints = Checkpoints(graph, originals);
  const UseLists uses = FindUses(graph, originals);
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  CutSegments segments{{}, Producers(graph, originals), std::vector<bool>(graph.tensors.size())};
  std::vector<OpId> ends;  // by segment, the checkpoint that ends it
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    if (checkpoints[o]) ends.push_back(o);
    segments.of_op.push_back(static_cast<int>(ends.size()));
  }
  // An operation is recomputed if all its outputs can be restored and are used within its segment
  // only.
  const auto within = [&](OpId o, TensorId t) {
    const OpId end = ends[segments.of_op[o]];
    return segments.producers[t] == o && !graph.tensors[t].keep &&
           std::all_of(uses[t].begin(), uses[t].end(),
                       [&](const Use& use) { return use.run <= end || use.run >= first_backward; });
  };
  for (OpId o = 0; o < first_backward; ++o) {
    if (checkpoints[o] || segments.of_op[o] == static_cast<int>(ends.size())) continue;
    const std::vector<TensorId>& writes = VariantOf(graph, originals[o]).writes;
    const bool again = std::all_of(writes.begin(), writes.end(), [&](TensorId t) {
      return graph.tensors[t].is_state() || within(o, t);
    });
    for (const TensorId t : writes) segments.dropped[t] = again && !graph.tensors[t].is_state();
  }
  return segments;
}

/// By segment, whether it is recomputed for each operation that reads from it.
std::vector<bool> MemoryCentric(const Graph& graph, const std::vector<Run>& originals,
                                const CutSegments& segments) {
  int64_t most = 0;
  std::vector<bool> seen(graph.tensors.size());
  std::vector<int64_t> bytes(segments.of_op.size() +
                             1);  // by segment, of the dropped tensors that backward reads
  std::vector<int64_t> layer(bytes.size(), kNone);
  for (const Run& run : originals) {
    const Variant& variant = VariantOf(graph, run);
    most = std::max(most,
                    OperandBytes(graph, variant) + WorkspaceBytes(graph, variant, run.algorithm));
    if (graph.ops[run.op].pass == Pass::kForward) continue;
    for (const TensorId t : variant.reads) {
      if (!segments.dropped[t] || seen[t]) continue;
      seen[t] = true;
      bytes[segments.Of(t)] += Aligned(graph.tensors[t].bytes);
      int64_t& first = layer[segments.Of(t)];
      if (first == kNone) first = OperandBytes(graph, variant, segments.dropped);
    }
  }
  std::vector<bool> memory_centric(bytes.size());
  for (size_t s = 0; s < bytes.size(); ++s) memory_centric[s] = bytes[s] + layer[s] > most;
  return memory_centric;
}

}  // namespace

std::vector<bool> Checkpoints(const Graph& graph, const std::vector<Run>& originals) {
  const std::vector<OpId> producers = Producers(graph, originals);
  std::vector<bool> checkpoints(graph.ops.size());
  for (const Run& run : originals) {
    const Op& op = graph.ops[run.op];
    if (op.pass != Pass::kForward) break;
    const std::vector<TensorId>& writes = VariantOf(graph, run).writes;
    const bool lost = std::any_of(writes.begin(), writes.end(), [&](TensorId t) {
      return !graph.tensors[t].is_state() && producers[t] != run.op;
    });
    checkpoints[run.op] = lost || IsConvLike(graph, op);
  }
  return checkpoints;
}

Recomputed RecomputeSegments(const Graph& graph, Program* program) {
  const std::vector<Run> originals = std::exchange(program->runs, {});
  CutSegments segments = Cut(graph, originals);
  const std::vector<bool> memory_centric = MemoryCentric(graph, originals, segments);
  std::vector<bool> away = segments.dropped;
  program->runs.reserve(2 * originals.size());
  for (const Run& run : originals) {
    const size_t replay = program->runs.size();
    if (graph.ops[run.op].pass != Pass::kForward) {
      AppendReplay(graph, originals, segments.producers, VariantOf(graph, run).reads, &away,
                   &program->runs);
    }
    for (size_t r = replay; r < program->runs.size(); ++r) {
      const Run& again = program->runs[r];
      if (!memory_centric[segments.of_op[again.op]]) continue;
      for (const TensorId t : VariantOf(graph, again).writes) away[t] = segments.dropped[t];
    }
    program->runs.push_back(run);
  }
  return {std::move(segments.dropped), DropUnread(graph, program)};
}

}  // namespace layrub::placement::policies
