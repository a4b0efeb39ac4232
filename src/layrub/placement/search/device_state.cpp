#include "layrub/placement/search/device_state.hpp"

#include <cmath>
#include <span>
#include <utility>

namespace layrub::placement::search {
namespace {

/// A tensor of at most the capacity divided by this is small.
constexpr int64_t kSmallPart = 2000;
/// Seconds, far below those of any operation, that order the tensors needed at once: of the
/// operations that wait for one another, the outermost can wait longest.
constexpr double kElementsPerThread = 1e-12;
constexpr double kSecondsPerLevel = 1e-6;
/// Even a copy for which nobody waits takes the link from others.
constexpr double kLeastPrice = 0.02;

}  // namespace

DeviceState::DeviceState(const Graph& graph, const Start& start, const RunCosts& costs,
                         const LinkClock& clock, int64_t capacity, const GreedyPolicy& policy)
    : graph_(graph),
      costs_(costs),
      clock_(clock),
      capacity_(capacity),
      policy_(policy),
      uses_(start.uses),
      producers_(start.producers),
      states_(graph.tensors.size()) {
  for (size_t t = 0; t < states_.size(); ++t) {
    states_[t].size = Aligned(graph.tensors[t].bytes);
    states_[t].copied = graph.tensors[t].is_state();
  }
}

double DeviceState::UntilNeeded(TensorId t) const {
  const TensorState& state = states_[t];
  if (state.pending > 0) return kElementsPerThread + kSecondsPerLevel * (depth - state.level);
  if (state.next == uses_[t].size()) return graph_.tensors[t].keep ? costs_.Total() : kNever;
  return std::max(kElementsPerThread,
                  costs_.StartOf(uses_[t][state.next].run) - costs_.StartOf(current));
}

void DeviceState::Enter(TensorId t) {
  TensorState& state = states_[t];
  state.resident = true;
  state.lost = false;
  state.bytes = state.size;
  held_ += state.bytes;
  residents_[IsSmall(state.bytes)].push_back(t);
}

/// Small tensors are evicted only if evicting large ones does not suffice.
bool DeviceState::IsSmall(int64_t bytes) const { return bytes <= capacity_ / kSmallPart; }

void DeviceState::Leave(TensorId t, RunId release) {
  TensorState& state = states_[t];
  if (!state.fetched) state.release = release;
  held_ -= state.bytes;
  state.bytes = 0;
  state.resident = state.fetched = state.covered = false;
}

/// The tensor with the lowest score is evicted first.
double DeviceState::Score(TensorId t, bool covered) const {
  const TensorState& state = states_[t];
  double cost = covered && !state.copied
                    ? kNever
                    : std::max(policy_.link_price, kLeastPrice) * LinkSeconds(t);
  if (HasProducer(t)) cost = std::min(cost, costs_.Chain(producers_[t]));
  const double until = UntilNeeded(t);
  const double time = policy_.haste == 1 ? until : std::pow(until, policy_.haste);
  return cost / (static_cast<double>(state.bytes) * time);
}

/// `large`: considers large tensors only.
DeviceState::Victim DeviceState::FindVictim(bool large, const Tensors& operands,
                                            const std::vector<AliasPair>& pairs) {
  Victim victim;
  const auto may_leave = [&](TensorId t) {
    return states_[t].bytes > 0 && !(large && IsSmall(states_[t].bytes));
  };
  for (Tensors& residents : std::span(residents_).first(large ? 1 : 2)) {
    std::erase_if(residents, [&](TensorId t) { return !states_[t].resident; });
    looks_ += static_cast<int64_t>(residents.size());
    for (const TensorId t : residents) {
      if (!may_leave(t) || Has(operands, t)) continue;
      const double score = Score(t, false);
      if (score < victim.score) victim = {t, {}, score};
    }
  }
  for (const AliasPair& pair : pairs) {
    if (!may_leave(pair.input)) continue;
    const double score = Score(pair.input, true);
    if (score < victim.score) victim = {kNone, pair, score};
  }
  return victim;
}

void DeviceState::MakeRoom(int64_t need, RunId release, const Tensors& operands,
                           std::vector<AliasPair> pairs, ShortList<AliasPair>* aliases) {
  for (const bool large : {true, false}) {
    while (held_ + need > capacity_ && looks_ < kMaxVisits) {
      const Victim victim = FindVictim(large, operands, pairs);
      if (victim.score == kNever) break;
      if (victim.tensor != kNone) {
        Leave(victim.tensor, release);
        continue;
      }
      Cover(victim.pair.input);
      need -= states_[victim.pair.output].size;
      aliases->push_back(victim.pair);
      RemoveConflicts(victim.pair, &pairs);
    }
  }
}

void DeviceState::Cover(TensorId t) {
  states_[t].covered = true;
  states_[t].lost = !states_[t].copied;
}

void DeviceState::TakeOver(const AliasPair& pair) {
  held_ -= states_[pair.output].bytes;
  TensorState& output = states_[pair.output];
  output.bytes = std::exchange(states_[pair.input].bytes, 0);
  if (IsSmall(output.size) && !IsSmall(output.bytes)) residents_[0].push_back(pair.output);
}

void RemoveConflicts(const AliasPair& taken, std::vector<AliasPair>* pairs) {
  std::erase_if(*pairs, [&](const AliasPair& pair) {
    return pair.input == taken.input || pair.output == taken.output;
  });
}

}  // namespace layrub::placement::search
