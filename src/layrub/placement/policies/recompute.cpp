#include "layrub/placement/policies/recompute.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "layrub/placement/ir/program.hpp"

namespace layrub::placement::policies {
namespace {

/// By tensor, the last operation that writes it, updates of parameters left out.
std::vector<OpId> LastWriters(const Graph& graph, const std::vector<Run>& originals) {
  std::vector<OpId> writers(graph.tensors.size(), kNone);
  for (const Run& run : originals) {
    if (graph.ops[run.op].kind == OpKind::kUpdate) continue;
    for (const TensorId t : VariantOf(graph, run).writes) writers[t] = run.op;
  }
  return writers;
}

}  // namespace

std::vector<OpId> Producers(const Graph& graph, const std::vector<Run>& originals) {
  const std::vector<OpId> writers = LastWriters(graph, originals);
  std::vector<OpId> producers(graph.tensors.size(), kNone);
  for (const Run& run : originals) {
    const Op& op = graph.ops[run.op];
    const Variant& variant = VariantOf(graph, run);
    if (!IsRecomputable(op) || !IsDeterministic(variant, run.algorithm)) continue;
    const auto unchanged = [&](const std::vector<TensorId>& operands, OpId last) {
      return std::all_of(operands.begin(), operands.end(), [&](TensorId t) {
        return !TouchedByRecomputation(graph, variant, t) || writers[t] <= last;
      });
    };
    if (!unchanged(variant.reads, run.op - 1) || !unchanged(variant.writes, run.op)) continue;
    for (const TensorId t : variant.writes) {
      if (!graph.tensors[t].is_state()) producers[t] = run.op;
    }
  }
  return producers;
}

std::vector<OpId> ProducersOfUnkept(const Graph& graph, const std::vector<Run>& originals) {
  std::vector<OpId> producers = Producers(graph, originals);
  for (OpId& producer : producers) {
    if (producer == kNone) continue;
    const std::vector<TensorId>& writes = VariantOf(graph, originals[producer]).writes;
    const bool kept = std::any_of(writes.begin(), writes.end(),
                                  [&graph](TensorId t) { return graph.tensors[t].keep; });
    if (kept) producer = kNone;
  }
  return producers;
}

void AppendReplay(const Graph& graph, const std::vector<Run>& originals,
                  const std::vector<OpId>& producers, const std::vector<TensorId>& wanted,
                  std::vector<bool>* away, std::vector<Run>* runs) {
  std::set<OpId> ops;
  std::vector<TensorId> missing = wanted;
  while (!missing.empty()) {
    const TensorId t = missing.back();
    missing.pop_back();
    if (!(*away)[t] || !ops.insert(producers[t]).second) continue;
    const Variant& variant = VariantOf(graph, originals[producers[t]]);
    for (const TensorId read : variant.reads) {
      if (TouchedByRecomputation(graph, variant, read)) missing.push_back(read);
    }
  }
  for (const OpId o : ops) {
    Run run = originals[o];
    run.recompute = true;
    runs->push_back(std::move(run));
    for (const TensorId t : VariantOf(graph, originals[o]).writes) (*away)[t] = false;
  }
}

UseLists DropUnread(const Graph& graph, Program* program) {
  UseLists uses = FindUses(graph, program->runs);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    TensorProgram& tensor = program->tensors[t];
    const bool stays = graph.tensors[t].is_state() || graph.tensors[t].keep || tensor.whole ||
                       !tensor.evictions.empty();
    if (stays || !Materialised(graph.tensors[t], uses[t])) continue;
    for (size_t i = 1; i < uses[t].size(); ++i) {
      const RunId after = uses[t][i - 1].run, before = uses[t][i].run;
      if (!uses[t][i].reads && program->runs[before].recompute)
        tensor.evictions.push_back({after, after, before, before, true});
    }
  }
  return uses;
}

UseLists RecomputeOnce(const Graph& graph, const std::vector<bool>& dropped, Program* program) {
  const std::vector<Run> originals = std::exchange(program->runs, {});
  const std::vector<OpId> producers = Producers(graph, originals);
  std::vector<bool> away = dropped;
  program->runs.reserve(2 * originals.size());
  for (const Run& run : originals) {
    if (graph.ops[run.op].pass != Pass::kForward) {
      AppendReplay(graph, originals, producers, VariantOf(graph, run).reads, &away, &program->runs);
    }
    program->runs.push_back(run);
  }
  return DropUnread(graph, program);
}

}  // namespace layrub::placement::policies
