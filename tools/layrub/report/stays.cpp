#include "layrub/report/stays.hpp"

#include <algorithm>
#include <utility>

namespace layrub_tool {

using layrub::Graph;
using layrub::kNone;
using layrub::Plan;
using layrub::Role;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;
using layrub::Tier;

namespace {

/// Bytes of a tier, given back with the last tensor that is bound to them.
struct Range {
  int64_t offset = 0;
  int64_t bytes = 0;
  int bound = 0;
  Role role = Role::kActivation;  ///< of the tensor that was bound last
};

class Walk {
 public:
  Walk(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    for (std::vector<int>& open : open_) open.assign(graph.tensors.size(), kNone);
  }

  Stays Do() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      EndPasses(static_cast<int>(i));
      Apply(plan_.steps[i]);
    }
    EndPasses(static_cast<int>(plan_.steps.size()));
    for (const std::vector<int>& open : open_) {
      for (const int stay : open) {
        if (stay != kNone) Close(stay);
      }
    }
    return std::move(out_);
  }

 private:
  int now() const { return static_cast<int>(out_.runs.size()); }
  int& Open(Tier tier, TensorId t) { return open_[Index(tier)][t]; }
  Stay& StayOf(Tier tier, TensorId t) { return out_.stays[Open(tier, t)]; }

  void EndPasses(int step) {
    for (; passes_ < out_.pass_end.size() && plan_.pass_end[passes_] <= step; ++passes_)
      out_.pass_end[passes_] = now();
  }

  void Apply(const Step& step) {
    switch (step.kind) {
      case StepKind::kAlloc:
        if (Open(step.tier, step.tensor) != kNone) Free(step.tier, step.tensor);  // a part
        Begin(step.tier, step.tensor, AddRange(step.offset, graph_.tensors[step.tensor].bytes));
        break;
      case StepKind::kFree:
        FreeAllBut(step);
        break;
      case StepKind::kAlias:
        Alias(step);
        break;
      case StepKind::kMove:
        Move(step);
        break;
      case StepKind::kOffload:
      case StepKind::kPrefetch:
        AddCopy(step);
        break;
      case StepKind::kWait:
        break;
      default:
        AddRun(step);
    }
  }

  int AddRange(int64_t offset, int64_t bytes) {
    ranges_.push_back({offset, bytes, 0});
    return static_cast<int>(ranges_.size()) - 1;
  }

  void Begin(Tier tier, TensorId t, int range_index) {
    Range& range = ranges_[range_index];
    const int64_t bytes = std::min(graph_.tensors[t].bytes, range.bytes);
    Open(tier, t) = static_cast<int>(out_.stays.size());
    out_.stays.push_back({t, tier, range.offset, bytes, now()});
    range_of_.push_back(range_index);
    if (tier == Tier::kDevice && range.bound > 0) Count(range, -1);
    range.role = graph_.tensors[t].role;
    ++range.bound;
    if (tier == Tier::kDevice) Count(range, 1);
  }

  void Free(Tier tier, TensorId t) {
    const int stay = Open(tier, t);
    Close(stay);
    Range& range = ranges_[range_of_[stay]];
    if (--range.bound == 0 && tier == Tier::kDevice) Count(range, -1);
    Open(tier, t) = kNone;
  }

  void FreeAllBut(const Step& step) {
    const int64_t offset = StayOf(step.tier, step.tensor).offset;
    Free(step.tier, step.tensor);
    if (step.bytes > 0) Begin(step.tier, step.tensor, AddRange(offset, step.bytes));
  }

  void Alias(const Step& step) {
    const int below = Open(Tier::kDevice, step.on);
    Use(&out_.stays[below], now(), now());  // by the operation that puts its output there
    Close(below);
    Begin(Tier::kDevice, step.tensor, range_of_[below]);
  }

  void Move(const Step& step) {
    Use(&StayOf(Tier::kDevice, step.tensor), now(), now());
    Free(Tier::kDevice, step.tensor);
    Begin(Tier::kDevice, step.tensor, AddRange(step.offset, MovedBytes(graph_, step)));
    Use(&StayOf(Tier::kDevice, step.tensor), now(), now());
  }

  void AddCopy(const Step& step) {
    const bool to_host = step.kind == StepKind::kOffload;
    const Tier source = to_host ? Tier::kDevice : Tier::kHost;
    const Tier target = to_host ? Tier::kHost : Tier::kDevice;
    Use(&StayOf(source, step.tensor), now(), -1);  // until the range is freed
    Use(&StayOf(target, step.tensor), now(), now());
    out_.copies.push_back({step.tensor, to_host, now(), CopiedBytes(graph_, step)});
  }

  void AddRun(const Step& step) {
    const bool again = step.kind == StepKind::kRecompute;
    const auto use = [&](TensorId t) {
      if (t == kNone || Open(Tier::kDevice, t) == kNone) return;
      Stay& stay = StayOf(Tier::kDevice, t);
      if (stay.end >= 0) return;  // handed over to the output of an alias
      stay.again |= again && stay.first < 0 && graph_.tensors[t].role != Role::kScratch;
      Use(&stay, now(), now() + 1);
    };
    const layrub::Form& form = graph_.ops[step.op].forms[step.form];
    for (const TensorId t : form.reads) use(t);
    for (const TensorId t : form.writes) use(t);
    if (!form.scratch.empty()) use(form.scratch[step.scratch].tensor);
    if (out_.peak < 0 || live_ > out_.runs[out_.peak].bytes) out_.peak = now();
    out_.runs.push_back({step.op, again, live_, by_role_});
  }

  static void Use(Stay* stay, int begin, int end) {
    if (stay->first < 0) stay->first = begin;
    stay->last = end;
  }

  void Close(int index) {
    Stay& stay = out_.stays[index];
    if (stay.end >= 0) return;
    const layrub::Tensor& tensor = graph_.tensors[stay.tensor];
    stay.end = now();
    if (tensor.persistent) stay.first = stay.begin;
    if (stay.first < 0) stay.first = stay.last = stay.end;
    if (stay.last < 0 || tensor.persistent || tensor.keep) stay.last = stay.end;
    stay.last = std::min(stay.last, stay.end);
  }

  void Count(const Range& range, int sign) {
    const int64_t bytes = sign * layrub::Aligned(range.bytes);
    live_ += bytes;
    by_role_[static_cast<size_t>(range.role)] += bytes;
  }

  const Graph& graph_;
  const Plan& plan_;
  Stays out_;
  std::vector<Range> ranges_;
  std::vector<int> range_of_;             ///< by stay
  std::array<std::vector<int>, 2> open_;  ///< by tier and tensor: the stay, or kNone
  size_t passes_ = 0;                     ///< those that have ended
  int64_t live_ = 0;
  std::array<int64_t, 8> by_role_{};
};

}  // namespace

Stays WalkPlan(const Graph& graph, const Plan& plan) { return Walk(graph, plan).Do(); }

}  // namespace layrub_tool
