#include "layrub/placement/policies/common.hpp"

#include <algorithm>
#include <span>

#include "layrub/placement/ir/operands.hpp"

namespace layrub::placement::policies {
namespace {

void TakeVariant(const Graph& graph, OpId o, std::vector<Variant>::const_iterator variant,
                 Program* program) {
  program->runs[o].variant = static_cast<int32_t>(variant - graph.ops[o].variants.begin());
  program->runs[o].algorithm = SmallestAlgorithm(graph, *variant);
}

/// The eviction of an activation or saved tensor; empty if it stays.
ShortList<Eviction> EvictionsBetweenPasses(const Graph& graph, TensorId t,
                                           std::span<const Use> uses, OpId first_backward) {
  const Tensor& tensor = graph.tensors[t];
  if (tensor.is_state() || tensor.bytes == 0) return {};
  const auto later = std::find_if(uses.begin(), uses.end(),
                                  [&](const Use& use) { return use.run >= first_backward; });
  if (later == uses.begin() || later == uses.end() || !later->reads) return {};
  if (later->run == first_backward) return {};
  const Eviction eviction{(later - 1)->run, (later - 1)->run + 1, later->run - 1, later->run};
  if (eviction.prefetch - eviction.release < 2) return {};
  return {eviction};
}

/// Whether run `r` writes a new value of the tensor that does not depend on an older one.
bool BeginsAt(RunId r, std::span<const Use> uses, const ShortList<Eviction>& evictions) {
  return (!uses.empty() && uses.front().run == r) ||
         std::any_of(evictions.begin(), evictions.end(), [r](const Eviction& eviction) {
           return eviction.dropped && eviction.before == r;
         });
}

/// Whether run `r` is the last that needs the value of `tensor`, and does not change it.
bool EndsAt(RunId r, const Tensor& tensor, std::span<const Use> uses,
            const ShortList<Eviction>& evictions) {
  if (uses.empty()) return false;
  if (uses.back().run == r) return !uses.back().writes && !tensor.keep;
  const bool dropped =
      std::any_of(evictions.begin(), evictions.end(), [r](const Eviction& eviction) {
        return eviction.dropped && eviction.after == r && eviction.release == r;
      });
  if (!dropped) return false;
  const auto use = std::find_if(uses.begin(), uses.end(), [r](const Use& u) { return u.run == r; });
  return use != uses.end() && !use->writes;
}

/// Pairs that lay outputs of run `r` on inputs that nobody needs afterwards, in addition to the
/// aliases that the program has.
ShortList<AliasPair> MoreAliases(const Graph& graph, RunId r, InPlace which, const UseLists& uses,
                                 const Program& program) {
  const Run& chosen = program.runs[r];
  ShortList<AliasPair> candidates;
  for (const AliasPair& pair : graph.ops[chosen.op].variants[chosen.variant].may_alias) {
    const Tensor& output = graph.tensors[pair.output];
    const Tensor& input = graph.tensors[pair.input];
    if (which == InPlace::kSameRole && output.role != input.role) continue;
    const bool begins_here =
        BeginsAt(r, uses[pair.output], program.tensors[pair.output].evictions) &&
        Materialised(output, uses[pair.output]);
    const bool ends_here =
        begins_here && EndsAt(r, input, uses[pair.input], program.tensors[pair.input].evictions) &&
        !BeginsAt(r, uses[pair.input], program.tensors[pair.input].evictions);
    const bool taken =
        std::any_of(chosen.aliases.begin(), chosen.aliases.end(), [&pair](const AliasPair& other) {
          return other.output == pair.output || other.input == pair.input;
        });
    if (ends_here && !taken) candidates.push_back(pair);
  }
  return BestAliases(graph, candidates);
}

}  // namespace

Program InSmallestVariants(const Graph& graph) {
  Program program = DefaultProgram(graph);
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Variant>& variants = graph.ops[o].variants;
    if (variants.size() == 1) continue;
    const auto smallest =
        std::min_element(variants.begin(), variants.end(), [&](const Variant& a, const Variant& b) {
          return OperandBytes(graph, a) < OperandBytes(graph, b);
        });
    TakeVariant(graph, o, smallest, &program);
  }
  return program;
}

void MoveBetweenPasses(const Graph& graph, const UseLists& uses, Program* program) {
  const OpId first_backward = FirstOp(graph, Pass::kBackward);
  for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
    if (!Materialised(graph.tensors[t], uses[t])) continue;
    program->tensors[t].evictions = EvictionsBetweenPasses(graph, t, uses[t], first_backward);
  }
}

void RunInPlace(const Graph& graph, const UseLists& uses, InPlace which, Program* program) {
  for (RunId r = 0; r < static_cast<RunId>(program->runs.size()); ++r) {
    for (const AliasPair& pair : MoreAliases(graph, r, which, uses, *program))
      program->runs[r].aliases.push_back(pair);
  }
}

std::vector<OpId> OverwrittenBy(const Graph& graph, const UseLists& uses) {
  std::vector<OpId> overwritten(graph.tensors.size(), static_cast<OpId>(graph.ops.size()));
  for (const std::vector<TensorId>& chain : BlobVersions(graph, uses)) {
    for (size_t i = 1; i < chain.size(); ++i) {
      overwritten[chain[i - 1]] = uses[chain[i]].front().run;
    }
  }
  return overwritten;
}

void AvoidOverwritten(const Graph& graph, const std::vector<OpId>& overwritten, Program* program) {
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Variant>& variants = graph.ops[o].variants;
    const auto first = std::find_if(variants.begin(), variants.end(), [&](const Variant& variant) {
      return std::all_of(variant.reads.begin(), variant.reads.end(),
                         [&](TensorId t) { return overwritten[t] >= o; });
    });
    if (first != variants.end()) TakeVariant(graph, o, first, program);
  }
}

void KeepBlobsWhole(const Graph& graph, const UseLists& uses, Program* program) {
  for (TensorProgram& tensor : program->tensors) tensor.whole = true;
  for (const std::vector<TensorId>& chain : BlobVersions(graph, uses)) {
    for (size_t i = 1; i < chain.size(); ++i) {
      const OpId o = uses[chain[i]].front().run;
      const AliasPair pair{chain[i], chain[i - 1]};
      Run& chosen = program->runs[o];
      const std::vector<AliasPair>& allowed = graph.ops[o].variants[chosen.variant].may_alias;
      if (std::find(allowed.begin(), allowed.end(), pair) == allowed.end()) continue;
      const Tensor& old = graph.tensors[pair.input];
      const bool fits = Aligned(graph.tensors[pair.output].bytes) <= Aligned(old.bytes);
      if (fits && !old.keep && uses[pair.input].back().run <= o) chosen.aliases.push_back(pair);
    }
  }
}

}  // namespace layrub::placement::policies
