#include "layrub/placement/ir/program.hpp"

#include <algorithm>
#include <string>

namespace layrub::placement {
namespace {

class ProgramChecker {
 public:
  ProgramChecker(const Graph& graph, const std::vector<Run>& runs)
      : graph_(graph),
        runs_(runs),
        first_(graph.ops.size(), kNone),
        last_write_(graph.tensors.size(), kNone),
        again_(
            std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.recompute; })) {}

  Status Check() {
    OpId turn = 0;
    for (RunId r = 0; r < static_cast<RunId>(runs_.size()); ++r) {
      const Run& run = runs_[r];
      if (run.op < 0 || run.op >= static_cast<OpId>(graph_.ops.size()) ||
          (!run.recompute && run.op != turn)) {
        return OtherGraph();
      }
      if (Status status = CheckChoice(run); !status.ok()) return status;
      if (run.recompute) {
        if (Status status = CheckRecomputation(run); !status.ok()) return status;
        continue;
      }
      ++turn;
      first_[run.op] = r;
      if (!again_) continue;
      for (const TensorId t : VariantOf(graph_, run).writes) last_write_[t] = r;
    }
    return turn == static_cast<OpId>(graph_.ops.size()) ? Status::Ok() : OtherGraph();
  }

 private:
  static Status OtherGraph() {
    return Status::Invalid(
        "the program is for another graph: it does not run each operation once, in order");
  }
  Status Bad(const Run& run, const std::string& what) const {
    return Status::Invalid("operation " + graph_.ops[run.op].name + ": " + what);
  }
  Status CannotRecompute(const Run& run, const std::string& why) const {
    return Bad(run, "it cannot run again: " + why);
  }

  Status CheckChoice(const Run& run) const {
    const Op& op = graph_.ops[run.op];
    if (run.variant < 0 || run.variant >= static_cast<int32_t>(op.variants.size())) {
      return Bad(run, "it has no variant " + std::to_string(run.variant));
    }
    const auto algorithms = static_cast<int32_t>(VariantOf(graph_, run).algorithms.size());
    if (run.algorithm < 0 || run.algorithm >= std::max(algorithms, 1)) {
      return Bad(run, "it has no algorithm " + std::to_string(run.algorithm));
    }
    return Status::Ok();
  }

  /// A recomputation gives the same bits if the same operation finds the same values. It must not
  /// overwrite a newer value.
  Status CheckRecomputation(const Run& run) const {
    const Op& op = graph_.ops[run.op];
    const RunId first = first_[run.op];
    if (first == kNone) return CannotRecompute(run, "it has not run before");
    if (!IsRecomputable(op)) return CannotRecompute(run, "it is not a repeatable forward");
    const Variant& variant = VariantOf(graph_, run);
    if (run.variant != runs_[first].variant || run.algorithm != runs_[first].algorithm ||
        !IsDeterministic(variant, run.algorithm)) {
      return CannotRecompute(run, "its variant and its algorithm do not promise the same bits");
    }
    for (const TensorId t : variant.reads) {
      if (TouchedByRecomputation(graph_, variant, t) && last_write_[t] >= first) {
        return CannotRecompute(run, graph_.tensors[t].name + ", which it reads, was written since");
      }
    }
    for (const TensorId t : variant.writes) {
      if (TouchedByRecomputation(graph_, variant, t) && last_write_[t] > first) {
        return CannotRecompute(run, graph_.tensors[t].name + " has a newer value than it writes");
      }
    }
    return Status::Ok();
  }

  const Graph& graph_;
  const std::vector<Run>& runs_;
  std::vector<RunId> first_;  ///< by operation: its first run so far
  std::vector<RunId>
      last_write_;    ///< by tensor: the last run so far that wrote it, recomputations left out
  const bool again_;  ///< there are recomputations, so last_write_ is needed
};

}  // namespace

bool IsRecomputable(const Op& op) {
  return op.pass == Pass::kForward && op.kind == OpKind::kCompute && op.repeatable;
}

bool IsDeterministic(const Variant& variant, int32_t algorithm) {
  return variant.algorithms.empty() || variant.algorithms[algorithm].deterministic;
}

Status CheckProgram(const Graph& graph, const std::vector<Run>& runs) {
  return ProgramChecker(graph, runs).Check();
}

}  // namespace layrub::placement
