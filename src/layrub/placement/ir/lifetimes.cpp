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

/// Whether the first bytes of `tensor` may stay in `gap` as it says.
bool CanStay(const Tensor& tensor, const Gap& gap) {
  if (gap.stays == 0) return true;
  return gap.stays > 0 && gap.stays % kAlignment == 0 && gap.stays < tensor.bytes && !gap.dropped &&
         !tensor.keep && !tensor.is_state();
}

/// What is there at the end of the plan, `run_count`, and is not state.
std::vector<TensorId> FindReadable(const Graph& graph, const Lifetimes& lives, RunId run_count) {
  std::vector<TensorId> readable;
  for (const Residence& residence : lives.residences) {
    if (residence.end == run_count && !graph.tensors[residence.tensor].is_state())
      readable.push_back(residence.tensor);
  }
  for (const HostStay& stay : lives.host) {
    if (stay.end == run_count && !stay.home) readable.push_back(stay.tensor);
  }
  std::sort(readable.begin(), readable.end());
  return readable;
}

class Builder {
 public:
  Builder(const Graph& graph, const Decision& decision, const UseLists& uses)
      : graph_(graph),
        decision_(decision),
        run_count_(static_cast<RunId>(decision.runs.size())),
        uses_(uses),
        first_(graph.tensors.size() + 1) {
    for (RunId r = 0; r < run_count_; ++r) {
      if (decision.runs[r].recompute) continue;
      const Pass pass = OpOf(r).pass;
      if (pass == Pass::kForward) last_of_pass_[0] = r;
      if (pass != Pass::kUpdate) last_of_pass_[1] = r;
    }
  }

  Result<Lifetimes> Build() {
    Status status = Status::Ok();
    lives_.residences.reserve(graph_.tensors.size());
    for (TensorId t = 0; status.ok() && t < TensorCount(); ++t) {
      first_[t] = static_cast<int32_t>(lives_.residences.size());
      status = AddTensor(t);
    }
    first_.back() = static_cast<int32_t>(lives_.residences.size());
    for (RunId r = 0; status.ok() && r < run_count_; ++r) {
      for (const AliasPair& pair : decision_.runs[r].aliases) {
        if (status.ok()) status = JoinAlias(r, pair);
      }
    }
    if (!status.ok()) return status;
    AddScratch();
    NumberBlocks();
    lives_.readable = FindReadable(graph_, lives_, run_count_);
    SpillStays(graph_, decision_, decision_.host_bytes, &lives_);
    return std::move(lives_);
  }

 private:
  TensorId TensorCount() const { return static_cast<TensorId>(graph_.tensors.size()); }
  const Op& OpOf(RunId r) const { return graph_.ops[decision_.runs[r].op]; }
  const Form& FormOf(RunId r) const { return placement::FormOf(graph_, decision_.runs[r]); }

  Status BadTensor(TensorId t, const std::string& what) const {
    return Status::Invalid("tensor " + graph_.tensors[t].name + ": " + what);
  }
  Status BadAlias(RunId r, const AliasPair& pair, const std::string& what) const {
    return Status::Invalid("operation " + OpOf(r).name + ": " + graph_.tensors[pair.output].name +
                           " cannot lie on " + graph_.tensors[pair.input].name + ": " + what);
  }

  void Add(TensorId t, RunId begin, RunId end, RunId fetched_for = kNone) {
    lives_.residences.push_back(
        {t, begin, end, fetched_for, kNone, Aligned(graph_.tensors[t].bytes), false, kNone});
  }
  void AddPart(TensorId t, const Gap& gap) {
    lives_.residences.push_back(
        {t, gap.release, gap.prefetch, kNone, kNone, gap.stays, true, kNone});
  }

  Status AddTensor(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    const TensorDecision& decision = decision_.tensors[t];
    const std::span<const Use> uses = uses_[t];
    const bool resident = decision.whole || IsResident(tensor, decision.home);
    if (decision.home != Tier::kDevice && (!tensor.is_state() || decision.whole))
      return BadTensor(t, "its home has to be on the device");
    if (!decision.gaps.empty() && resident)
      return BadTensor(t, "it stays resident, so it cannot have a gap");
    if (!Materialised(tensor, uses)) {
      if (!decision.gaps.empty()) return BadTensor(t, "it has a gap but no bytes under this plan");
      if (tensor.keep) return BadTensor(t, "it is marked keep but nothing writes it");
      return Status::Ok();
    }
    if (!tensor.is_state() && uses.front().reads) {
      return BadTensor(
          t, OpOf(uses.front().run).name + " reads it, but no chosen form has written it before");
    }
    if (resident) {
      Add(t, kNone, run_count_);
      return Status::Ok();
    }
    if (!uses.empty()) return AddGaps(t);
    AddHome({t, {}, kNone});
    return Status::Ok();
  }

  /// Nothing of the tensor is on the device when the forward or the backward pass ends.
  bool IsAwayBetweenPasses(const Gap& gap) const {
    return std::any_of(last_of_pass_.begin(), last_of_pass_.end(),
                       [&gap](RunId last) { return gap.release <= last && last < gap.before; });
  }

  void AddHome(HostStay stay) {
    stay.end = run_count_;
    stay.home = true;
    lives_.host.push_back(std::move(stay));
  }

  Status AddGaps(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    const ShortList<Gap>& gaps = decision_.tensors[t].gaps;
    const std::span<const Use> uses = uses_[t];
    if (tensor.is_state() &&
        (gaps.empty() || gaps.front().after != kNone || gaps.back().before != run_count_)) {
      return BadTensor(t, "its home is off the device, where it has to begin and to end");
    }
    RunId begin = uses.front().run;
    RunId fetched_for = kNone;
    HostStay stay{t, {}, kNone};
    auto use = uses.begin();
    RunId last_write = kNone;
    // The run up to which the host tier has what is written; kNone: what there was at the start.
    RunId saved = tensor.is_state() ? kNone : kNone - 1;
    // After which run it is dropped, though it is to be readable between the passes; that is right
    // only if its value is in the host tier, and stays there.
    RunId unreadable_after = kNone - 1;
    bool copied = true;
    // A recomputation writes the value that its host copy has.
    const auto pass_use = [&] {
      if (use->writes && !decision_.runs[use->run].recompute) last_write = use->run;
      ++use;
    };
    for (const Gap& gap : gaps) {
      while (use != uses.end() && use->run <= gap.after) pass_use();
      const bool starts = gap.after == kNone, ends = gap.before == run_count_;
      if (Status status = CheckGap(t, gap, begin, use); !status.ok()) return status;
      if (gap.dropped && (tensor.keep || tensor.is_state()) && IsAwayBetweenPasses(gap)) {
        unreadable_after = gap.after;
        copied = copied && last_write <= saved;
      }
      if (!gap.dropped) {
        stay.from = stay.offloads.empty() ? gap.stays : std::min(stay.from, gap.stays);
        if (last_write > saved) stay.offloads.push_back(saved = gap.after);
      }
      if (!starts) Add(t, begin, gap.release, fetched_for);
      if (gap.stays > 0) AddPart(t, gap);
      begin = gap.prefetch;
      fetched_for = gap.dropped ? kNone : gap.before;
      if (!gap.dropped) stay.end = gap.prefetch;
      if (ends) begin = kNone;
    }
    while (use != uses.end()) pass_use();
    RunId end = uses.back().run;
    const bool host_is_valid = last_write <= saved;
    if (tensor.keep && begin != kNone) (host_is_valid ? stay.end : end) = run_count_;
    if (unreadable_after >= kNone && !(copied && host_is_valid)) {
      return BadTensor(t, std::string("it is ") + (tensor.keep ? "marked keep" : "state") +
                              ", so it must be readable between the passes, but it is dropped " +
                              (unreadable_after == kNone ? "at the start"
                                                         : "after " + OpOf(unreadable_after).name));
    }
    if (begin != kNone) Add(t, begin, end, fetched_for);
    if (tensor.is_state()) {
      AddHome(std::move(stay));
    } else if (!stay.offloads.empty()) {
      lives_.host.push_back(std::move(stay));
    }
    return Status::Ok();
  }

  /// A gap of `t`, which is on the device from run `begin` on; `use` is its first use after it.
  Status CheckGap(TensorId t, const Gap& gap, RunId begin,
                  std::span<const Use>::iterator use) const {
    const Tensor& tensor = graph_.tensors[t];
    const std::span<const Use> uses = uses_[t];
    const bool starts = gap.after == kNone && tensor.is_state();
    const bool ends = gap.before == run_count_ && (tensor.is_state() || tensor.keep);
    const auto where = [&] {
      return starts ? std::string("at the start") : "after " + OpOf(gap.after).name;
    };
    const bool follows =
        starts ? use == uses.begin() && gap.release == kNone
               : use != uses.begin() && (use - 1)->run == gap.after && gap.after >= begin;
    if (!follows || (ends ? use != uses.end() : use == uses.end() || use->run != gap.before)) {
      return BadTensor(t, "a gap does not lie between two uses of it that follow each other");
    }
    if (gap.release < gap.after || gap.prefetch <= gap.release || gap.before < gap.prefetch) {
      return BadTensor(
          t, "the gap " + where() + " is not in the order after <= release < prefetch <= before");
    }
    if (gap.dropped && ends) return BadTensor(t, "it is dropped at the end, though it is needed");
    if (gap.dropped && (use->reads || !use->writes)) {
      return BadTensor(t, OpOf(gap.before).name + " needs its value, which was dropped");
    }
    if (!CanStay(tensor, gap)) {
      return BadTensor(
          t, "its first " + std::to_string(gap.stays) + " bytes cannot stay in the gap " + where());
    }
    return Status::Ok();
  }

  /// The residence of `t` that takes part in run `at`, or null.
  Residence* ResidenceAt(TensorId t, RunId at) {
    for (int32_t r = first_[t]; r < first_[t + 1]; ++r) {
      Residence& residence = lives_.residences[r];
      if (!residence.part && residence.begin <= at && at <= residence.end) return &residence;
    }
    return nullptr;
  }

  Status JoinAlias(RunId at, const AliasPair& pair) {
    const Form& form = FormOf(at);
    if (std::find(form.may_alias.begin(), form.may_alias.end(), pair) == form.may_alias.end()) {
      return BadAlias(at, pair, "form '" + form.name + "' does not allow it");
    }
    if (graph_.tensors[pair.output].is_state() || graph_.tensors[pair.input].is_state()) {
      return BadAlias(at, pair, "a state tensor shares its bytes with no other");
    }
    Residence* output = ResidenceAt(pair.output, at);
    Residence* input = ResidenceAt(pair.input, at);
    // A whole tensor has its bytes from the start of the plan, unless it lies on another.
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
    if (std::find(form.writes.begin(), form.writes.end(), pair.input) != form.writes.end()) {
      return BadAlias(at, pair, "the operation writes both");
    }
    if (Status status = EndInput(at, pair, input); !status.ok()) return status;
    output->begin = at;
    output->on = pair.input;
    output->bytes = input->bytes;
    return Status::Ok();
  }

  /// Ends the residence of an input whose bytes run `at` overwrites, provided that nobody
  /// misses the value.
  Status EndInput(RunId at, const AliasPair& pair, Residence* input) {
    const bool whole = decision_.tensors[pair.input].whole;
    if (whole != decision_.tensors[pair.output].whole) {
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
    for (const Run& other = decision_.runs[at]; const AliasPair& taken : other.aliases) {
      if (taken.input == pair.input && taken.output != pair.output) {
        return BadAlias(at, pair, "another output lies on the input");
      }
    }
    const TensorDecision& decision = decision_.tensors[pair.input];
    if (decision.gaps.empty()) return Status::Ok();
    const auto stay = std::lower_bound(lives_.host.begin(), lives_.host.end(), pair.input,
                                       [](const HostStay& a, TensorId t) { return a.tensor < t; });
    if (stay != lives_.host.end() && stay->tensor == pair.input &&
        std::find(stay->offloads.begin(), stay->offloads.end(), at) != stay->offloads.end()) {
      return BadAlias(at, pair, "the input is to be copied to the host after this operation");
    }
    for (const Gap& gap : decision.gaps) {
      if (gap.after == at && gap.stays > 0)
        return BadAlias(at, pair, "a part of the input stays after this operation");
    }
    return Status::Ok();
  }

  void AddScratch() {
    for (RunId r = 0; r < run_count_; ++r) {
      const std::vector<Scratch>& variants = FormOf(r).scratch;
      if (variants.empty()) continue;
      const TensorId t = variants[decision_.runs[r].scratch].tensor;
      if (t != kNone) Add(t, r, r);
    }
  }

  /// One number for each chain of residences. An input begins before its output, so chains resolve
  /// in order of begin.
  void NumberBlocks() {
    std::vector<Residence*> joined;
    for (Residence& residence : lives_.residences) {
      if (residence.on == kNone) {
        residence.block = lives_.blocks++;
      } else {
        joined.push_back(&residence);
      }
    }
    std::stable_sort(joined.begin(), joined.end(),
                     [](const Residence* a, const Residence* b) { return a->begin < b->begin; });
    for (Residence* residence : joined) {
      residence->block = ResidenceAt(residence->on, residence->begin)->block;
    }
  }

  const Graph& graph_;
  const Decision& decision_;
  const RunId run_count_;
  const UseLists& uses_;
  std::array<RunId, 2> last_of_pass_{kNone, kNone};  ///< up to the forward's end, the backward's
  std::vector<int32_t> first_;  ///< first_[t] .. first_[t + 1]: the residences of tensor t
  Lifetimes lives_;
};

}  // namespace

Result<Lifetimes> FindLifetimes(const Graph& graph, const Decision& decision) {
  if (decision.tensors.size() != graph.tensors.size()) {
    return Status::Invalid("the decision is for another graph: it has " +
                           std::to_string(decision.tensors.size()) + " tensors");
  }
  if (Status status = CheckProgram(graph, decision.runs); !status.ok()) return status;
  return FindLifetimes(graph, decision, FindUses(graph, decision.runs));
}

Result<Lifetimes> FindLifetimes(const Graph& graph, const Decision& decision,
                                const UseLists& uses) {
  return Builder(graph, decision, uses).Build();
}

void Retime(const Decision& decision, Lifetimes* lives) {
  const auto to_the_end = static_cast<RunId>(decision.runs.size());
  for (size_t r = 0; r < lives->residences.size();) {
    RunId before = kNone;
    for (const Gap& gap : decision.tensors[lives->residences[r].tensor].gaps) {
      if (gap.after != kNone) lives->residences[r++].end = gap.release;
      before = gap.before;
      if (before == to_the_end) break;
      if (gap.stays > 0) {
        lives->residences[r].begin = gap.release;
        lives->residences[r++].end = gap.prefetch;
      }
      lives->residences[r].begin = gap.prefetch;
    }
    if (before != to_the_end) ++r;
  }
  for (HostStay& stay : lives->host) {
    for (const Gap& gap : decision.tensors[stay.tensor].gaps) {
      if (!gap.dropped && stay.end != to_the_end) stay.end = gap.prefetch;
    }
  }
}

}  // namespace layrub::placement
