#include "layrub/placement/ir/lifetimes.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/ir/spill.hpp"
#include "layrub/placement/ir/uses.hpp"

namespace layrub::placement {
namespace {

/// Whether eviction.stays is valid for `tensor`.
bool CanStay(const Tensor& tensor, const Eviction& eviction) {
  if (eviction.stays == 0) return true;
  return eviction.stays > 0 && eviction.stays % kAlignment == 0 && eviction.stays < tensor.bytes &&
         !eviction.dropped && !tensor.keep && !tensor.is_state();
}

/// The tensors other than state that have a range at the end of the plan, after `run_count` runs.
std::vector<TensorId> FindReadable(const Graph& graph, const Lifetimes& lives, RunId run_count) {
  std::vector<TensorId> readable;
  for (const LiveInterval& interval : lives.intervals) {
    if (interval.end == run_count && !graph.tensors[interval.tensor].is_state())
      readable.push_back(interval.tensor);
  }
  for (const HostInterval& stay : lives.host) {
    if (stay.end == run_count && !stay.home) readable.push_back(stay.tensor);
  }
  std::sort(readable.begin(), readable.end());
  return readable;
}

/// Joins the intervals of outputs to those of the inputs on which they lie.
class Joiner {
 public:
  /// `first`: see Builder.
  Joiner(const Graph& graph, const Program& program, const UseLists& uses,
         const std::vector<int32_t>& first, Lifetimes* lives)
      : graph_(graph),
        program_(program),
        run_count_(static_cast<RunId>(program.runs.size())),
        uses_(uses),
        first_(first),
        lives_(*lives) {}

  Status JoinAliases() {
    for (RunId r = 0; r < run_count_; ++r) {
      for (const AliasPair& pair : program_.runs[r].aliases) {
        if (Status status = JoinAlias(r, pair); !status.ok()) return status;
      }
    }
    return Status::Ok();
  }

  /// Numbers the blocks, one for each chain of intervals. An input begins before its output, so
  /// chains are resolved in order of begin.
  void NumberBlocks() {
    std::vector<LiveInterval*> joined;
    for (LiveInterval& interval : lives_.intervals) {
      if (interval.on == kNone) {
        interval.block = lives_.blocks++;
      } else {
        joined.push_back(&interval);
      }
    }
    std::stable_sort(
        joined.begin(), joined.end(),
        [](const LiveInterval* a, const LiveInterval* b) { return a->begin < b->begin; });
    for (LiveInterval* interval : joined) {
      interval->block = IntervalAt(interval->on, interval->begin)->block;
    }
  }

 private:
  Status BadAlias(RunId r, const AliasPair& pair, const std::string& what) const {
    return Status::Invalid("operation " + graph_.ops[program_.runs[r].op].name + ": " +
                           graph_.tensors[pair.output].name + " cannot lie on " +
                           graph_.tensors[pair.input].name + ": " + what);
  }

  /// The interval of `t` that includes run `at`, or null.
  LiveInterval* IntervalAt(TensorId t, RunId at) {
    for (int32_t r = first_[t]; r < first_[t + 1]; ++r) {
      LiveInterval& interval = lives_.intervals[r];
      if (interval.begin <= at && at <= interval.end) return &interval;
    }
    return nullptr;
  }

  Status JoinAlias(RunId at, const AliasPair& pair) {
    const Variant& variant = VariantOf(graph_, program_.runs[at]);
    if (std::find(variant.may_alias.begin(), variant.may_alias.end(), pair) ==
        variant.may_alias.end()) {
      return BadAlias(at, pair, "variant '" + variant.name + "' does not allow it");
    }
    if (graph_.tensors[pair.output].is_state() || graph_.tensors[pair.input].is_state()) {
      return BadAlias(at, pair, "a state tensor shares its bytes with no other");
    }
    LiveInterval* output = IntervalAt(pair.output, at);
    LiveInterval* input = IntervalAt(pair.input, at);
    // A whole tensor has its range from the start of the plan, unless it lies on another tensor.
    const RunId begin = output == nullptr        ? kNone
                        : output->begin != kNone ? output->begin
                                                 : uses_[pair.output].front().run;
    if (begin != at || output->fetched_for != kNone) {
      return BadAlias(at, pair, "this operation is not where the output begins");
    }
    if (input == nullptr || (input->begin == at && input->fetched_for == kNone)) {
      return BadAlias(at, pair, "the input is not on the device before the operation");
    }
    if (output->on != kNone) return BadAlias(at, pair, "the output already lies on another tensor");
    if (Aligned(graph_.tensors[pair.output].bytes) > input->bytes) {
      return BadAlias(at, pair, "the output is larger");
    }
    if (std::find(variant.writes.begin(), variant.writes.end(), pair.input) !=
        variant.writes.end()) {
      return BadAlias(at, pair, "the operation writes both");
    }
    if (Status status = EndInput(at, pair, input); !status.ok()) return status;
    output->begin = at;
    output->on = pair.input;
    output->bytes = input->bytes;
    return Status::Ok();
  }

  /// Ends the interval of an input whose bytes run `at` overwrites. Fails if the value is still
  /// needed.
  Status EndInput(RunId at, const AliasPair& pair, LiveInterval* input) {
    const bool whole = program_.tensors[pair.input].whole;
    if (whole != program_.tensors[pair.output].whole) {
      return BadAlias(at, pair,
                      "one of them is resident for the whole iteration, the other is not");
    }
    if (whole && input->end == run_count_ && !graph_.tensors[pair.input].keep &&
        uses_[pair.input].back().run <= at) {
      input->end = at;
      return Status::Ok();
    }
    if (whole || input->end != at) {
      return BadAlias(at, pair, "the input's value is still needed, or another output lies on it");
    }
    for (const Run& other = program_.runs[at]; const AliasPair& taken : other.aliases) {
      if (taken.input == pair.input && taken.output != pair.output) {
        return BadAlias(at, pair, "another output lies on the input");
      }
    }
    const TensorProgram& program = program_.tensors[pair.input];
    if (program.evictions.empty()) return Status::Ok();
    const HostInterval* stay = FindHostInterval(lives_, pair.input);
    if (stay != nullptr &&
        std::find(stay->offloads.begin(), stay->offloads.end(), at) != stay->offloads.end()) {
      return BadAlias(at, pair, "the input is to be copied to the host after this operation");
    }
    for (const Eviction& eviction : program.evictions) {
      if (eviction.after == at && eviction.stays > 0)
        return BadAlias(at, pair, "a part of the input stays after this operation");
    }
    return Status::Ok();
  }

  const Graph& graph_;
  const Program& program_;
  const RunId run_count_;
  const UseLists& uses_;
  const std::vector<int32_t>& first_;
  Lifetimes& lives_;
};

class Builder {
 public:
  Builder(const Graph& graph, const Program& program, const UseLists& uses)
      : graph_(graph),
        program_(program),
        run_count_(static_cast<RunId>(program.runs.size())),
        uses_(uses),
        first_(graph.tensors.size() + 1) {
    for (RunId r = 0; r < run_count_; ++r) {
      if (program.runs[r].recompute) continue;
      const Pass pass = OpOf(r).pass;
      if (pass == Pass::kForward) last_of_pass_[0] = r;
      if (pass != Pass::kUpdate) last_of_pass_[1] = r;
    }
  }

  Result<Lifetimes> Build(int64_t host_bytes) {
    Status status = Status::Ok();
    lives_.intervals.reserve(graph_.tensors.size());
    for (TensorId t = 0; status.ok() && t < TensorCount(); ++t) {
      first_[t] = static_cast<int32_t>(lives_.intervals.size());
      status = AddTensor(t);
    }
    first_.back() = static_cast<int32_t>(lives_.intervals.size());
    Joiner joiner(graph_, program_, uses_, first_, &lives_);
    if (status.ok()) status = joiner.JoinAliases();
    if (!status.ok()) return status;
    AddWorkspace();
    joiner.NumberBlocks();
    lives_.readable = FindReadable(graph_, lives_, run_count_);
    SpillIntervals(graph_, program_, host_bytes, &lives_);
    return std::move(lives_);
  }

 private:
  TensorId TensorCount() const { return static_cast<TensorId>(graph_.tensors.size()); }
  const Op& OpOf(RunId r) const { return graph_.ops[program_.runs[r].op]; }
  const Variant& VariantOf(RunId r) const { return placement::VariantOf(graph_, program_.runs[r]); }

  Status BadTensor(TensorId t, const std::string& what) const {
    return Status::Invalid("tensor " + graph_.tensors[t].name + ": " + what);
  }
  void Add(TensorId t, RunId begin, RunId end, RunId fetched_for = kNone) {
    lives_.intervals.push_back(
        {t, begin, end, fetched_for, kNone, Aligned(graph_.tensors[t].bytes), kNone});
  }
  void AddPart(TensorId t, const Eviction& eviction) {
    lives_.intervals.push_back(
        {t, eviction.release + 1, eviction.prefetch - 1, kNone, kNone, eviction.stays, kNone});
  }

  Status AddTensor(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    const TensorProgram& program = program_.tensors[t];
    const std::span<const Use> uses = uses_[t];
    const bool stays = program.whole || StaysHome(tensor, program.home);
    if (program.home != StateHome::kDevice && (!tensor.is_state() || program.whole))
      return BadTensor(t, "its home has to be on the device");
    if (program.home == StateHome::kInPlace && !tensor.host_access)
      return BadTensor(t, "operations cannot use it in host memory");
    if (!program.evictions.empty() && stays)
      return BadTensor(t, "it stays where it is, so it cannot have an eviction");
    if (!Materialised(tensor, uses)) {
      if (!program.evictions.empty())
        return BadTensor(t, "it has an eviction but no bytes under this plan");
      if (tensor.keep) return BadTensor(t, "it is marked keep but nothing writes it");
      return Status::Ok();
    }
    if (!tensor.is_state() && uses.front().reads) {
      return BadTensor(t, OpOf(uses.front().run).name +
                              " reads it, but no chosen variant has written it before");
    }
    if (stays && program.home == StateHome::kDevice) {
      Add(t, kNone, run_count_);
      return Status::Ok();
    }
    if (!uses.empty() && !stays) return AddEvictions(t);
    AddHome({t, {}, kNone});
    return Status::Ok();
  }

  /// Whether the eviction lasts across the end of the forward or the backward pass.
  bool LastsAcrossPassEnd(const Eviction& eviction) const {
    return std::any_of(last_of_pass_.begin(), last_of_pass_.end(), [&eviction](RunId last) {
      return eviction.release <= last && last < eviction.before;
    });
  }

  void AddHome(HostInterval stay) {
    stay.end = run_count_;
    stay.home = true;
    lives_.host.push_back(std::move(stay));
  }

  Status AddEvictions(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    const ShortList<Eviction>& evictions = program_.tensors[t].evictions;
    const std::span<const Use> uses = uses_[t];
    if (tensor.is_state() && (evictions.empty() || evictions.front().after != kNone ||
                              evictions.back().before != run_count_)) {
      return BadTensor(t, "its home is off the device, so it has to begin and to end there");
    }
    const std::vector<Run>& runs = program_.runs;
    HostInterval stay{t, FindOffloads(tensor, uses, runs, evictions), kNone, tensor.bytes};
    const auto host_has_value = [&](RunId run) {
      return HostHasValue(tensor, uses, runs, stay.offloads, run);
    };
    RunId begin = uses.front().run;
    RunId fetched_for = kNone;
    // A drop although the tensor must be readable between the passes. That is right only if the
    // host tier has its value and keeps it.
    const Eviction* unreadable = nullptr;
    bool readable = true;
    for (const Eviction& eviction : evictions) {
      const auto use = std::find_if(uses.begin(), uses.end(),
                                    [&](const Use& one) { return one.run > eviction.after; });
      if (Status status = CheckEviction(t, eviction, begin, use); !status.ok()) return status;
      if (eviction.after != kNone) Add(t, begin, eviction.release, fetched_for);
      if (eviction.stays > 0) AddPart(t, eviction);
      begin = eviction.before == run_count_ ? kNone : eviction.prefetch;
      fetched_for = eviction.dropped ? kNone : eviction.before;
      if (!eviction.dropped) {
        stay.from = std::min(stay.from, eviction.stays);
        stay.end = eviction.prefetch;
      } else if ((tensor.keep || tensor.is_state()) && LastsAcrossPassEnd(eviction)) {
        unreadable = &eviction;
        readable = readable && host_has_value(eviction.after);
      }
    }
    RunId end = uses.back().run;
    const bool host_is_valid = host_has_value(end);
    if (tensor.keep && begin != kNone) (host_is_valid ? stay.end : end) = run_count_;
    if (unreadable != nullptr && !(readable && host_is_valid)) {
      const RunId after = unreadable->after;
      return BadTensor(t, std::string("it is ") + (tensor.keep ? "marked keep" : "state") +
                              ", so it must be readable between the passes, but it is dropped " +
                              (after == kNone ? "at the start" : "after " + OpOf(after).name));
    }
    if (begin != kNone) Add(t, begin, end, fetched_for);
    if (tensor.is_state()) {
      AddHome(std::move(stay));
    } else if (!stay.offloads.empty()) {
      lives_.host.push_back(std::move(stay));
    }
    return Status::Ok();
  }

  /// Checks an eviction of `t`, which is on the device from run `begin` on; `use` is the first use
  /// after the eviction.
  Status CheckEviction(TensorId t, const Eviction& eviction, RunId begin,
                       std::span<const Use>::iterator use) const {
    const Tensor& tensor = graph_.tensors[t];
    const std::span<const Use> uses = uses_[t];
    const bool starts = eviction.after == kNone && tensor.is_state();
    const bool ends = eviction.before == run_count_ && (tensor.is_state() || tensor.keep);
    const auto where = [&] {
      return starts ? std::string("at the start") : "after " + OpOf(eviction.after).name;
    };
    const bool follows =
        starts ? use == uses.begin() && eviction.release == kNone
               : use != uses.begin() && (use - 1)->run == eviction.after && eviction.after >= begin;
    if (!follows || (ends ? use != uses.end() : use == uses.end() || use->run != eviction.before)) {
      return BadTensor(t, "an eviction does not lie between two uses of it that follow each other");
    }
    if (eviction.release < eviction.after || eviction.prefetch <= eviction.release ||
        eviction.before < eviction.prefetch) {
      return BadTensor(t, "the eviction " + where() +
                              " is not in the order after <= release < prefetch <= before");
    }
    if (eviction.dropped && ends)
      return BadTensor(t, "it is dropped at the end, though it is needed");
    if (eviction.dropped && (use->reads || !use->writes)) {
      return BadTensor(t, OpOf(eviction.before).name + " needs its value, which was dropped");
    }
    if (!CanStay(tensor, eviction)) {
      return BadTensor(t, "its first " + std::to_string(eviction.stays) +
                              " bytes cannot stay in the eviction " + where());
    }
    return Status::Ok();
  }

  void AddWorkspace() {
    for (RunId r = 0; r < run_count_; ++r) {
      const std::vector<Algorithm>& algorithms = VariantOf(r).algorithms;
      if (algorithms.empty()) continue;
      const TensorId t = algorithms[program_.runs[r].algorithm].workspace;
      if (t != kNone) Add(t, r, r);
    }
  }

  const Graph& graph_;
  const Program& program_;
  const RunId run_count_;
  const UseLists& uses_;
  std::array<RunId, 2> last_of_pass_{
      kNone, kNone};  ///< the last run of the forward pass, and of the forward and backward passes
  std::vector<int32_t> first_;  ///< first_[t] .. first_[t + 1]: the intervals of tensor t
  Lifetimes lives_;
};

}  // namespace

const HostInterval* FindHostInterval(const Lifetimes& lives, TensorId t) {
  const auto found =
      std::lower_bound(lives.host.begin(), lives.host.end(), t,
                       [](const HostInterval& stay, TensorId of) { return stay.tensor < of; });
  return found == lives.host.end() || found->tensor != t ? nullptr : &*found;
}

Result<Lifetimes> FindLifetimes(const Graph& graph, const Program& program, int64_t host_bytes) {
  if (program.tensors.size() != graph.tensors.size()) {
    return Status::Invalid("the program is for another graph: it has " +
                           std::to_string(program.tensors.size()) + " tensors");
  }
  if (Status status = CheckProgram(graph, program.runs); !status.ok()) return status;
  return FindLifetimes(graph, program, FindUses(graph, program.runs), host_bytes);
}

Result<Lifetimes> FindLifetimes(const Graph& graph, const Program& program, const UseLists& uses,
                                int64_t host_bytes) {
  return Builder(graph, program, uses).Build(host_bytes);
}

}  // namespace layrub::placement
