#include "layrub/placement/cost/layer_costs.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <utility>

#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub {

std::string LayerOf(const Op& op) {
  std::string name = op.name.substr(0, op.name.rfind('/'));
  if (name.find('/') != std::string::npos) {
    static const std::regex slices("/([0-9]+of|cut_into_|join_of_)[0-9]+(?=$|\\+)");
    name = std::regex_replace(name, slices, "");
  }
  return op.kind == OpKind::kUpdate ? name.substr(0, name.rfind('[')) : name;
}

LayerCost& LayerCost::operator+=(const LayerCost& other) {
  kept += other.kept;
  aliased += other.aliased;
  offloaded += other.offloaded;
  recomputed += other.recomputed;
  traffic += other.traffic;
  copying += other.copying;
  exposed += other.exposed;
  again += other.again;
  return *this;
}

namespace {

class Accounts {
 public:
  Accounts(const Graph& graph, const Plan& plan) : graph_(graph), plan_(plan) {
    makers_.assign(graph.tensors.size(), kNone);
    for (const Op& op : graph.ops) {
      if (op.kind == OpKind::kUpdate) continue;
      const int layer = IndexOf(LayerOf(op));
      op_layers_.push_back(layer);
      for (const Variant& variant : op.variants) {
        for (const TensorId t : variant.writes) {
          if (makers_[t] == kNone && !graph.tensors[t].is_state()) makers_[t] = layer;
        }
      }
    }
  }

  void AddBytes() {
    std::vector<bool> allocated(graph_.tensors.size());
    std::vector<bool> dropped(graph_.tensors.size());  // allocated again, but not written yet
    for (const Step& step : plan_.steps) {
      const bool on_device = step.kind == StepKind::kAlloc && step.tier == Tier::kDevice;
      if (on_device || step.kind == StepKind::kAlias) {
        dropped[step.tensor] = allocated[step.tensor];
        allocated[step.tensor] = true;
      }
      if (step.kind == StepKind::kAlias) Add(step.tensor, &LayerCost::aliased);
      if (IsOffload(step)) AddCopied(step, &LayerCost::offloaded);
      if (IsPrefetch(step)) dropped[step.tensor] = false;
      if (IsOffload(step) || IsPrefetch(step)) AddCopied(step, &LayerCost::traffic);
      if (IsRun(graph_, step, OpKind::kFeed)) {
        for (const TensorId t : graph_.ops[step.op].variants[0].writes) Add(t, &LayerCost::traffic);
      }
      if (!step.recompute) continue;
      for (const TensorId t : graph_.ops[step.op].variants[step.variant].writes) {
        if (dropped[t]) Add(t, &LayerCost::recomputed);
        dropped[t] = false;
      }
    }
  }

  /// Counts each device range that is live when the forward pass ends, once, for the tensor bound
  /// last.
  void AddKept() {
    PlanWalk walk(graph_, plan_);
    for (int i = 0; i < plan_.pass_end[0]; ++i) walk.Next();
    for (const LiveRange& range : walk.ranges()) {
      if (range.bound == 0 || range.tier != Tier::kDevice) continue;
      Add(range.newest, std::min(range.bytes, graph_.tensors[range.newest].bytes),
          &LayerCost::kept);
    }
  }

  void AddTimes(const Timeline& timeline) {
    std::vector<double> ends(plan_.steps.size());
    for (const Span& span : timeline.spans) ends[span.step] = span.end;
    double idle_since = 0;
    for (const Span& span : timeline.spans) {
      const Step& step = plan_.steps[span.step];
      if (span.lane != Lane::kCompute) {
        if (LayerCost* cost = CostOf(CopiedTensor(graph_, step)))
          cost->copying += span.end - span.begin;
        continue;
      }
      if (span.begin > idle_since) {
        if (LayerCost* cost = CostOf(AwaitedBy(span.step, ends)))
          cost->exposed += span.begin - idle_since;
      }
      idle_since = span.end;
      if (step.recompute) costs_[op_layers_[step.op]].again += span.end - span.begin;
    }
  }

  std::vector<LayerCost> Take() { return std::move(costs_); }

 private:
  int IndexOf(const std::string& layer) {
    const auto [entry, added] = index_.try_emplace(layer, static_cast<int>(costs_.size()));
    if (added) costs_.push_back({.layer = layer});
    return entry->second;
  }

  LayerCost* CostOf(TensorId t) {
    return t == kNone || makers_[t] == kNone ? nullptr : &costs_[makers_[t]];
  }

  void Add(TensorId t, int64_t bytes, int64_t LayerCost::*field) {
    if (LayerCost* cost = CostOf(t)) cost->*field += Aligned(bytes);
  }

  void Add(TensorId t, int64_t LayerCost::*field) { Add(t, graph_.tensors[t].bytes, field); }

  void AddCopied(const Step& copy, int64_t LayerCost::*field) {
    Add(copy.tensor, CopiedBytes(graph_, copy), field);
  }

  /// The tensor whose copy ends last of those that `step` waits for.
  TensorId AwaitedBy(int step, const std::vector<double>& ends) const {
    TensorId last = kNone;
    double end = 0;
    for (int i = step - 1; i >= 0; --i) {
      const Step& before = plan_.steps[i];
      if (before.op != kNone || IsMove(before)) break;
      if (before.kind != StepKind::kWait || before.lane != Lane::kCompute) continue;
      if (ends[before.step] <= end) continue;
      end = ends[before.step];
      last = CopiedTensor(graph_, plan_.steps[before.step]);
    }
    return last;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<LayerCost> costs_;
  std::map<std::string, int> index_;
  std::vector<int> op_layers_;  ///< by OpId, up to the updates, which come last
  std::vector<int> makers_;     ///< by TensorId: the layer whose operation writes it first
};

}  // namespace

std::vector<LayerCost> LayerCosts(const Graph& graph, const Plan& plan, const Timeline& timeline) {
  Accounts accounts(graph, plan);
  accounts.AddBytes();
  accounts.AddKept();
  accounts.AddTimes(timeline);
  return accounts.Take();
}

}  // namespace layrub
