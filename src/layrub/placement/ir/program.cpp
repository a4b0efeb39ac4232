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
        if (Status status = CheckAgain(run); !status.ok()) return status;
        continue;
      }
      ++turn;
      first_[run.op] = r;
      if (!again_) continue;
      for (const TensorId t : FormOf(graph_, run).writes) last_write_[t] = r;
    }
    return turn == static_cast<OpId>(graph_.ops.size()) ? Status::Ok() : OtherGraph();
  }

 private:
  static Status OtherGraph() {
    return Status::Invalid(
        "the decision is for another graph: it does not run each operation once, in order");
  }
  Status Bad(const Run& run, const std::string& what) const {
    return Status::Invalid("operation " + graph_.ops[run.op].name + ": " + what);
  }
  Status NotAgain(const Run& run, const std::string& why) const {
    return Bad(run, "it cannot run again: " + why);
  }

  Status CheckChoice(const Run& run) const {
    const Op& op = graph_.ops[run.op];
    if (run.form < 0 || run.form >= static_cast<int32_t>(op.forms.size())) {
      return Bad(run, "it has no form " + std::to_string(run.form));
    }
    const auto variants = static_cast<int32_t>(FormOf(graph_, run).scratch.size());
    if (run.scratch < 0 || run.scratch >= std::max(variants, 1)) {
      return Bad(run, "it has no scratch variant " + std::to_string(run.scratch));
    }
    return Status::Ok();
  }

  /// The same bits come out again if the same operation finds the same values; and they may be
  /// written where nothing newer would be lost.
  Status CheckAgain(const Run& run) const {
    const Op& op = graph_.ops[run.op];
    const RunId first = first_[run.op];
    if (first == kNone) return NotAgain(run, "it has not run before");
    if (!MayRunAgain(op)) return NotAgain(run, "it is not a repeatable forward");
    const Form& form = FormOf(graph_, run);
    if (run.form != runs_[first].form || run.scratch != runs_[first].scratch ||
        !IsDeterministic(form, run.scratch)) {
      return NotAgain(run, "its form and its workspace do not promise the same bits");
    }
    for (const TensorId t : form.reads) {
      if (TouchedAgain(graph_, form, t) && last_write_[t] >= first) {
        return NotAgain(run, graph_.tensors[t].name + ", which it reads, was written since");
      }
    }
    for (const TensorId t : form.writes) {
      if (TouchedAgain(graph_, form, t) && last_write_[t] > first) {
        return NotAgain(run, graph_.tensors[t].name + " has a newer state than it writes");
      }
    }
    return Status::Ok();
  }

  const Graph& graph_;
  const std::vector<Run>& runs_;
  std::vector<RunId> first_;       ///< by operation: its first run so far
  std::vector<RunId> last_write_;  ///< by tensor: the last first run so far that writes it
  const bool again_;               ///< something runs again, so that last_write_ matters
};

}  // namespace

bool MayRunAgain(const Op& op) {
  return op.pass == Pass::kForward && op.kind == OpKind::kCompute && op.repeatable;
}

bool IsDeterministic(const Form& form, int32_t scratch) {
  return form.scratch.empty() || form.scratch[scratch].deterministic;
}

Status CheckProgram(const Graph& graph, const std::vector<Run>& runs) {
  return ProgramChecker(graph, runs).Check();
}

}  // namespace layrub::placement
