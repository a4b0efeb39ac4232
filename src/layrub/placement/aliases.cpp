#include "layrub/placement/aliases.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace layrub {
namespace {

/// Maximum matching by augmenting paths. What a matching saves depends on its outputs alone, and
/// the sets of outputs that can be matched form a matroid, so taking the largest outputs first is
/// optimal.
class Matching {
 public:
  Matching(const Graph& graph, const std::vector<AliasPair>& candidates) {
    for (const AliasPair& pair : candidates) {
      if (Allows(graph, pair)) inputs_of_[pair.output].push_back(pair.input);
    }
  }

  static bool Allows(const Graph& graph, const AliasPair& pair) {
    const Tensor& output = graph.tensors[pair.output];
    const Tensor& input = graph.tensors[pair.input];
    return !output.persistent && !input.persistent && Aligned(output.bytes) <= Aligned(input.bytes);
  }

  std::vector<AliasPair> Solve(const Graph& graph) {
    std::vector<TensorId> outputs;
    for (const auto& [output, inputs] : inputs_of_) outputs.push_back(output);
    std::stable_sort(outputs.begin(), outputs.end(), [&](TensorId a, TensorId b) {
      return graph.tensors[a].bytes > graph.tensors[b].bytes;
    });
    for (const TensorId output : outputs) {
      std::set<TensorId> visited;
      Augment(output, &visited);
    }
    std::map<TensorId, TensorId> input_of;
    for (const auto& [input, output] : output_on_) input_of[output] = input;
    std::vector<AliasPair> chosen;
    for (const TensorId output : outputs) {
      if (input_of.count(output) > 0) chosen.push_back({output, input_of[output]});
    }
    return chosen;
  }

 private:
  bool Augment(TensorId output, std::set<TensorId>* visited) {
    for (const TensorId input : inputs_of_[output]) {
      if (!visited->insert(input).second) continue;
      const auto taken = output_on_.find(input);
      if (taken == output_on_.end() || Augment(taken->second, visited)) {
        output_on_[input] = output;
        return true;
      }
    }
    return false;
  }

  std::map<TensorId, std::vector<TensorId>> inputs_of_;
  std::map<TensorId, TensorId> output_on_;
};

}  // namespace

std::vector<AliasPair> BestAliases(const Graph& graph, const std::vector<AliasPair>& candidates) {
  if (candidates.empty()) return {};
  if (candidates.size() == 1 && Matching::Allows(graph, candidates.front())) return candidates;
  return Matching(graph, candidates).Solve(graph);
}

int64_t OperandBytes(const Graph& graph, const Form& form, const std::vector<bool>& skip) {
  std::vector<TensorId> operands;
  operands.reserve(form.reads.size() + form.writes.size());
  operands = form.reads;
  operands.insert(operands.end(), form.writes.begin(), form.writes.end());
  std::sort(operands.begin(), operands.end());
  operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
  std::erase_if(operands, [&](TensorId t) {
    return graph.tensors[t].persistent || (!skip.empty() && skip[t]);
  });
  int64_t bytes = 0;
  for (const TensorId t : operands) bytes += Aligned(graph.tensors[t].bytes);

  const auto present = [&](TensorId t) {
    return std::binary_search(operands.begin(), operands.end(), t);
  };
  std::vector<AliasPair> pairs;
  for (const AliasPair& pair : form.may_alias) {
    if (present(pair.output) && present(pair.input)) pairs.push_back(pair);
  }
  for (const AliasPair& pair : BestAliases(graph, pairs)) {
    bytes -= Aligned(graph.tensors[pair.output].bytes);
  }
  return bytes;
}

int32_t SmallestScratch(const Graph& graph, const Form& form) {
  int32_t best = 0;
  for (int32_t i = 1; i < static_cast<int32_t>(form.scratch.size()); ++i) {
    if (ScratchBytes(graph, form, i) < ScratchBytes(graph, form, best)) best = i;
  }
  return best;
}

int64_t ScratchBytes(const Graph& graph, const Form& form, int32_t scratch) {
  if (form.scratch.empty() || form.scratch[scratch].tensor == kNone) return 0;
  return Aligned(graph.tensors[form.scratch[scratch].tensor].bytes);
}

}  // namespace layrub
