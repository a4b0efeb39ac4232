#include "layrub/placement/test/random_decision.hpp"

#include <cstddef>
#include <random>
#include <set>
#include <vector>

namespace layrub::testing {
namespace {

class Dice {
 public:
  Dice(const Graph& graph, uint64_t seed, bool reckless)
      : graph_(graph), random_(seed), reckless_(reckless), uses_(graph.tensors.size()) {}

  Decision Throw() {
    decision_.tensors.resize(graph_.tensors.size());
    for (size_t op = 0; op < graph_.ops.size(); ++op) ChooseForm(static_cast<OpId>(op));
    for (size_t id = 0; id < graph_.tensors.size(); ++id)
      ChooseResidence(static_cast<TensorId>(id));
    for (size_t op = 0; op < graph_.ops.size(); ++op) ChooseAliases(static_cast<OpId>(op));
    return decision_;
  }

 private:
  int Pick(int begin, int end) {
    return std::uniform_int_distribution<int>(begin, end - 1)(random_);
  }
  bool Chance(int percent) { return Pick(0, 100) < percent; }

  void ChooseForm(OpId op) {
    Run choice;
    choice.op = op;
    choice.form = Pick(0, static_cast<int>(graph_.ops[op].forms.size()));
    const Form& form = graph_.ops[op].forms[choice.form];
    if (!form.scratch.empty()) choice.scratch = Pick(0, static_cast<int>(form.scratch.size()));
    decision_.runs.push_back(choice);
    for (TensorId id : form.reads) {
      uses_[id].insert(op);
      read_.insert(id);
    }
    for (TensorId id : form.writes) uses_[id].insert(op);
  }

  void ChooseResidence(TensorId id) {
    const Tensor& tensor = graph_.tensors[id];
    TensorDecision& choice = decision_.tensors[id];
    const bool unread = tensor.role == Role::kSaved && read_.count(id) == 0;
    if (tensor.persistent || tensor.role == Role::kScratch || unread) return;
    choice.whole = Chance(5);
    if (choice.whole && !reckless_) return;
    const std::vector<OpId> uses(uses_[id].begin(), uses_[id].end());
    for (size_t i = 1; i < uses.size(); ++i) {
      if (!Chance(40)) continue;
      const OpId release = Pick(uses[i - 1], uses[i]);
      choice.gaps.push_back({uses[i - 1], release, Pick(release + 1, uses[i] + 1), uses[i]});
    }
  }

  /// The input is used up by this operation, and nothing else holds its value or its bytes to the
  /// end.
  bool IsSafe(OpId op, const AliasPair& pair) const {
    const Tensor& input = graph_.tensors[pair.input];
    return !input.persistent && !input.keep && !decision_.tensors[pair.input].whole &&
           !decision_.tensors[pair.output].whole && !graph_.tensors[pair.output].persistent &&
           *uses_[pair.input].rbegin() == op && *uses_[pair.output].begin() == op;
  }

  void ChooseAliases(OpId op) {
    std::set<TensorId> taken;
    Run& choice = decision_.runs[op];
    for (const AliasPair& pair : graph_.ops[op].forms[choice.form].may_alias) {
      const bool unread =
          graph_.tensors[pair.output].role == Role::kSaved && read_.count(pair.output) == 0;
      const bool wanted = IsSafe(op, pair) && !unread ? Chance(70) : reckless_ && Chance(10);
      if (!wanted || taken.count(pair.input) > 0 || taken.count(pair.output) > 0) continue;
      taken.insert({pair.input, pair.output});
      choice.aliases.push_back(pair);
    }
  }

  const Graph& graph_;
  std::mt19937_64 random_;
  bool reckless_;
  std::vector<std::set<OpId>> uses_;  // per tensor, under the chosen forms
  std::set<TensorId> read_;
  Decision decision_;
};

}  // namespace

Decision RandomDecision(const Graph& graph, uint64_t seed, bool reckless) {
  return Dice(graph, seed, reckless).Throw();
}

}  // namespace layrub::testing
