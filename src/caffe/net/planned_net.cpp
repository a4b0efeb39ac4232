#include "caffe/planned_net.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "caffe/operands.hpp"
#include "caffe/util/library_workspace.hpp"
#include "layrub/device/device.hpp"
#include "planned_captures.hpp"
#include "planned_load_lane.hpp"
#include "planned_loan.hpp"
#include "planned_memory.hpp"

namespace caffe {

using layrub::kNone;
using layrub::OpKind;
using layrub::Step;
using layrub::TensorId;
using layrub::Variant;

/// While this exists, the layer or solver can access the operands of its operation, and no others.
template <typename Dtype>
class PlannedNet<Dtype>::OpScope {
 public:
  OpScope(PlannedNet* net, const Step& step) : net_(net), step_(step) {
    net_->SetAddresses(step_, true);
    if (const TensorId workspace = net->memory_->net.library_workspace; workspace != kNone) {
      library_workspace() = {net->executor_->Address(workspace),
                             net->memory_->net.graph.tensors[workspace].bytes};
    }
  }
  OpScope(PlannedNet* net, const Step& step, int layer, int variant) : OpScope(net, step) {
    LayerRun run;
    run.variant = variant;
    run.recompute = step.recompute;
    run.unplanned_buffers = !net->memory_->net.layers[layer].declared;
    feed_.set_layer(layer);
    if (net->memory_->net.graph.ops[step.op].kind == OpKind::kFeed) run.feed = &feed_;
    for (TensorId saved : net->memory_->net.layers[layer].saved)
      run.saved.push_back(saved == kNone ? nullptr : net->executor_->Address(saved));
    const std::vector<layrub::Algorithm>& algorithms =
        net->memory_->net.graph.ops[step.op].variants[step.variant].algorithms;
    if (!algorithms.empty()) {
      const layrub::Algorithm& chosen = algorithms[step.algorithm];
      run.algorithm = chosen.name;
      if (chosen.workspace != kNone) run.workspace = net->executor_->Address(chosen.workspace);
    }
    layer_ = net->memory_->flat.layers[layer].layer;
    layer_->EnterPlan(std::move(run));
  }
  ~OpScope() noexcept(false) {
    if (layer_) layer_->LeavePlan();
    library_workspace() = {};
    try {
      net_->SetAddresses(step_, false);
    } catch (...) {
      net_->memory_->in_op = false;
      if (std::uncaught_exceptions() == exceptions_) throw;
    }
  }

 private:
  PlannedNet* net_;
  const Step& step_;
  LoadLane feed_{net_};
  Layer<Dtype>* layer_ = nullptr;
  const int exceptions_ = std::uncaught_exceptions();
  DISABLE_COPY_AND_ASSIGN(OpScope);
};

template <typename Dtype>
PlannedNet<Dtype>::PlannedNet(Net<Dtype>* net, FlatNet<Dtype> flat, NetGraph graph,
                              layrub::Plan plan, const PlacementOptions& options,
                              const typename Net<Dtype>::History& history)
    : net_(net),
      newest_(NextNumber()),
      memory_(new Memory),
      backend_(options.executor.transient ? options.executor.transient->backend()
                                          : MakeBackend(options.spill_file)) {
  memory_->flat = std::move(flat);
  memory_->net = std::move(graph);
  DropUnplanned(history);
  try {
    executor_.reset(
        new layrub::Executor(memory_->net.graph, plan, backend_.get(), options.executor));
  } catch (const std::bad_alloc& error) {
    LOG(FATAL) << "Out of memory: the plan of net " << net->name() << " needs " << plan.device_bytes
               << " bytes on the device and " << plan.host_bytes << " of host memory; "
               << error.what() << ".";
  }
  memory_->bindings.resize(memory_->net.graph.tensors.size());
  for (size_t i = 0; i < memory_->bindings.size(); ++i) {
    memory_->bindings[i].tensor = static_cast<int>(i);
    memory_->bindings[i].bytes = static_cast<size_t>(memory_->net.graph.tensors[i].bytes);
    memory_->bindings[i].device = backend_->device();
    memory_->bindings[i].resolver = this;
  }
  memory_->backward_variant.assign(memory_->flat.layers.size(), 0);
  memory_->is_recomputed.resize(memory_->net.graph.tensors.size());
  for (const Step& step : plan.steps) {
    if (step.recompute) {
      for (const TensorId tensor : memory_->net.graph.ops[step.op].variants[step.variant].writes)
        memory_->is_recomputed[tensor] = true;
    }
    if (!IsRun(memory_->net.graph, step, OpKind::kCompute)) continue;
    const int layer = memory_->net.op_owner[step.op];
    const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
    if (entry.backward == step.op)
      memory_->backward_variant[layer] = entry.backward_variants[step.variant];
  }
  memory_->keeps_all = KeepsAllBlobs();
  captures_ = std::make_unique<Captures>(this, options);
  try {
    MakePrivateBlobs();
    FindEnds();
    FindSources(options);
    BindPersistent(history);
  } catch (...) {
    net_->private_blobs_.clear();  // some may be bound but not yet in `bound`
    try {
      Release(Wanted::kPersistent);
    } catch (...) {
      ReleaseAtEnd();
    }
    throw;
  }
}

template <typename Dtype>
PlannedNet<Dtype>::~PlannedNet() {
  ReleaseAtEnd();
  for (auto& source : memory_->sources) DropAhead(&source);
}

template <typename Dtype>
const layrub::Graph& PlannedNet<Dtype>::graph() const {
  return memory_->net.graph;
}

template <typename Dtype>
const layrub::Plan& PlannedNet<Dtype>::plan() const {
  return executor_->plan();
}

template <typename Dtype>
bool PlannedNet<Dtype>::offloads_state() const {
  const std::vector<layrub::Home>& homes = plan().homes;
  return std::any_of(homes.begin(), homes.end(),
                     [](const layrub::Home& home) { return home.tier != layrub::Tier::kDevice; });
}

template <typename Dtype>
bool PlannedNet<Dtype>::IsUpToDate() const {
  CHECK(dead_.empty()) << dead_;
  const auto& layers = memory_->flat.layers;
  if (!Unwatched(*net_) && std::any_of(layers.begin(), layers.end(),
                                       [](const auto& layer) { return layer.fused != nullptr; }))
    return false;
  for (size_t i = 0; i < memory_->net.versions.size(); ++i) {
    const NetGraph::Version& version = memory_->net.versions[i];
    if (memory_->net.graph.tensors[version.data].role != layrub::Role::kUser) continue;
    if (memory_->flat.blobs[version.blob].blob->shape() != memory_->shapes[i]) return false;
  }
  return true;
}

template <typename Dtype>
void PlannedNet<Dtype>::CheckAtRest() const {
  CHECK(!executor_->running())
      << "Net " << net_->name_
      << ": its callbacks and layers can neither run nor place the net itself while it runs under "
         "a memory plan: do that when the pass is over.";
}

template <typename Dtype>
int PlannedNet<Dtype>::Forward(PendingReads* reads, Dtype* loss) {
  CheckAtRest();
  CheckNoBackwardDue();
  memory_->reads = reads;
  memory_->loss = loss;
  memory_->done = -1;
  memory_->updated = false;
  try {
    DropCopies();
    memory_->arrays.clear();
    executor_->Run(layrub::Pass::kForward, this);
  } catch (const ShapeChange& change) {
    return ContinueWithoutPlan(change);
  } catch (...) {
    LeaveAfterError();
    throw;
  }
  return static_cast<int>(net_->layers_.size());
}

template <typename Dtype>
void PlannedNet<Dtype>::Backward() {
  CheckAtRest();
  CHECK(dead_.empty()) << dead_;
  CHECK(net_->phase_ == TRAIN)
      << "Net " << net_->name_
      << ": the memory plan of a net in the TEST phase has no backward. Run the forward in parts "
         "before, which leaves the plan: ForwardFromTo (Python: net.forward(start=FIRST, "
         "end=LAST)); or make the net in the TRAIN phase.";
  CHECK(executor_->ready_for_backward())
      << "Net " << net_->name_
      << ": Backward() under a memory plan needs a Forward() just before it: the first Backward() "
         "after that, and a net that shares its memory, have given the values up.";
  CheckNoBackwardDue();
  if (UpdatesWithinBackward()) {
    memory_->backward_due = true;
    return;
  }
  try {
    RunBackwardPass();
  } catch (...) {
    LeaveAfterError();
    throw;
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::RunBackwardPass() {
  memory_->backward_at = static_cast<int>(net_->layers_.size());
  DropCopies();
  memory_->arrays.clear();
  for (const TensorId gradient : memory_->net.transient_gradients)
    memory_->bindings[gradient].zero = true;
  executor_->Run(layrub::Pass::kBackward, this);
  SkipBackwardTo(-1);
  FeedAhead();
}

/// Under such a plan Backward only notes that it was called: the pass runs with the update.
template <typename Dtype>
bool PlannedNet<Dtype>::UpdatesWithinBackward() const {
  return !memory_->net.transient_gradients.empty();
}

template <typename Dtype>
void PlannedNet<Dtype>::CheckNoBackwardDue() const {
  CHECK(!memory_->backward_due)
      << "Net " << net_->name_
      << ": its memory plan updates each parameter within the backward pass, so each Backward() "
         "needs an ApplyUpdate() of its solver before the next pass. To add up the gradients of "
         "several passes, set placement { keep_gradients: true } in the solver prototxt.";
}

template <typename Dtype>
void PlannedNet<Dtype>::Update(const std::function<void(int)>& update) {
  CheckAtRest();
  CHECK(dead_.empty()) << dead_;
  CHECK(memory_->backward_due || !UpdatesWithinBackward())
      << "Net " << net_->name_
      << ": its memory plan updates each parameter within the backward pass, so an update needs a "
         "Backward() before it. To update without one, set placement { keep_gradients: true } in "
         "the solver prototxt.";
  try {
    memory_->update = &update;
    memory_->updated = true;
    if (std::exchange(memory_->backward_due, false)) RunBackwardPass();
    WriteZeroGradients();
    DropCopies();
    executor_->Run(layrub::Pass::kUpdate, this);
    memory_->update = nullptr;
  } catch (...) {
    LeaveAfterError();
    throw;
  }
}

/// Writes zeros into gradients to which no layer has added since they were cleared. An update may
/// only read gradients, so it cannot do that.
template <typename Dtype>
void PlannedNet<Dtype>::WriteZeroGradients() {
  for (Blob<Dtype>* param : net_->learnable_params_) {
    const Binding* const binding = param->diff()->binding();
    if (binding == nullptr || !binding->zero) continue;
    if (!memory_->net.graph.tensors[binding->tensor].is_state()) continue;
    MutableDiff(DeviceContext::Current(), param);
  }
}

/// Gives the operands of `step` their addresses, or takes them away. In between, no other tensor
/// can be accessed.
template <typename Dtype>
void PlannedNet<Dtype>::SetAddresses(const Step& step, bool set) {
  DropCopies();
  const layrub::Graph& graph = memory_->net.graph;
  const Variant& variant = graph.ops[step.op].variants[step.variant];
  const auto left_alone = [&](TensorId tensor) {
    return step.recompute && !TouchedByRecomputation(graph, variant, tensor);
  };
  for (TensorId tensor : variant.reads) {
    if (left_alone(tensor)) continue;
    memory_->bindings[tensor].readable = set ? executor_->Address(tensor) : nullptr;
  }
  for (TensorId tensor : variant.writes) {
    if (left_alone(tensor)) continue;
    void* address = set ? executor_->Address(tensor) : nullptr;
    memory_->bindings[tensor].readable = memory_->bindings[tensor].writable = address;
  }
  if (graph.ops[step.op].pass == layrub::Pass::kForward) {
    const NetGraph::LayerEntry& entry = memory_->net.layers[memory_->net.op_owner[step.op]];
    for (const auto& [tensor, offset] : entry.stand_ins) {
      char* const workspace =
          static_cast<char*>(executor_->Address(variant.algorithms[0].workspace));
      Binding& binding = memory_->bindings[tensor];
      binding.readable = binding.writable = set ? workspace + offset : nullptr;
    }
  }
  memory_->in_op = set;
  if (!set) memory_->done = executor_->current_step();
}

template <typename Dtype>
void PlannedNet<Dtype>::Run(const Step& step) {
  const layrub::Op& op = memory_->net.graph.ops[step.op];
  const int owner = memory_->net.op_owner[step.op];
  if (captures_->Begin(step)) {
    memory_->done = executor_->current_step();
    ShowWritten(step);
    return;
  }
  if (op.kind == OpKind::kUpdate) {
    const OpScope scope(this, step);
    (*memory_->update)(owner);
  } else if (step.recompute) {
    const OpScope scope(this, step, owner, memory_->backward_variant[owner]);
    const auto& top = memory_->top[owner];
    memory_->flat.layers[owner].layer->Forward(memory_->bottom[owner], top);
    for (size_t i = 0; i < top.size(); ++i) Settle(memory_->net.layers[owner].top[i], top[i]);
  } else if (op.kind == OpKind::kFeed) {
    RunFeed(owner, step);
  } else if (op.pass == layrub::Pass::kForward) {
    RunForward(owner, step);
  } else {
    RunBackward(owner, step);
  }
  DropCopies();
}

/// Calls the callbacks for the layers `from` to `to` of the net, in that order.
template <typename Dtype>
void PlannedNet<Dtype>::Call(const std::vector<typename Net<Dtype>::Callback*>& callbacks, int from,
                             int to) {
  const int step = from <= to ? 1 : -1;
  for (int layer = from; layer != to + step; layer += step) {
    for (auto* callback : callbacks) callback->run(layer);
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::RunForward(int layer, const Step& step) {
  const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
  const auto& flat = memory_->flat.layers[layer];
  const auto& ends = memory_->forward_ends[flat.owner];
  if (layer == ends.first) Call(net_->before_forward_, flat.owner, flat.last_owner);
  {
    const OpScope scope(this, step, layer, memory_->backward_variant[layer]);
    const Loan loan(this, layer);
    const auto& bottom = memory_->bottom[layer];
    const auto& top = memory_->top[layer];
    if (!entry.declared) ClearDerivatives(step);
    flat.layer->Forward(bottom, top, memory_->reads, memory_->loss);
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
void PlannedNet<Dtype>::ShowWritten(const Step& step) {
  const layrub::Op& op = memory_->net.graph.ops[step.op];
  const NetGraph::LayerEntry& entry = memory_->net.layers[memory_->net.op_owner[step.op]];
  if (step.recompute) return;
  if (op.pass == layrub::Pass::kForward) {
    for (const int top : entry.top) {
      const NetGraph::Version& version = memory_->net.versions[top];
      Blob<Dtype>& shown = *memory_->flat.blobs[version.blob].blob;
      if (memory_->net.outside.count(version.data)) {
        shown.ShareMemory(memory_->versions[top]->data(), nullptr);
      } else {
        const Blob<Dtype>& made = *memory_->versions[top];
        if (shown.shape() != made.shape()) shown.Reshape(made.shape());
        Show(shown.data(), version.data);
      }
    }
    return;
  }
  const Variant& variant = op.variants[step.variant];
  for (const int bottom : entry.bottom) {
    const NetGraph::Version& version = memory_->net.versions[bottom];
    const bool written = std::count(variant.writes.begin(), variant.writes.end(), version.diff) > 0;
    if (written && !memory_->net.outside.count(version.diff))
      Show(memory_->flat.blobs[version.blob].blob->diff(), version.diff);
  }
}

/// Calls the callbacks of layers without a backward, down to but not including `layer`.
template <typename Dtype>
void PlannedNet<Dtype>::SkipBackwardTo(int layer) {
  for (int i = memory_->backward_at - 1; i > layer; --i) {
    Call(net_->before_backward_, i, i);
    Call(net_->after_backward_, i, i);
  }
  memory_->backward_at = layer;
}

template <typename Dtype>
void PlannedNet<Dtype>::RunBackward(int layer, const Step& step) {
  const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
  const auto& flat = memory_->flat.layers[layer];
  const auto& ends = memory_->backward_ends[flat.owner];
  if (layer == ends.first) {
    SkipBackwardTo(flat.last_owner);
    memory_->backward_at = flat.owner;
    Call(net_->before_backward_, flat.last_owner, flat.owner);
  }
  {
    const OpScope scope(this, step, layer, memory_->backward_variant[layer]);
    const Loan loan(this, layer);
    const auto& bottom = memory_->bottom[layer];
    if (!entry.declared) ShareDiffs(layer);
    flat.layer->Backward(memory_->top[layer], flat.propagate_down, bottom);
    for (size_t i = 0; i < bottom.size(); ++i) Settle(entry.bottom[i], bottom[i]);
  }
  ShowWritten(step);
  if (layer != ends.last) return;
  if (net_->debug_info_) net_->BackwardDebugInfo(flat.owner);
  Call(net_->after_backward_, flat.last_owner, flat.owner);
}

template class PlannedNet<float>;
template class PlannedNet<double>;

}  // namespace caffe
