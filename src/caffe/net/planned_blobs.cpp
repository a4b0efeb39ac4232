// Which memory the blobs of a planned net show.
#include <algorithm>
#include <set>

#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"
#include "planned_values.hpp"

namespace caffe {

using layrub::kNone;
using layrub::TensorId;

namespace {

/// Gives the memory that unplanned blobs have freed back to the system.
void TrimPools(const layrub::Backend& backend) {
  layrub::Pool::Cpu().Trim();
  if (layrub::Device* const device = backend.device()) {
    device->pool().Trim();
    device->host_pool().Trim();
  }
}

}  // namespace

template <typename Dtype>
PlannedValues<Dtype>::PlannedValues(Net<Dtype>* net, const PlannedGraph<Dtype>& graph,
                                    const layrub::Plan& plan, const PlacementOptions& options,
                                    const History& history, Resolver* resolver)
    : net_(net),
      graph_(graph),
      resolver_(resolver),
      backend_(options.executor.transient ? options.executor.transient->backend()
                                          : MakeBackend(options.spill_file)) {
  DropUnplanned(history);
  const layrub::Graph& tensors = graph.net.graph;
  try {
    executor_ = std::make_unique<layrub::Executor>(tensors, plan, backend_.get(), options.executor);
  } catch (const std::bad_alloc& error) {
    LOG(FATAL) << "Out of memory: the plan of net " << net->name() << " needs " << plan.device_bytes
               << " bytes on the device and " << plan.host_bytes << " of host memory; "
               << error.what() << ".";
  }
  bindings_.resize(tensors.tensors.size());
  for (size_t i = 0; i < bindings_.size(); ++i) {
    bindings_[i].tensor = static_cast<int>(i);
    bindings_[i].bytes = static_cast<size_t>(tensors.tensors[i].bytes);
    bindings_[i].device = backend_->device();
    bindings_[i].resolver = resolver;
  }
  try {
    MakePrivateBlobs();
    BindPersistent(history);
  } catch (...) {
    net_->private_blobs_.clear();  // some may be bound but not yet in `bound_`
    try {
      Release(LeftValues::kPersistent);
    } catch (...) {
      ReleaseAtEnd();
    }
    throw;
  }
}

/// Frees the memory of values that unplanned passes have left in blobs. The plan will hold the
/// values of these blobs.
template <typename Dtype>
void PlannedValues<Dtype>::DropUnplanned(const History& history) {
  std::set<const SyncedMemory*> persistent;
  const auto keep = [&](const Blob<Dtype>& blob) {
    persistent.insert({blob.data().get(), blob.diff().get()});
  };
  for (const auto& param : graph_.flat.params) keep(*param.blob);
  for (const auto& blobs : history) {
    for (const Blob<Dtype>* blob : blobs) keep(*blob);
  }
  const auto& tensors = graph_.net.graph.tensors;
  for (const NetGraph::Version& version : graph_.net.versions) {
    const Blob<Dtype>& blob = *graph_.flat.blobs[version.blob].blob;
    if (tensors[version.data].is_state()) persistent.insert(blob.data().get());
    if (version.diff != kNone && tensors[version.diff].is_state())
      persistent.insert(blob.diff().get());
  }
  for (const auto& entry : graph_.flat.blobs) {
    for (const auto& memory : {entry.blob->data(), entry.blob->diff()}) {
      const bool untouched = memory->head() == SyncedMemory::UNINITIALIZED;
      if (untouched || memory->user_owned() || memory->binding() || persistent.count(memory.get()))
        continue;
      net_->Drop(memory, "The value of '" + entry.name +
                             "' is gone: it was computed before the net's memory was planned.");
    }
  }
  // Of some blobs the plan computes parts only. They may share memory with others.
  std::set<const SyncedMemory*> whole;
  for (size_t i = 0; i < graph_.flat.blobs.size(); ++i) {
    const Blob<Dtype>& blob = *graph_.flat.blobs[i].blob;
    if (!graph_.in_parts[i]) whole.insert({blob.data().get(), blob.diff().get()});
  }
  for (size_t i = 0; i < graph_.flat.blobs.size(); ++i) {
    const auto& entry = graph_.flat.blobs[i];
    if (!graph_.in_parts[i]) continue;
    for (const auto& memory : {entry.blob->data(), entry.blob->diff()}) {
      if (whole.count(memory.get()) > 0) continue;
      net_->Drop(memory,
                 "The value of '" + entry.name +
                     "' cannot be read: the memory plan computes it for a part of the batch "
                     "at a time. To keep it whole and readable, put placement { keep: \"" +
                     entry.name + "\" } in the prototxt of the solver or the net.");
    }
  }
  TrimPools(*backend_);
}

/// Binds the net's private blobs to this plan.
template <typename Dtype>
void PlannedValues<Dtype>::MakePrivateBlobs() {
  const NetGraph& graph = graph_.net;
  // One handle for each tensor; versions that are views of each other share it. A private blob's
  // own memory object is reused, so memory that a layer shares with its operands stays shared from
  // plan to plan.
  std::map<TensorId, shared_ptr<SyncedMemory>> handles;
  std::set<const SyncedMemory*> taken;
  for (const auto& entry : graph_.flat.blobs)
    taken.insert({entry.blob->data().get(), entry.blob->diff().get()});
  std::map<const SyncedMemory*, int> inputs;  // by memory, which views of an input share
  input_version_.assign(graph.graph.tensors.size(), -1);
  layouts_.resize(graph.graph.tensors.size());
  const auto handle = [&](TensorId tensor, size_t bytes, const shared_ptr<SyncedMemory>& own) {
    shared_ptr<SyncedMemory>& memory = handles[tensor];
    if (memory) return memory;
    const bool fits = own->size() == bytes && !own->user_owned() && !taken.count(own.get());
    memory = fits ? own : shared_ptr<SyncedMemory>(new SyncedMemory(bytes));
    taken.insert(memory.get());
    memory->Bind(&bindings_[tensor]);
    return memory;
  };
  for (size_t i = 0; i < graph.versions.size(); ++i) {
    const NetGraph::Version& version = graph.versions[i];
    Blob<Dtype>* const blob = graph_.flat.blobs[version.blob].blob;
    const size_t bytes = size_t(blob->count()) * sizeof(Dtype);
    if (graph.graph.tensors[version.data].role == layrub::Role::kUser) {
      if (version.number == 0) inputs.emplace(blob->data().get(), static_cast<int>(i));
    } else if (const auto input = inputs.find(blob->data().get()); input != inputs.end()) {
      input_version_[version.data] = input->second;
    }
    if (graph.outside.count(version.data)) handles.emplace(version.data, blob->data());
    if (version.diff != kNone && graph.outside.count(version.diff))
      handles.emplace(version.diff, blob->diff());
    Blob<Dtype>* of_version = blob;
    if (!version.is_public) {
      shared_ptr<Blob<Dtype>>& own = net_->private_blobs_[{version.blob, version.number}];
      if (!own) own.reset(new Blob<Dtype>());
      const layrub::Tensor& data = graph.graph.tensors[version.data];
      const bool has_room = data.role == layrub::Role::kActivation;
      const size_t room = has_room ? std::max(bytes, static_cast<size_t>(data.bytes)) : bytes;
      own->Reshape({static_cast<int>(room / sizeof(Dtype))});
      own->Reshape(blob->shape());
      own->set_channel_block(1);
      if (const auto& in_blocks = graph_.flat.blobs[version.blob].in_blocks) {
        own->set_channel_block(in_blocks->channel_block());
        const ChannelShape layout{blob->shape(0), blob->shape(1), blob->count(2),
                                  in_blocks->channel_block()};
        layouts_[version.data] = layout;
        if (version.diff != kNone) layouts_[version.diff] = layout;
      }
      own->ShareMemory(handle(version.data, room, own->data()),
                       version.diff == kNone ? shared_ptr<SyncedMemory>()
                                             : handle(version.diff, bytes, own->diff()));
      of_version = own.get();
    }
    versions_.push_back(of_version);
    shapes_.push_back(blob->shape());
    memory_.emplace_back(of_version->data(), of_version->diff());
  }
  const auto given = [&](const NetGraph::LayerEntry& layer, const std::vector<int>& versions) {
    std::vector<Blob<Dtype>*> blobs;
    for (int version : versions) {
      blobs.push_back(layer.declared ? versions_[version]
                                     : graph_.flat.blobs[graph.versions[version].blob].blob);
    }
    return blobs;
  };
  for (const NetGraph::LayerEntry& layer : graph.layers) {
    bottom_.push_back(given(layer, layer.bottom));
    top_.push_back(given(layer, layer.top));
  }
}

template <typename Dtype>
void PlannedValues<Dtype>::BindPersistent(const History& history) {
  const NetGraph& graph = graph_.net;
  for (size_t i = 0; i < graph_.flat.params.size(); ++i) {
    Adopt(graph_.flat.params[i].blob->data(), graph.param_data[i]);
    const shared_ptr<SyncedMemory>& gradient = graph_.flat.params[i].blob->diff();
    const TensorId tensor = graph.param_diff[i];
    if (tensor != kNone && !graph.graph.tensors[tensor].is_state()) {
      Show(gradient, tensor);
    } else {
      Adopt(gradient, tensor);
    }
    for (size_t k = 0; i < graph.history.size() && k < graph.history[i].size(); ++k) {
      Adopt(history[i][k]->data(), graph.history[i][k]);
    }
  }
  // The first version of a tensor has its value. Views come later and are bound during the pass.
  // Until then they may still have the memory that they shared before their origin was reshaped.
  std::vector<bool> adopted(graph.graph.tensors.size());
  for (TensorId param : graph.param_data) adopted[param] = true;  // done above; tops may show them
  for (const NetGraph::Version& version : graph.versions) {
    const Blob<Dtype>& blob = *graph_.flat.blobs[version.blob].blob;
    if (graph.graph.tensors[version.data].is_state() && !adopted[version.data]) {
      Adopt(blob.data(), version.data);
      adopted[version.data] = true;
    }
    if (version.diff != kNone && graph.graph.tensors[version.diff].is_state())
      Adopt(blob.diff(), version.diff);
  }
}

/// Moves a value that lives across iterations into the plan.
template <typename Dtype>
void PlannedValues<Dtype>::Adopt(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (tensor == kNone || graph_.net.outside.count(tensor) || memory->binding()) return;
  void* address = executor_->Address(tensor);
  const size_t bytes = static_cast<size_t>(graph_.net.graph.tensors[tensor].bytes);
  const bool empty = memory->head() == SyncedMemory::UNINITIALIZED;
  if (address == nullptr) {
    executor_->SetHome(tensor, empty ? nullptr : memory->cpu_data());
  } else if (empty) {
    backend_->Zero(address, static_cast<int64_t>(bytes));
  } else if (layouts_[tensor].block > 1) {  // the derivative of an output
    BlocksFromArray(layouts_[tensor], static_cast<const Dtype*>(memory->cpu_data()),
                    static_cast<Dtype*>(address));
  } else {
    CopyValue(address, memory.get(), bytes);
  }
  Show(memory, tensor);
  TrimPools(*backend_);  // at once, so that the net's values are never in memory twice
}

/// Binds memory that users see to `tensor`.
template <typename Dtype>
void PlannedValues<Dtype>::Show(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (memory->binding() == &bindings_[tensor] || memory->user_owned()) return;
  memory->Bind(&bindings_[tensor]);
  bound_[memory] = tensor;
}

template <typename Dtype>
void PlannedValues<Dtype>::Release(LeftValues wanted) {
  if (wanted == LeftValues::kNone) {
    UnbindAll();
    return;
  }
  DropCopies();
  executor_->backend()->Synchronize();
  std::map<const SyncedMemory*, long> ending;  // owners that are destroyed with the net
  const auto count = [&](const Blob<Dtype>& blob) {
    ++ending[blob.data().get()];
    ++ending[blob.diff().get()];
  };
  for (const auto& blob : net_->blobs()) {
    if (blob.use_count() == 1) count(*blob);
  }
  for (const auto& layer : net_->layers()) {
    for (const auto& blob : layer->blobs()) {
      if (layer.use_count() == 1 && blob.use_count() == 2) count(*blob);  // the layer's, the net's
    }
  }
  // The tensor and the address from which each memory takes its value.
  std::map<TensorId, int> takers;
  std::vector<std::pair<TensorId, const void*>> values;
  for (const auto& [memory, tensor] : bound_) {
    // If a layer has overwritten an input in place, a new pass must begin with the value that the
    // user wrote.
    const int input = input_version_[tensor];
    const TensorId written = input < 0 ? tensor : graph_.net.versions[input].data;
    std::pair<TensorId, const void*> value{tensor, nullptr};
    const bool held = memory.use_count() > 1 + ending[memory.get()];  // 1 is ours
    if (wanted == LeftValues::kAll || (wanted == LeftValues::kHeld && held))
      value.second = executor_->Find(tensor);
    const bool persistent = graph_.net.graph.tensors[written].is_state();
    if (!value.second && persistent && (wanted != LeftValues::kHeld || held))
      value = {written, executor_->Find(written)};
    values.push_back(value);
    ++takers[value.first];
  }
  auto value = values.begin();
  for (const auto& [memory, tensor] : bound_) {
    const auto& [from, address] = *value++;
    const int64_t bytes = graph_.net.graph.tensors[tensor].bytes;
    const ChannelShape& layout = layouts_[from];
    std::vector<Dtype> array;
    if (address && layout.block > 1) {
      array.resize(static_cast<size_t>(layout.count()));
      ArrayFromBlocks(layout, static_cast<const Dtype*>(address), array.data());
    }
    memory->Unbind(array.empty() ? address : array.data(),
                   std::min(static_cast<size_t>(bytes), memory->size()));
    if (!address && wanted != LeftValues::kHeld) net_->Drop(memory, Gone(tensor));
    // Planned bytes that nothing reads again are freed at once, so that the values are never in
    // memory twice.
    if (--takers[from] == 0 && address && address == executor_->Address(from))
      backend_->Discard(executor_->Address(from), bytes);
  }
  bound_.clear();
  ReleaseHandles(wanted);
}

/// Unbinds all memory without its values.
template <typename Dtype>
void PlannedValues<Dtype>::UnbindAll() {
  for (const auto& [tensor, on_device] : copied_) bindings_[tensor].sides.reset();
  copied_.clear();
  for (const auto& [memory, tensor] : bound_) memory->Unbind(nullptr, 0);
  bound_.clear();
  ReleaseHandles(LeftValues::kNone);
}

/// Unbinds the memory of the private blobs.
template <typename Dtype>
void PlannedValues<Dtype>::ReleaseHandles(LeftValues wanted) {
  for (const auto& [data, diff] : memory_) {
    for (const shared_ptr<SyncedMemory>& memory : {data, diff}) {
      if (!Owns(*memory)) continue;
      memory->Unbind(nullptr, 0);
      if (wanted == LeftValues::kHeld || wanted == LeftValues::kNone) continue;
      net_->Drop(memory,
                 "This blob belongs to a memory plan that its net has left. It has no value until "
                 "the net is placed again: use the blobs that the layer is given.");
    }
  }
}

template <typename Dtype>
void PlannedValues<Dtype>::ReleaseAtEnd() noexcept {
  try {
    Release(LeftValues::kHeld);
  } catch (...) {
    UnbindAll();
  }
}

#define INSTANTIATE_BLOBS(Dtype)                                                             \
  template PlannedValues<Dtype>::PlannedValues(Net<Dtype>*, const PlannedGraph<Dtype>&,      \
                                               const layrub::Plan&, const PlacementOptions&, \
                                               const History&, Resolver*);                   \
  template void PlannedValues<Dtype>::Show(const shared_ptr<SyncedMemory>&, TensorId);       \
  template void PlannedValues<Dtype>::Release(LeftValues);                                   \
  template void PlannedValues<Dtype>::ReleaseAtEnd() noexcept
INSTANTIATE_BLOBS(float);
INSTANTIATE_BLOBS(double);

}  // namespace caffe
