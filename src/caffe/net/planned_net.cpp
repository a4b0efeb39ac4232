#include "caffe/planned_net.hpp"

#include <cstring>
#include <map>

#include "net_graph.hpp"

namespace caffe {

using layrub::Form;
using layrub::kNone;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;

template <typename Dtype>
struct PlannedNet<Dtype>::Memory {
  NetGraph net;
  std::vector<Binding> bindings;                  // by tensor; addresses stay valid: never resized
  std::vector<shared_ptr<Blob<Dtype>>> versions;  // private blobs, by version
  std::vector<std::vector<Blob<Dtype>*>> bottom, top;  // by layer
  std::vector<int> backward_form;                      // by layer
  std::map<shared_ptr<SyncedMemory>, TensorId>
      bound;  // memory outside this object that is bound to it
  const std::function<void(int)>* update = nullptr;
  Dtype loss = 0;
  bool in_op = false;
  int backward_at = 0;  // the layer whose backward ran last
};

/// Thrown out of a pass by a source whose tops no longer have the shapes that were planned.
template <typename Dtype>
struct PlannedNet<Dtype>::ShapeChange {
  int layer;
};

template <typename Dtype>
PlannedNet<Dtype>::PlannedNet(Net<Dtype>* net, NetGraph graph, layrub::Plan plan,
                              const PlacementOptions& options,
                              const typename Net<Dtype>::History& history)
    : net_(net), memory_(new Memory), backend_(layrub::MakeCpuBackend()) {
  memory_->net = std::move(graph);
  try {
    executor_.reset(
        new layrub::Executor(memory_->net.graph, plan, backend_.get(), options.executor));
  } catch (const std::bad_alloc&) {
    LOG(FATAL) << "Out of memory: the plan of net " << net->name() << " needs " << plan.device_bytes
               << " bytes of device memory and " << plan.host_bytes
               << " bytes of host memory, which this machine does not give.";
  }
  memory_->bindings.resize(memory_->net.graph.tensors.size());
  for (size_t i = 0; i < memory_->bindings.size(); ++i) {
    memory_->bindings[i].tensor = static_cast<int>(i);
    memory_->bindings[i].resolver = this;
  }
  memory_->backward_form.assign(net_->layers_.size(), 0);
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::kCompute) continue;
    const int layer = memory_->net.op_owner[step.op];
    if (memory_->net.layers[layer].backward == step.op) memory_->backward_form[layer] = step.form;
  }
  MakePrivateBlobs();
  BindPersistent(history);
}

template <typename Dtype>
PlannedNet<Dtype>::~PlannedNet() {
  Release(false);
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
void PlannedNet<Dtype>::MakePrivateBlobs() {
  const NetGraph& graph = memory_->net;
  // One handle for each tensor: versions that are views of one another share it.
  std::map<TensorId, shared_ptr<SyncedMemory>> handles;
  const auto handle = [&](TensorId tensor, size_t bytes) {
    shared_ptr<SyncedMemory>& memory = handles[tensor];
    if (!memory) {
      memory.reset(new SyncedMemory(bytes));
      memory->Bind(&memory_->bindings[tensor]);
    }
    return memory;
  };
  for (const NetGraph::Version& version : graph.versions) {
    const Blob<Dtype>& blob = *net_->blobs_[version.blob];
    const size_t bytes = size_t(blob.count()) * sizeof(Dtype);
    shared_ptr<Blob<Dtype>> copy(new Blob<Dtype>(blob.shape()));
    const bool user =
        std::count(graph.user_memory.begin(), graph.user_memory.end(), version.data) > 0;
    if (user) handles[version.data] = blob.data();
    copy->ShareMemory(handle(version.data, bytes), version.diff == kNone
                                                       ? shared_ptr<SyncedMemory>()
                                                       : handle(version.diff, bytes));
    memory_->versions.push_back(copy);
  }
  for (const NetGraph::LayerEntry& layer : graph.layers) {
    memory_->bottom.emplace_back();
    for (int version : layer.bottom)
      memory_->bottom.back().push_back(memory_->versions[version].get());
    memory_->top.emplace_back();
    for (int version : layer.top) memory_->top.back().push_back(memory_->versions[version].get());
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::BindPersistent(const typename Net<Dtype>::History& history) {
  const NetGraph& graph = memory_->net;
  for (size_t i = 0; i < net_->learnable_params_.size(); ++i) {
    Adopt(net_->learnable_params_[i]->data(), graph.param_data[i]);
    Adopt(net_->learnable_params_[i]->diff(), graph.param_diff[i]);
    for (size_t k = 0; i < graph.history.size() && k < graph.history[i].size(); ++k) {
      Adopt(history[i][k]->data(), graph.history[i][k]);
    }
  }
  for (const NetGraph::Version& version : graph.versions) {
    const Blob<Dtype>& blob = *net_->blobs_[version.blob];
    if (graph.graph.tensors[version.data].persistent) Adopt(blob.data(), version.data);
    if (version.diff != kNone && graph.graph.tensors[version.diff].persistent)
      Adopt(blob.diff(), version.diff);
  }
}

/// Moves a value that lives across iterations into the plan.
template <typename Dtype>
void PlannedNet<Dtype>::Adopt(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (tensor == kNone || memory->user_owned() || memory->binding()) return;
  void* address = executor_->Address(tensor);
  const size_t bytes = static_cast<size_t>(memory_->net.graph.tensors[tensor].bytes);
  if (memory->head() == SyncedMemory::UNINITIALIZED) {
    std::memset(address, 0, bytes);
  } else {
    std::memcpy(address, memory->cpu_data(), bytes);
  }
  Show(memory, tensor);
}

/// Binds memory that users see to `tensor`.
template <typename Dtype>
void PlannedNet<Dtype>::Show(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (memory->binding() == &memory_->bindings[tensor] || memory->user_owned()) return;
  memory->Bind(&memory_->bindings[tensor]);
  memory_->bound[memory] = tensor;
}

template <typename Dtype>
void PlannedNet<Dtype>::Release(bool all) {
  std::map<const SyncedMemory*, bool> held;  // memory of blobs that outlive the net
  for (const auto& blob : net_->blobs_) {
    if (blob.use_count() == 1) continue;
    held[blob->data().get()] = held[blob->diff().get()] = true;
  }
  for (const auto& entry : memory_->bound) {
    const bool persistent = memory_->net.graph.tensors[entry.second].persistent;
    const bool wanted = all || persistent || held.count(entry.first.get());
    entry.first->Unbind(wanted ? executor_->Find(entry.second) : nullptr);
  }
  memory_->bound.clear();
}

template <typename Dtype>
bool PlannedNet<Dtype>::ShapesMatch() const {
  for (size_t i = 0; i < memory_->net.versions.size(); ++i) {
    const NetGraph::Version& version = memory_->net.versions[i];
    if (memory_->net.graph.tensors[version.data].role != layrub::Role::kUser) continue;
    if (net_->blobs_[version.blob]->shape() != memory_->versions[i]->shape()) return false;
  }
  return true;
}

template <typename Dtype>
int PlannedNet<Dtype>::Forward(Dtype* loss) {
  memory_->loss = 0;
  try {
    executor_->Run(layrub::Pass::kForward, this);
  } catch (const ShapeChange& change) {
    *loss += memory_->loss;
    // Goes on with public blobs: first what the source has just made, which is not in its planned
    // place.
    std::vector<shared_ptr<Blob<Dtype>>> fresh;
    for (int version : memory_->net.layers[change.layer].top)
      fresh.push_back(memory_->versions[version]);
    std::vector<int> public_tops = net_->top_id_vecs_[change.layer];
    std::vector<std::vector<Dtype>> values;
    for (const auto& blob : fresh)
      values.emplace_back(blob->cpu_data(), blob->cpu_data() + blob->count());
    Net<Dtype>* net = net_;
    net->LeavePlan();  // destroys this object
    for (size_t i = 0; i < fresh.size(); ++i) {
      Blob<Dtype>* blob = net->blobs_[public_tops[i]].get();
      blob->ReshapeLike(*fresh[i]);
      std::copy(values[i].begin(), values[i].end(), blob->mutable_cpu_data());
    }
    return change.layer + 1;
  }
  *loss += memory_->loss;
  return static_cast<int>(net_->layers_.size());
}

template <typename Dtype>
void PlannedNet<Dtype>::Backward() {
  memory_->backward_at = static_cast<int>(net_->layers_.size());
  executor_->Run(layrub::Pass::kBackward, this);
  SkipBackwardTo(-1);
}

template <typename Dtype>
void PlannedNet<Dtype>::Update(const std::function<void(int)>& update) {
  memory_->update = &update;
  executor_->Run(layrub::Pass::kUpdate, this);
  memory_->update = nullptr;
}

/// Gives the operands of `form` their addresses, or takes them away: everything else is out of
/// reach in between.
template <typename Dtype>
void PlannedNet<Dtype>::SetAddresses(const Form& form, bool set) {
  for (TensorId tensor : form.reads)
    memory_->bindings[tensor].readable = set ? executor_->Address(tensor) : nullptr;
  for (TensorId tensor : form.writes) {
    void* address = set ? executor_->Address(tensor) : nullptr;
    memory_->bindings[tensor].readable = memory_->bindings[tensor].writable = address;
  }
  memory_->in_op = set;
}

template <typename Dtype>
void PlannedNet<Dtype>::Run(const Step& step) {
  const layrub::Op& op = memory_->net.graph.ops[step.op];
  const Form& form = op.forms[step.form];
  const int owner = memory_->net.op_owner[step.op];
  if (op.pass == layrub::Pass::kUpdate) {
    SetAddresses(form, true);
    (*memory_->update)(owner);
    SetAddresses(form, false);
  } else if (op.pass == layrub::Pass::kForward) {
    RunForward(owner, step);
  } else {
    RunBackward(owner, step);
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::RunForward(int layer, const Step& step) {
  const Form& form = memory_->net.graph.ops[step.op].forms[step.form];
  const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
  for (auto* callback : net_->before_forward_) callback->run(layer);
  LayerRun run;
  run.form = memory_->backward_form[layer];
  for (TensorId saved : entry.saved)
    run.saved.push_back(saved == kNone ? nullptr : executor_->Address(saved));
  if (!form.scratch.empty()) run.scratch = executor_->Address(form.scratch[step.scratch].tensor);
  Layer<Dtype>& body = *net_->layers_[layer];
  SetAddresses(form, true);
  body.EnterPlan(run);
  memory_->loss += body.Forward(memory_->bottom[layer], memory_->top[layer]);
  body.LeavePlan();
  SetAddresses(form, false);
  for (size_t i = 0; i < entry.top.size(); ++i) {
    const NetGraph::Version& version = memory_->net.versions[entry.top[i]];
    Blob<Dtype>& shown = *net_->blobs_[version.blob];
    if (memory_->top[layer][i]->shape() != shown.shape()) throw ShapeChange{layer};
    Show(shown.data(), version.data);
  }
  if (net_->debug_info_) net_->ForwardDebugInfo(layer);
  for (auto* callback : net_->after_forward_) callback->run(layer);
}

/// Callbacks run for every layer, also for those that have nothing to do in backward.
template <typename Dtype>
void PlannedNet<Dtype>::SkipBackwardTo(int layer) {
  for (int i = memory_->backward_at - 1; i > layer; --i) {
    for (auto* callback : net_->before_backward_) callback->run(i);
    for (auto* callback : net_->after_backward_) callback->run(i);
  }
  memory_->backward_at = layer;
}

template <typename Dtype>
void PlannedNet<Dtype>::RunBackward(int layer, const Step& step) {
  const Form& form = memory_->net.graph.ops[step.op].forms[step.form];
  const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
  SkipBackwardTo(layer);
  for (auto* callback : net_->before_backward_) callback->run(layer);
  LayerRun run;
  run.form = step.form;
  for (TensorId saved : entry.saved)
    run.saved.push_back(saved == kNone ? nullptr : executor_->Address(saved));
  if (!form.scratch.empty()) run.scratch = executor_->Address(form.scratch[step.scratch].tensor);
  Layer<Dtype>& body = *net_->layers_[layer];
  SetAddresses(form, true);
  body.EnterPlan(run);
  body.Backward(memory_->top[layer], net_->bottom_need_backward_[layer], memory_->bottom[layer]);
  body.LeavePlan();
  SetAddresses(form, false);
  for (int bottom : entry.bottom) {
    const NetGraph::Version& version = memory_->net.versions[bottom];
    const bool written = std::count(form.writes.begin(), form.writes.end(), version.diff) > 0;
    if (written) Show(net_->blobs_[version.blob]->diff(), version.diff);
  }
  if (net_->debug_info_) net_->BackwardDebugInfo(layer);
  for (auto* callback : net_->after_backward_) callback->run(layer);
}

/// The name under which users know a planned value: that of its blob, else that of the tensor.
template <typename Dtype>
string PlannedNet<Dtype>::PublicName(int tensor) const {
  for (const NetGraph::Version& version : memory_->net.versions) {
    if (version.data == tensor || version.diff == tensor) return net_->blob_names_[version.blob];
  }
  return memory_->net.graph.tensors[tensor].name;
}

template <typename Dtype>
void* PlannedNet<Dtype>::Resolve(int tensor, bool write) {
  if (memory_->in_op) {
    const Step& step = plan().steps[executor_->current_step()];
    const layrub::Op& op = memory_->net.graph.ops[step.op];
    LOG(FATAL) << op.name << " (step " << executor_->current_step() << ", form "
               << op.forms[step.form].name << ") " << (write ? "writes '" : "reads '")
               << memory_->net.graph.tensors[tensor].name
               << "', which the layer's memory traits do not declare.";
  }
  const void* value = executor_->running() ? executor_->Address(tensor) : executor_->Find(tensor);
  if (!value) {
    const string name = PublicName(tensor);
    LOG(FATAL) << "The value of '" << memory_->net.graph.tensors[tensor].name
               << "' is gone: strategy " << plan().strategy
               << " gave its memory to others after its last use. To keep the data of this blob "
               << "readable, put placement { keep: \"" << name
               << "\" } into the net or solver prototxt; to keep "
               << "everything, derivatives too, use --placement=keep.";
  }
  return const_cast<void*>(value);
}

template class PlannedNet<float>;
template class PlannedNet<double>;

}  // namespace caffe
