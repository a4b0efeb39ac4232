#include "layrub/placement/lifetimes.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

class Builder {
 public:
  Builder(const Graph& graph, const Decision& decision)
      : graph_(graph),
        decision_(decision),
        op_count_(static_cast<OpId>(graph.ops.size())),
        first_(graph.tensors.size() + 1) {}

  Result<Lifetimes> Run() {
    Status status = CheckOps();
    if (status.ok()) uses_ = FindUses(graph_, decision_.ops);
    for (TensorId t = 0; status.ok() && t < TensorCount(); ++t) {
      first_[t] = static_cast<int32_t>(lives_.residences.size());
      status = AddTensor(t);
    }
    first_.back() = static_cast<int32_t>(lives_.residences.size());
    for (OpId o = 0; status.ok() && o < op_count_; ++o) {
      for (const AliasPair& pair : decision_.ops[o].aliases) {
        if (status.ok()) status = JoinAlias(o, pair);
      }
    }
    if (!status.ok()) return status;
    AddScratch();
    NumberBlocks();
    FindReadable();
    return std::move(lives_);
  }

 private:
  TensorId TensorCount() const { return static_cast<TensorId>(graph_.tensors.size()); }
  const Form& FormOf(OpId o) const { return graph_.ops[o].forms[decision_.ops[o].form]; }

  Status BadTensor(TensorId t, const std::string& what) const {
    return Status::Invalid("tensor " + graph_.tensors[t].name + ": " + what);
  }
  Status BadAlias(OpId o, const AliasPair& pair, const std::string& what) const {
    return Status::Invalid("operation " + graph_.ops[o].name + ": " +
                           graph_.tensors[pair.output].name + " cannot lie on " +
                           graph_.tensors[pair.input].name + ": " + what);
  }

  Status CheckOps() const {
    if (decision_.ops.size() != graph_.ops.size() ||
        decision_.tensors.size() != graph_.tensors.size()) {
      return Status::Invalid("the decision is for another graph: it has " +
                             std::to_string(decision_.ops.size()) + " operations and " +
                             std::to_string(decision_.tensors.size()) + " tensors");
    }
    for (OpId o = 0; o < op_count_; ++o) {
      const Op& op = graph_.ops[o];
      const OpDecision& chosen = decision_.ops[o];
      if (chosen.form < 0 || chosen.form >= static_cast<int32_t>(op.forms.size())) {
        return Status::Invalid("operation " + op.name + ": it has no form " +
                               std::to_string(chosen.form));
      }
      const auto variants = static_cast<int32_t>(op.forms[chosen.form].scratch.size());
      if (chosen.scratch < 0 || chosen.scratch >= std::max(variants, 1)) {
        return Status::Invalid("operation " + op.name + ": it has no scratch variant " +
                               std::to_string(chosen.scratch));
      }
    }
    return Status::Ok();
  }

  void Add(TensorId t, OpId begin, OpId end, bool fetched = false) {
    lives_.residences.push_back(
        {t, begin, end, fetched, kNone, Aligned(graph_.tensors[t].bytes), kNone});
  }

  Status AddTensor(TensorId t) {
    const Tensor& tensor = graph_.tensors[t];
    const TensorDecision& decision = decision_.tensors[t];
    const std::vector<Use>& uses = uses_[t];
    if (!decision.gaps.empty() && (tensor.persistent || decision.whole)) {
      return BadTensor(t, "it stays resident, so it cannot have a gap");
    }
    if (!Materialised(tensor, uses)) {
      if (!decision.gaps.empty()) return BadTensor(t, "it has a gap but no bytes under this plan");
      if (tensor.keep) return BadTensor(t, "it is marked keep but nothing writes it");
      return Status::Ok();
    }
    if (!tensor.persistent && uses.front().reads) {
      return BadTensor(t, graph_.ops[uses.front().op].name +
                              " reads it, but no chosen form has written it before");
    }
    if (tensor.persistent || decision.whole) {
      Add(t, kNone, op_count_);
      return Status::Ok();
    }
    return AddGaps(t);
  }

  Status AddGaps(TensorId t) {
    const std::vector<Gap>& gaps = decision_.tensors[t].gaps;
    const std::vector<Use>& uses = uses_[t];
    OpId begin = uses.front().op;
    HostStay stay{t, {}, kNone};
    auto use = uses.begin();
    OpId last_write = kNone;
    for (const Gap& gap : gaps) {
      for (; use != uses.end() && use->op <= gap.after; ++use) {
        if (use->writes) last_write = use->op;
      }
      if (use == uses.begin() || use == uses.end() || (use - 1)->op != gap.after ||
          use->op != gap.before || gap.after < begin) {
        return BadTensor(t, "a gap does not lie between two uses of it that follow each other");
      }
      if (gap.release < gap.after || gap.prefetch <= gap.release || gap.before < gap.prefetch) {
        return BadTensor(t, "the gap after " + graph_.ops[gap.after].name +
                                " is not in the order after <= release < prefetch <= before");
      }
      if (stay.offloads.empty() || last_write > stay.offloads.back()) {
        stay.offloads.push_back(gap.after);
      }
      Add(t, begin, gap.release, &gap != &gaps.front());
      begin = gap.prefetch;
      stay.end = gap.prefetch;
    }
    for (; use != uses.end(); ++use) {
      if (use->writes) last_write = use->op;
    }
    OpId end = uses.back().op;
    if (graph_.tensors[t].keep) {
      const bool host_is_valid = !gaps.empty() && last_write <= stay.offloads.back();
      (host_is_valid ? stay.end : end) = op_count_;
    }
    Add(t, begin, end, !gaps.empty());
    if (!gaps.empty()) lives_.host.push_back(std::move(stay));
    return Status::Ok();
  }

  /// The residence of `t` that takes part in operation `o`, or null.
  Residence* ResidenceAt(TensorId t, OpId o) {
    for (int32_t r = first_[t]; r < first_[t + 1]; ++r) {
      Residence& residence = lives_.residences[r];
      if (residence.begin <= o && o <= residence.end) return &residence;
    }
    return nullptr;
  }

  Status JoinAlias(OpId o, const AliasPair& pair) {
    const Form& form = FormOf(o);
    if (std::find(form.may_alias.begin(), form.may_alias.end(), pair) == form.may_alias.end()) {
      return BadAlias(o, pair, "form '" + form.name + "' does not allow it");
    }
    if (graph_.tensors[pair.output].persistent || graph_.tensors[pair.input].persistent) {
      return BadAlias(o, pair, "a persistent tensor shares its bytes with no other");
    }
    Residence* output = ResidenceAt(pair.output, o);
    Residence* input = ResidenceAt(pair.input, o);
    if (output == nullptr || output->fetched || uses_[pair.output].front().op != o) {
      return BadAlias(o, pair, "this operation is not where the output begins");
    }
    if (input == nullptr || (input->begin == o && !input->fetched)) {
      return BadAlias(o, pair, "the input is not on the device before the operation");
    }
    if (output->on != kNone) return BadAlias(o, pair, "the output already lies on another tensor");
    if (Aligned(graph_.tensors[pair.output].bytes) > input->bytes) {
      return BadAlias(o, pair, "the output is larger");
    }
    if (std::find(form.writes.begin(), form.writes.end(), pair.input) != form.writes.end()) {
      return BadAlias(o, pair, "the operation writes both");
    }
    if (Status status = EndInput(o, pair, input); !status.ok()) return status;
    output->begin = o;
    output->on = pair.input;
    output->bytes = input->bytes;
    return Status::Ok();
  }

  /// Ends the residence of an input whose bytes operation `o` overwrites, provided that nobody
  /// misses the value.
  Status EndInput(OpId o, const AliasPair& pair, Residence* input) {
    const bool whole = decision_.tensors[pair.input].whole;
    if (whole != decision_.tensors[pair.output].whole) {
      return BadAlias(o, pair, "one of them is resident for the whole iteration, the other is not");
    }
    if (whole && input->end == op_count_ && !graph_.tensors[pair.input].keep &&
        uses_[pair.input].back().op <= o) {
      input->end = o;
      return Status::Ok();
    }
    if (whole || input->end != o) {
      return BadAlias(o, pair, "the input's value is still needed, or another output lies on it");
    }
    for (const OpDecision& other = decision_.ops[o]; const AliasPair& taken : other.aliases) {
      if (taken.input == pair.input && taken.output != pair.output) {
        return BadAlias(o, pair, "another output lies on the input");
      }
    }
    const auto stay = std::lower_bound(lives_.host.begin(), lives_.host.end(), pair.input,
                                       [](const HostStay& a, TensorId t) { return a.tensor < t; });
    if (stay != lives_.host.end() && stay->tensor == pair.input &&
        std::find(stay->offloads.begin(), stay->offloads.end(), o) != stay->offloads.end()) {
      return BadAlias(o, pair, "the input is to be copied to the host after this operation");
    }
    return Status::Ok();
  }

  void AddScratch() {
    for (OpId o = 0; o < op_count_; ++o) {
      const std::vector<Scratch>& variants = FormOf(o).scratch;
      if (variants.empty()) continue;
      const TensorId t = variants[decision_.ops[o].scratch].tensor;
      if (t != kNone) Add(t, o, o);
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

  void FindReadable() {
    for (const Residence& residence : lives_.residences) {
      if (residence.end == op_count_ && !graph_.tensors[residence.tensor].persistent) {
        lives_.readable.push_back(residence.tensor);
      }
    }
    for (const HostStay& stay : lives_.host) {
      if (stay.end == op_count_) lives_.readable.push_back(stay.tensor);
    }
    std::sort(lives_.readable.begin(), lives_.readable.end());
  }

  const Graph& graph_;
  Decision decision_;
  const OpId op_count_;
  UseLists uses_;
  std::vector<int32_t> first_;  ///< first_[t] .. first_[t + 1]: the residences of tensor t
  Lifetimes lives_;
};

}  // namespace

Result<Lifetimes> FindLifetimes(const Graph& graph, const Decision& decision) {
  return Builder(graph, decision).Run();
}

}  // namespace layrub
