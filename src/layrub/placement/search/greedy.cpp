#include "layrub/placement/search/greedy.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/ir/uses.hpp"
#include "layrub/placement/search/device_state.hpp"
#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/search/run_costs.hpp"

namespace layrub::placement::search {
namespace {

/// Bounds of one call: runs for each operation, and recomputations nested in one another.
constexpr size_t kMostRuns = 4;
constexpr int32_t kDeepest = 2000;

class Runner {
 public:
  Runner(const Graph& graph, const Machine& machine, const Start& start, int64_t capacity,
         const GreedyPolicy& policy)
      : graph_(graph),
        costs_(graph, machine, start),
        policy_(policy),
        originals_(start.program.runs),
        producers_(start.producers),
        clock_(machine, capacity),
        device_(graph, start, costs_, clock_, capacity, policy),
        visited_(graph.ops.size()),
        program_{{}, start.program.tensors} {}

  /// Returns false if it gave up.
  bool RunAll() {
    for (device_.current = 0; device_.current < static_cast<OpId>(graph_.ops.size());
         ++device_.current) {
      if (!Execute(device_.current, false)) return false;
    }
    return true;
  }

  /// The program once all has run.
  Program Take() {
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const Tensor& tensor = graph_.tensors[t];
      TensorProgram& result = program_.tensors[t];
      const TensorState& state = device_[static_cast<TensorId>(t)];
      const bool leaves =
          tensor.is_state() ? result.home == StateHome::kAway : tensor.keep && !state.resident;
      if (leaves && state.last != kNone)
        result.evictions.push_back(ToTheEnd({state.last, false, false}, program_.runs));
    }
    return std::move(program_);
  }

 private:
  const Variant& VariantOf(OpId o) const { return costs_.VariantOf(o); }
  RunId Count() const { return static_cast<RunId>(program_.runs.size()); }
  double CopySeconds(TensorId t) const {
    return policy_.link_clock ? clock_.Wait(EvictedOf(t)) : device_.LinkSeconds(t);
  }
  Evicted EvictedOf(TensorId t) const {
    const TensorState& state = device_[t];
    return {graph_.tensors[t].bytes, state.size, state.last, state.release, state.copied};
  }

  bool Execute(OpId o, bool again) {
    if (device_.depth == kDeepest || program_.runs.size() > kMostRuns * graph_.ops.size())
      return false;
    if (device_.gave_up()) return false;
    ++device_.depth;
    Tensors reads;
    for (const TensorId t : VariantOf(o).reads) {
      if (costs_.Touches(VariantOf(o), t, again) && !Has(reads, t)) reads.push_back(t);
    }
    const bool complete = BringAll(reads);
    if (complete) Emit(o, again, reads);
    --device_.depth;
    return complete;
  }

  /// Brings all of `reads` to the device. A tensor that comes back may evict one that has just come
  /// back, so this tries three times; after the first time it copies rather than recomputes.
  bool BringAll(const Tensors& reads) {
    std::vector<int32_t> levels;
    for (const TensorId t : reads) {
      levels.push_back(device_[t].level);
      device_[t].level = device_.depth;
      ++device_[t].pending;
    }
    const auto complete = [&] {
      return std::all_of(reads.begin(), reads.end(),
                         [&](TensorId t) { return device_[t].resident; });
    };
    bool possible = true;
    for (const bool rather_copy : {false, true, true}) {
      for (const TensorId t : reads) {
        if (device_[t].resident || !possible) continue;
        possible = Bring(t, rather_copy);
      }
    }
    for (size_t i = 0; i < reads.size(); ++i) {
      --device_[reads[i]].pending;
      device_[reads[i]].level = levels[i];
    }
    return possible && complete();
  }

  bool Bring(TensorId t, bool rather_copy) {
    const double copy =
        device_[t].lost ? kNever : CopySeconds(t) + policy_.link_price * device_.LinkSeconds(t);
    if (device_.HasProducer(t) && producers_[t] < device_.current &&
        (!rather_copy || copy == kNever)) {
      ++stamp_;
      if (copy == kNever || RecomputeSeconds(t, copy, device_.depth) < copy)
        return Execute(producers_[t], true);
    }
    if (copy == kNever) return false;
    clock_.Fetch(EvictedOf(t));
    device_.MakeRoom(device_[t].size, Count() - 1, operands_, {}, nullptr);
    device_[t].fetched = true;
    device_.Enter(t);
    return true;
  }

  /// Seconds to recompute `t` from what is on the device, each operation counted once. If they
  /// reach `most`, the result is only known to be at least that. kNever if `depth` recomputations
  /// are nested too deep for Execute.
  double RecomputeSeconds(TensorId t, double most, int32_t depth) {
    if (depth >= kDeepest) return kNever;
    const OpId o = producers_[t];
    if (visited_[o] == stamp_) return 0;
    visited_[o] = stamp_;
    double sum = costs_.Seconds(o);
    for (const TensorId read : VariantOf(o).reads) {
      if (sum >= most) return sum;
      const TensorState& state = device_[read];
      if (!costs_.Touches(VariantOf(o), read, true) || state.resident) continue;
      const double copy = state.lost ? kNever : device_.LinkSeconds(read);
      sum += device_.HasProducer(read)
                 ? std::min(copy, RecomputeSeconds(read, std::min(copy, most - sum), depth + 1))
                 : copy;
    }
    return sum;
  }

  /// Pairs of the variant whose output begins at this run and whose input is on the device and only
  /// read.
  std::vector<AliasPair> AliasPairs(const Variant& variant, const Tensors& outputs) const {
    std::vector<AliasPair> pairs;
    for (const AliasPair& pair : variant.may_alias) {
      const TensorState& input = device_[pair.input];
      const bool there = input.resident && !Has(variant.writes, pair.input);
      if (Has(outputs, pair.output) && there && device_[pair.output].size <= input.bytes) {
        pairs.push_back(pair);
      }
    }
    return pairs;
  }

  void Emit(OpId o, bool again, const Tensors& reads) {
    const Variant& variant = VariantOf(o);
    Tensors outputs;
    operands_ = reads;
    for (const TensorId t : variant.writes) {
      if (!costs_.Touches(variant, t, again) || Has(operands_, t)) continue;
      operands_.push_back(t);
      if (!device_[t].resident) outputs.push_back(t);
    }
    for (const TensorId t : operands_) device_[t].next += again ? 0 : 1;
    const ShortList<AliasPair> aliases = PlaceOutputs(o, outputs);
    Run run = originals_[o];
    run.recompute = again;
    for (const AliasPair& pair : aliases) {
      // Only inputs with a copy in the host tier; policies::RunInPlace finds the dropped ones.
      if (device_[pair.input].covered && device_[pair.input].copied) run.aliases.push_back(pair);
    }
    EndEvictions(outputs);
    for (const AliasPair& pair : aliases) device_.TakeOver(pair);
    clock_.Run(costs_.Seconds(o), device_.held() + costs_.Workspace(o));
    program_.runs.push_back(std::move(run));
    for (const TensorId t : operands_) {
      TensorState& state = device_[t];
      if (!again && Has(variant.writes, t)) state.copied = false;
      state.last = Count() - 1;
      if (state.covered || device_.UntilNeeded(t) == kNever) device_.Leave(t, state.last);
    }
    operands_.clear();
  }

  /// Makes room for outputs and workspace; returns which outputs lie on which inputs.
  ShortList<AliasPair> PlaceOutputs(OpId o, const Tensors& outputs) {
    std::vector<AliasPair> pairs = AliasPairs(VariantOf(o), outputs);
    std::vector<AliasPair> ending, covering;
    for (const AliasPair& pair : pairs) {
      if (device_.UntilNeeded(pair.input) == kNever) ending.push_back(pair);
    }
    ShortList<AliasPair> aliases = BestAliases(graph_, ending);
    for (const AliasPair& taken : aliases) {
      device_.Cover(taken.input);
      RemoveConflicts(taken, &pairs);
    }
    for (const AliasPair& pair : pairs) {
      const TensorState& input = device_[pair.input];
      const bool comes_back = input.copied || device_.HasProducer(pair.input);
      if (comes_back && input.pending == 0 && !graph_.tensors[pair.input].keep &&
          device_.UntilNeeded(pair.input) != kNever) {
        covering.push_back(pair);
      }
    }
    int64_t need = costs_.Workspace(o);
    for (const TensorId t : outputs) need += device_[t].size;
    for (const AliasPair& pair : aliases) need -= device_[pair.output].size;
    device_.MakeRoom(need, Count() - 1, operands_, covering, &aliases);
    return aliases;
  }

  /// Ends the evictions of the operands of the current run.
  void EndEvictions(const Tensors& outputs) {
    for (const TensorId t : operands_) {
      TensorState& state = device_[t];
      if (!state.fetched) continue;
      AddEviction(t, false);
      state.fetched = false;
      state.copied = true;
    }
    for (const TensorId t : outputs) {
      const TensorState& state = device_[t];
      if (state.last != kNone || graph_.tensors[t].is_state()) AddEviction(t, true);
      device_.Enter(t);
    }
  }

  /// Notes that the current run ends an eviction of `t`.
  void AddEviction(TensorId t, bool dropped) {
    const RunId last = device_[t].last;
    program_.tensors[t].evictions.push_back({last, last, Count(), Count(), dropped});
  }

  const Graph& graph_;
  const RunCosts costs_;
  const GreedyPolicy& policy_;
  const std::vector<Run>& originals_;
  const std::vector<OpId>& producers_;  ///< by tensor
  LinkClock clock_;
  DeviceState device_;
  std::vector<int64_t>
      visited_;       ///< by operation: the stamp of the RecomputeSeconds that last counted it
  Program program_;   ///< so far
  Tensors operands_;  ///< of the run at hand
  int64_t stamp_ = 0;
};

}  // namespace

std::optional<Program> EvictGreedily(const Graph& graph, const Machine& machine, const Start& start,
                                     int64_t capacity, const GreedyPolicy& policy) {
  Runner runner(graph, machine, start, capacity, policy);
  if (!runner.RunAll()) return std::nullopt;
  return runner.Take();
}

}  // namespace layrub::placement::search
