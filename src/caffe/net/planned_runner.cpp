#include "planned_runner.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "caffe/util/deferred_work.hpp"
#include "caffe/util/library_workspace.hpp"
#include "layrub/device/device.hpp"
#include "planned_captures.hpp"
#include "planned_loan.hpp"

namespace caffe {

using layrub::kNone;
using layrub::OpKind;
using layrub::Step;
using layrub::TensorId;
using layrub::Variant;

namespace {

/// Whether a pass without a backward can continue under the plan: `layer` has varying shapes, its
/// `tops` fit into the planned bytes, and only layers of varying shapes read them.
template <typename Dtype>
bool HaveRoom(const FlatNet<Dtype>& flat, const NetGraph& graph, int layer,
              const vector<Blob<Dtype>*>& tops) {
  const auto varies = [&flat](const auto& one) {
    return one.layer->Traits(flat.Blobs(one.bottom), flat.Blobs(one.top), one.propagate_down)
        .varying;
  };
  if (!varies(flat.layers[layer])) return false;
  for (size_t i = 0; i < tops.size(); ++i) {
    const int version = graph.layers[layer].top[i];
    const TensorId data = graph.versions[version].data;
    const auto room = static_cast<size_t>(graph.graph.tensors[data].bytes);
    if (tops[i]->count() * sizeof(Dtype) > room) return false;
    for (size_t k = layer + 1; k < flat.layers.size(); ++k) {
      const vector<int>& read = graph.layers[k].bottom;
      if (std::count(read.begin(), read.end(), version) > 0 && !varies(flat.layers[k]))
        return false;
    }
  }
  return true;
}

}  // namespace

/// While this exists, the layer or solver can access the operands of its operation, and no others.
template <typename Dtype>
class PlannedRunner<Dtype>::OpScope {
 public:
  OpScope(PlannedRunner* runner, const Step& step) : values_(runner->values_), step_(step) {
    values_->SetAddresses(step_, true);
    if (const TensorId workspace = runner->graph_.net.library_workspace; workspace != kNone) {
      library_workspace() = {runner->executor_->Address(workspace),
                             runner->graph_.net.graph.tensors[workspace].bytes};
    }
  }
  OpScope(PlannedRunner* runner, const Step& step, int layer) : OpScope(runner, step) {
    const NetGraph& graph = runner->graph_.net;
    const layrub::Executor& executor = *runner->executor_;
    LayerRun run;
    run.variant = runner->graph_.backward_variant[layer];
    run.recompute = step.recompute;
    run.unplanned_buffers = !graph.layers[layer].declared;
    if (graph.graph.ops[step.op].kind == OpKind::kFeed) {
      feed_.emplace(layer, values_, &runner->feeds_);
      run.feed = &*feed_;
    }
    for (TensorId saved : graph.layers[layer].saved)
      run.saved.push_back(saved == kNone ? nullptr : executor.Address(saved));
    const std::vector<layrub::Algorithm>& algorithms =
        graph.graph.ops[step.op].variants[step.variant].algorithms;
    if (!algorithms.empty()) {
      const layrub::Algorithm& chosen = algorithms[step.algorithm];
      run.algorithm = chosen.name;
      if (chosen.workspace != kNone) run.workspace = executor.Address(chosen.workspace);
    }
    layer_ = runner->graph_.flat.layers[layer].layer;
    layer_->EnterPlan(std::move(run));
  }
  ~OpScope() noexcept(false) {
    if (layer_) layer_->LeavePlan();
    library_workspace() = {};
    try {
      values_->SetAddresses(step_, false);
    } catch (...) {
      values_->LeaveOperation();
      if (std::uncaught_exceptions() == exceptions_) throw;
    }
  }

 private:
  PlannedValues<Dtype>* const values_;
  const Step& step_;
  std::optional<LoadLane<Dtype>> feed_;
  Layer<Dtype>* layer_ = nullptr;
  const int exceptions_ = std::uncaught_exceptions();
  DISABLE_COPY_AND_ASSIGN(OpScope);
};

template <typename Dtype>
PlannedRunner<Dtype>::PlannedRunner(Net<Dtype>* net, const PlannedGraph<Dtype>& graph,
                                    PlannedValues<Dtype>* values, const PlacementOptions& options)
    : net_(net),
      graph_(graph),
      values_(values),
      executor_(&values->executor()),
      backend_(&values->backend()),
      captures_(new PlannedCaptures<Dtype>(*net, graph, values, options)),
      feeds_(*net, graph, values, options),
      shared_diffs_(graph.net.layers.size()) {}

template <typename Dtype>
PlannedRunner<Dtype>::~PlannedRunner() = default;

template <typename Dtype>
void PlannedRunner<Dtype>::Forward(PendingReads* reads, Dtype* loss) {
  reads_ = reads;
  loss_ = loss;
  values_->BeginPass(layrub::Pass::kForward);
  executor_->Run(layrub::Pass::kForward, this);
}

template <typename Dtype>
void PlannedRunner<Dtype>::Backward(const std::function<void(int)>* update) {
  update_ = update;
  backward_at_ = static_cast<int>(net_->layers().size());
  values_->BeginPass(layrub::Pass::kBackward);
  for (const TensorId gradient : graph_.net.transient_gradients)
    values_->binding(gradient).zero = true;
  executor_->Run(layrub::Pass::kBackward, this);
  SkipBackwardTo(-1);
  feeds_.CopyAhead();
}

template <typename Dtype>
void PlannedRunner<Dtype>::Update(const std::function<void(int)>& update) {
  update_ = &update;
  WriteZeroGradients();
  values_->BeginPass(layrub::Pass::kUpdate);
  executor_->Run(layrub::Pass::kUpdate, this);
  update_ = nullptr;
}

template <typename Dtype>
void PlannedRunner<Dtype>::Abandon() noexcept {
  captures_->Abandon();
}

/// Does deferred work: operations that are captured or replayed, and the updates that the solver
/// has gathered.
template <typename Dtype>
void PlannedRunner<Dtype>::Finish() {
  captures_->End();
  DeferredWork::FinishCurrent();
}

/// Writes zeros into gradients to which no layer has added since they were cleared. An update may
/// only read gradients, so it cannot do that.
template <typename Dtype>
void PlannedRunner<Dtype>::WriteZeroGradients() {
  for (Blob<Dtype>* param : net_->learnable_params()) {
    const Binding* const binding = param->diff()->binding();
    if (binding == nullptr || !binding->zero) continue;
    if (!graph_.net.graph.tensors[binding->tensor].is_state()) continue;
    MutableDiff(DeviceContext::Current(), param);
  }
}

template <typename Dtype>
void PlannedRunner<Dtype>::Run(const Step& step) {
  const layrub::Op& op = graph_.net.graph.ops[step.op];
  const int owner = graph_.net.op_owner[step.op];
  if (captures_->Begin(step)) {
    values_->NoteStepDone();
    ShowWritten(step);
    return;
  }
  if (op.kind == OpKind::kUpdate) {
    const OpScope scope(this, step);
    (*update_)(owner);
  } else if (step.recompute) {
    const OpScope scope(this, step, owner);
    const auto& top = values_->top(owner);
    graph_.flat.layers[owner].layer->Forward(values_->bottom(owner), top);
    for (size_t i = 0; i < top.size(); ++i) Settle(graph_.net.layers[owner].top[i], top[i]);
  } else if (graph_.net.parameter_feeds.count(step.op) > 0) {
    values_->FeedParameter(step);
  } else if (op.kind == OpKind::kFeed) {
    RunFeed(owner, step);
  } else if (op.pass == layrub::Pass::kForward) {
    RunForward(owner, step);
  } else {
    RunBackward(owner, step);
  }
  values_->DropCopies();
}

/// Calls the callbacks for the layers `from` to `to` of the net, in that order.
template <typename Dtype>
void PlannedRunner<Dtype>::Call(const std::vector<typename Net<Dtype>::Callback*>& callbacks,
                                int from, int to) {
  const int step = from <= to ? 1 : -1;
  for (int layer = from; layer != to + step; layer += step) {
    for (auto* callback : callbacks) callback->run(layer);
  }
}

template <typename Dtype>
void PlannedRunner<Dtype>::RunForward(int layer, const Step& step) {
  const NetGraph::LayerEntry& entry = graph_.net.layers[layer];
  const auto& flat = graph_.flat.layers[layer];
  const auto& ends = graph_.forward_ends[flat.owner];
  if (layer == ends.first) Call(net_->before_forward_, flat.owner, flat.last_owner);
  {
    const OpScope scope(this, step, layer);
    const Loan loan(this, layer);
    const auto& bottom = values_->bottom(layer);
    const auto& top = values_->top(layer);
    if (!entry.declared) ClearDerivatives(step);
    flat.layer->Forward(bottom, top, reads_, loss_);
    if (!entry.declared) NoteSharedDiffs(layer);
    for (size_t i = 0; i < top.size(); ++i) Settle(entry.top[i], top[i]);
    LeaveIfReshaped(layer);
  }
  ShowWritten(step);
  if (layer != ends.last) return;
  if (net_->debug_info_) net_->ForwardDebugInfo(flat.owner);
  Call(net_->after_forward_, flat.owner, flat.last_owner);
}

/// Makes public blobs show what operation `step` has written: the tops of a forward, the
/// derivatives of bottoms of a backward.
template <typename Dtype>
void PlannedRunner<Dtype>::ShowWritten(const Step& step) {
  const layrub::Op& op = graph_.net.graph.ops[step.op];
  const NetGraph::LayerEntry& entry = graph_.net.layers[graph_.net.op_owner[step.op]];
  if (step.recompute) return;
  if (op.pass == layrub::Pass::kForward) {
    for (const int top : entry.top) {
      const NetGraph::Version& version = graph_.net.versions[top];
      Blob<Dtype>& shown = *graph_.flat.blobs[version.blob].blob;
      if (graph_.net.outside.count(version.data)) {
        shown.ShareMemory(values_->version(top)->data(), nullptr);
      } else {
        const Blob<Dtype>& made = *values_->version(top);
        if (shown.shape() != made.shape()) shown.Reshape(made.shape());
        values_->Show(shown.data(), version.data);
      }
    }
    return;
  }
  const Variant& variant = op.variants[step.variant];
  for (const int bottom : entry.bottom) {
    const NetGraph::Version& version = graph_.net.versions[bottom];
    const bool written = std::count(variant.writes.begin(), variant.writes.end(), version.diff) > 0;
    if (written && !graph_.net.outside.count(version.diff))
      values_->Show(graph_.flat.blobs[version.blob].blob->diff(), version.diff);
  }
}

/// Calls the callbacks of layers without a backward, down to but not including `layer`.
template <typename Dtype>
void PlannedRunner<Dtype>::SkipBackwardTo(int layer) {
  for (int i = backward_at_ - 1; i > layer; --i) {
    Call(net_->before_backward_, i, i);
    Call(net_->after_backward_, i, i);
  }
  backward_at_ = layer;
}

template <typename Dtype>
void PlannedRunner<Dtype>::RunBackward(int layer, const Step& step) {
  const NetGraph::LayerEntry& entry = graph_.net.layers[layer];
  const auto& flat = graph_.flat.layers[layer];
  const auto& ends = graph_.backward_ends[flat.owner];
  if (layer == ends.first) {
    SkipBackwardTo(flat.last_owner);
    backward_at_ = flat.owner;
    Call(net_->before_backward_, flat.last_owner, flat.owner);
  }
  {
    const OpScope scope(this, step, layer);
    const Loan loan(this, layer);
    const auto& bottom = values_->bottom(layer);
    if (!entry.declared) ShareDiffs(layer);
    flat.layer->Backward(values_->top(layer), flat.propagate_down, bottom);
    for (size_t i = 0; i < bottom.size(); ++i) Settle(entry.bottom[i], bottom[i]);
  }
  ShowWritten(step);
  if (layer != ends.last) return;
  if (net_->debug_info_) net_->BackwardDebugInfo(flat.owner);
  Call(net_->after_backward_, flat.last_owner, flat.owner);
}

/// Runs the forward of a feed. The layer may also do its work on the compute lane, like any other
/// layer. So that lane waits for everything that the load lane waits for, and the step ends when
/// both lanes are done.
template <typename Dtype>
void PlannedRunner<Dtype>::RunFeed(int layer, const Step& step) {
  const int32_t before = executor_->current_step() - 1;
  if (before >= 0 && values_->plan().steps[before].kind == layrub::StepKind::kWait)
    backend_->Wait(layrub::Lane::kCompute, backend_->Record(layrub::Lane::kLoad));
  values_->BeginFeed();
  RunForward(layer, step);
  values_->DropCopies();
  if (values_->fed() < graph_.net.graph.ops[step.op].variants[0].writes.size())
    backend_->Wait(layrub::Lane::kLoad, backend_->Record(layrub::Lane::kCompute));
}

/// Leaves a planned pass if `layer`, which has just run, has given its tops other shapes than
/// planned. Takes the values of the tops along.
template <typename Dtype>
void PlannedRunner<Dtype>::LeaveIfReshaped(int layer) {
  const vector<Blob<Dtype>*>& tops = values_->top(layer);
  bool as_planned = true;
  for (size_t i = 0; i < tops.size(); ++i) {
    as_planned &= tops[i]->shape() == values_->shape(graph_.net.layers[layer].top[i]);
  }
  if (as_planned) return;
  if (net_->phase_ == TEST && HaveRoom(graph_.flat, graph_.net, layer, tops)) return;
  backend_->Synchronize();  // the load lane may still be copying the tops
  ShapeChange change{layer, {}, {}};
  for (const Blob<Dtype>* top : tops) {
    change.shapes.push_back(top->shape());
    change.tops.emplace_back(top->cpu_data(), top->cpu_data() + top->count());
  }
  throw change;
}

template class PlannedRunner<float>;
template class PlannedRunner<double>;

}  // namespace caffe
