#include "layrub/placement/ir/operands.hpp"

#include <algorithm>
#include <utility>

namespace layrub::placement {
namespace {

/// Maximum matching by augmenting paths. The bytes saved depend only on which outputs are matched,
/// and the sets of outputs that can be matched form a matroid, so taking the largest outputs first
/// is optimal.
class Matching {
 public:
  Matching(const Graph& graph, const ShortList<AliasPair>& candidates)
      : pairs_(candidates.begin(), candidates.end()) {
    std::stable_sort(pairs_.begin(), pairs_.end(), [&](const AliasPair& a, const AliasPair& b) {
      return std::pair(graph.tensors[b.output].bytes, a.output) <
             std::pair(graph.tensors[a.output].bytes, b.output);
    });
    for (const AliasPair& pair : pairs_) inputs_.push_back(pair.input);
    std::sort(inputs_.begin(), inputs_.end());
    inputs_.erase(std::unique(inputs_.begin(), inputs_.end()), inputs_.end());
    outputs_.assign(inputs_.size(), kNone);
  }

  ShortList<AliasPair> Solve() {
    std::vector<size_t> firsts;  // by output: its first pair
    for (size_t i = 0; i < pairs_.size(); ++i) {
      if (i == 0 || pairs_[i].output != pairs_[i - 1].output) firsts.push_back(i);
    }
    for (const size_t first : firsts) {
      visited_.assign(inputs_.size(), false);
      Augment(first);
    }
    ShortList<AliasPair> chosen;
    for (const size_t first : firsts) {
      const auto input = std::find(outputs_.begin(), outputs_.end(), static_cast<int64_t>(first));
      if (input != outputs_.end())
        chosen.push_back({pairs_[first].output, inputs_[input - outputs_.begin()]});
    }
    return chosen;
  }

 private:
  /// Lays the output whose first pair is `first` on an input; other outputs may change their
  /// inputs.
  bool Augment(size_t first) {
    for (size_t i = first; i < pairs_.size() && pairs_[i].output == pairs_[first].output; ++i) {
      const size_t input =
          std::lower_bound(inputs_.begin(), inputs_.end(), pairs_[i].input) - inputs_.begin();
      if (visited_[input]) continue;
      visited_[input] = true;
      if (outputs_[input] == kNone || Augment(static_cast<size_t>(outputs_[input]))) {
        outputs_[input] = static_cast<int64_t>(first);
        return true;
      }
    }
    return false;
  }

  std::vector<AliasPair> pairs_;  ///< larger outputs first, pairs of one output side by side
  std::vector<TensorId> inputs_;  ///< sorted
  std::vector<int64_t> outputs_;  ///< by input: the first pair of the output that lies on it
  std::vector<bool> visited_;     ///< by input: this Augment has tried it
};

bool Allows(const Graph& graph, const AliasPair& pair) {
  const Tensor& output = graph.tensors[pair.output];
  const Tensor& input = graph.tensors[pair.input];
  return !output.is_state() && !input.is_state() && Aligned(output.bytes) <= Aligned(input.bytes);
}

bool Has(std::span<const TensorId> tensors, TensorId t) {
  return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

}  // namespace

ShortList<AliasPair> BestAliases(const Graph& graph, std::span<const AliasPair> candidates) {
  ShortList<AliasPair> allowed;
  for (const AliasPair& pair : candidates) {
    if (Allows(graph, pair)) allowed.push_back(pair);
  }
  const bool one_output = std::all_of(allowed.begin(), allowed.end(), [&](const AliasPair& pair) {
    return pair.output == allowed.front().output;
  });
  if (!one_output) return Matching(graph, allowed).Solve();
  return allowed.size() < 2 ? allowed : ShortList<AliasPair>{allowed.front()};
}

int64_t OperandBytes(const Graph& graph, const Variant& variant, const std::vector<bool>& skip,
                     std::span<const StateHome> homes) {
  const std::span<const TensorId> reads = variant.reads, writes = variant.writes;
  const auto bytes_of = [&](TensorId t) {
    const StateHome home = homes.empty() ? StateHome::kDevice : homes[t];
    const bool left_out = StaysHome(graph.tensors[t], home) || (!skip.empty() && skip[t]);
    return left_out ? 0 : Aligned(graph.tensors[t].bytes);
  };
  int64_t bytes = 0;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!Has(reads.first(i), reads[i])) bytes += bytes_of(reads[i]);
  }
  for (size_t i = 0; i < writes.size(); ++i) {
    if (!Has(writes.first(i), writes[i]) && !Has(reads, writes[i])) bytes += bytes_of(writes[i]);
  }
  ShortList<AliasPair> pairs;
  const auto present = [&](TensorId t) {
    return (skip.empty() || !skip[t]) && (Has(reads, t) || Has(writes, t));
  };
  for (const AliasPair& pair : variant.may_alias) {
    if (present(pair.output) && present(pair.input)) pairs.push_back(pair);
  }
  for (const AliasPair& pair : BestAliases(graph, pairs)) {
    bytes -= Aligned(graph.tensors[pair.output].bytes);
  }
  return bytes;
}

int32_t SmallestAlgorithm(const Graph& graph, const Variant& variant) {
  int32_t best = 0;
  for (int32_t i = 1; i < static_cast<int32_t>(variant.algorithms.size()); ++i) {
    if (WorkspaceBytes(graph, variant, i) < WorkspaceBytes(graph, variant, best)) best = i;
  }
  return best;
}

int64_t WorkspaceBytes(const Graph& graph, const Variant& variant, int32_t algorithm) {
  if (variant.algorithms.empty() || variant.algorithms[algorithm].workspace == kNone) return 0;
  return Aligned(graph.tensors[variant.algorithms[algorithm].workspace].bytes);
}

}  // namespace layrub::placement
