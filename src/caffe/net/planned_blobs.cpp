// PlannedNet: whose bytes the blobs of a net show, and what users read and write there.
#include <algorithm>
#include <cstring>
#include <set>

#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"
#include "planned_memory.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;

namespace {

/// Gives what unplanned blobs have left back to the system.
void TrimPools(const layrub::Backend& backend) {
  layrub::Pool::Cpu().Trim();
  if (layrub::Device* const device = backend.device()) {
    device->pool().Trim();
    device->host_pool().Trim();
  }
}

/// Whether the iteration computes the value of `tensor` again, and then reads that.
bool ReadsAnew(const layrub::Executor& executor, const layrub::Graph& graph, TensorId tensor) {
  if (graph.tensors[tensor].persistent) return false;
  const std::vector<Step>& steps = executor.plan().steps;
  size_t next = steps.size();
  if (executor.running()) next = static_cast<size_t>(executor.current_step()) + 1;
  if (executor.ready_for_backward()) next = static_cast<size_t>(executor.plan().pass_end[0]);
  bool computed_again = false;
  for (; next < steps.size(); ++next) {
    const Step& step = steps[next];
    if (step.kind != StepKind::kCompute && step.kind != StepKind::kRecompute) continue;
    const layrub::Form& form = graph.ops[step.op].forms[step.form];
    if (computed_again && std::count(form.reads.begin(), form.reads.end(), tensor)) return true;
    computed_again |= step.kind == StepKind::kRecompute &&
                      std::count(form.writes.begin(), form.writes.end(), tensor) > 0;
  }
  return false;
}

}  // namespace

/// Gives back the memory of values that unplanned passes have left in blobs whose values the plan
/// is going to hold.
template <typename Dtype>
void PlannedNet<Dtype>::DropUnplanned(const typename Net<Dtype>::History& history) {
  std::set<const SyncedMemory*> persistent;
  const auto keep = [&](const Blob<Dtype>& blob) {
    persistent.insert({blob.data().get(), blob.diff().get()});
  };
  for (const auto& param : memory_->flat.params) keep(*param.blob);
  for (const auto& blobs : history) {
    for (const Blob<Dtype>* blob : blobs) keep(*blob);
  }
  const auto& tensors = memory_->net.graph.tensors;
  for (const NetGraph::Version& version : memory_->net.versions) {
    const Blob<Dtype>& blob = *memory_->flat.blobs[version.blob].blob;
    if (tensors[version.data].persistent) persistent.insert(blob.data().get());
    if (version.diff != kNone && tensors[version.diff].persistent)
      persistent.insert(blob.diff().get());
  }
  for (const auto& entry : memory_->flat.blobs) {
    for (const auto& memory : {entry.blob->data(), entry.blob->diff()}) {
      const bool untouched = memory->head() == SyncedMemory::UNINITIALIZED;
      if (untouched || memory->user_owned() || memory->binding() || persistent.count(memory.get()))
        continue;
      net_->Drop(memory, "The value of '" + entry.name +
                             "' is gone: it was computed before the net's memory was planned.");
    }
  }
  TrimPools(*backend_);
}

/// Binds the net's private blobs to this plan.
template <typename Dtype>
void PlannedNet<Dtype>::MakePrivateBlobs() {
  const NetGraph& graph = memory_->net;
  // One handle for each tensor: versions that are views of one another share it. A blob's own is
  // used again, so that what a layer shares with its operands stays shared from plan to plan.
  std::map<TensorId, shared_ptr<SyncedMemory>> handles;
  std::set<const SyncedMemory*> taken;
  for (const auto& entry : memory_->flat.blobs)
    taken.insert({entry.blob->data().get(), entry.blob->diff().get()});
  std::map<const SyncedMemory*, int> inputs;  // by what users see, which views of an input share
  memory_->input_version.assign(graph.graph.tensors.size(), -1);
  memory_->layouts.resize(graph.graph.tensors.size());
  const auto handle = [&](TensorId tensor, size_t bytes, const shared_ptr<SyncedMemory>& own) {
    shared_ptr<SyncedMemory>& memory = handles[tensor];
    if (memory) return memory;
    const bool fits = own->size() == bytes && !own->user_owned() && !taken.count(own.get());
    memory = fits ? own : shared_ptr<SyncedMemory>(new SyncedMemory(bytes));
    taken.insert(memory.get());
    memory->Bind(&memory_->bindings[tensor]);
    return memory;
  };
  for (size_t i = 0; i < graph.versions.size(); ++i) {
    const NetGraph::Version& version = graph.versions[i];
    Blob<Dtype>* const blob = memory_->flat.blobs[version.blob].blob;
    const size_t bytes = size_t(blob->count()) * sizeof(Dtype);
    if (graph.graph.tensors[version.data].role == layrub::Role::kUser) {
      if (version.number == 0) inputs.emplace(blob->data().get(), static_cast<int>(i));
    } else if (const auto input = inputs.find(blob->data().get()); input != inputs.end()) {
      memory_->input_version[version.data] = input->second;
    }
    if (graph.outside.count(version.data)) handles.emplace(version.data, blob->data());
    if (version.diff != kNone && graph.outside.count(version.diff))
      handles.emplace(version.diff, blob->diff());
    Blob<Dtype>* of_version = blob;
    if (!version.is_public) {
      shared_ptr<Blob<Dtype>>& own = net_->private_blobs_[{version.blob, version.number}];
      if (!own) own.reset(new Blob<Dtype>());
      own->Reshape(blob->shape());
      own->set_channel_block(1);
      if (const auto& in_blocks = memory_->flat.blobs[version.blob].in_blocks) {
        own->set_channel_block(in_blocks->channel_block());
        const ChannelShape layout{blob->shape(0), blob->shape(1), blob->count(2),
                                  in_blocks->channel_block()};
        memory_->layouts[version.data] = layout;
        if (version.diff != kNone) memory_->layouts[version.diff] = layout;
      }
      own->ShareMemory(handle(version.data, bytes, own->data()),
                       version.diff == kNone ? shared_ptr<SyncedMemory>()
                                             : handle(version.diff, bytes, own->diff()));
      of_version = own.get();
    }
    memory_->versions.push_back(of_version);
    memory_->shapes.push_back(blob->shape());
    memory_->handles.emplace_back(of_version->data(), of_version->diff());
  }
  const auto given = [&](const NetGraph::LayerEntry& layer, const std::vector<int>& versions) {
    std::vector<Blob<Dtype>*> blobs;
    for (int version : versions) {
      blobs.push_back(layer.declared ? memory_->versions[version]
                                     : memory_->flat.blobs[graph.versions[version].blob].blob);
    }
    return blobs;
  };
  for (const NetGraph::LayerEntry& layer : graph.layers) {
    memory_->bottom.push_back(given(layer, layer.bottom));
    memory_->top.push_back(given(layer, layer.top));
  }
  memory_->shared_diffs.resize(graph.layers.size());
}

/// Callbacks and debug information are for whole layers of the net: they come with the first and
/// last operation of each pass.
template <typename Dtype>
void PlannedNet<Dtype>::FindEnds() {
  const auto extend = [](typename Memory::Ends* ends, int layer) {
    if (ends->first < 0) ends->first = layer;
    ends->last = layer;
  };
  const int layers = static_cast<int>(memory_->flat.layers.size());
  memory_->forward_ends.resize(net_->layers_.size());
  memory_->backward_ends.resize(net_->layers_.size());
  for (int i = 0; i < layers; ++i) extend(&memory_->forward_ends[memory_->flat.layers[i].owner], i);
  for (int i = layers - 1; i >= 0; --i) {
    if (memory_->net.layers[i].backward == kNone) continue;
    extend(&memory_->backward_ends[memory_->flat.layers[i].owner], i);
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::BindPersistent(const typename Net<Dtype>::History& history) {
  const NetGraph& graph = memory_->net;
  for (size_t i = 0; i < memory_->flat.params.size(); ++i) {
    Adopt(memory_->flat.params[i].blob->data(), graph.param_data[i]);
    Adopt(memory_->flat.params[i].blob->diff(), graph.param_diff[i]);
    for (size_t k = 0; i < graph.history.size() && k < graph.history[i].size(); ++k) {
      Adopt(history[i][k]->data(), graph.history[i][k]);
    }
  }
  // The first version of a tensor has its value. Views come later and follow in the pass: until
  // then they may hold what they shared before their origin was reshaped.
  std::vector<bool> adopted(graph.graph.tensors.size());
  for (TensorId param : graph.param_data) adopted[param] = true;  // above; tops may show them
  for (const NetGraph::Version& version : graph.versions) {
    const Blob<Dtype>& blob = *memory_->flat.blobs[version.blob].blob;
    if (graph.graph.tensors[version.data].persistent && !adopted[version.data]) {
      Adopt(blob.data(), version.data);
      adopted[version.data] = true;
    }
    if (version.diff != kNone && graph.graph.tensors[version.diff].persistent)
      Adopt(blob.diff(), version.diff);
  }
}

/// Moves a value that lives across iterations into the plan.
template <typename Dtype>
void PlannedNet<Dtype>::Adopt(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (tensor == kNone || memory_->net.outside.count(tensor) || memory->binding()) return;
  void* address = executor_->Address(tensor);
  const size_t bytes = static_cast<size_t>(memory_->net.graph.tensors[tensor].bytes);
  if (memory->head() == SyncedMemory::UNINITIALIZED) {
    backend_->Zero(address, static_cast<int64_t>(bytes));
  } else if (memory_->layouts[tensor].block > 1) {  // the derivative of an output
    BlocksFromArray(memory_->layouts[tensor], static_cast<const Dtype*>(memory->cpu_data()),
                    static_cast<Dtype*>(address));
  } else {
    CopyValue(address, memory.get(), bytes);
  }
  Show(memory, tensor);
  TrimPools(*backend_);  // at once, or the values of the whole net would be there twice
}

/// Binds memory that users see to `tensor`.
template <typename Dtype>
void PlannedNet<Dtype>::Show(const shared_ptr<SyncedMemory>& memory, TensorId tensor) {
  if (memory->binding() == &memory_->bindings[tensor] || memory->user_owned()) return;
  memory->Bind(&memory_->bindings[tensor]);
  memory_->bound[memory] = tensor;
}

template <typename Dtype>
void PlannedNet<Dtype>::Release(Wanted wanted) {
  if (wanted == Wanted::kNone) {
    for (const auto& [tensor, on_device] : memory_->copied) memory_->bindings[tensor].sides.reset();
    memory_->copied.clear();
    for (const auto& [memory, tensor] : memory_->bound) memory->Unbind(nullptr, 0);
    memory_->bound.clear();
    ReleaseHandles(wanted);
    return;
  }
  CHECK(dead_.empty()) << dead_;
  DropCopies();
  executor_->backend()->Synchronize();
  std::map<const SyncedMemory*, long> ending;  // how many owners end with the net
  const auto count = [&](const Blob<Dtype>& blob) {
    ++ending[blob.data().get()];
    ++ending[blob.diff().get()];
  };
  for (const auto& blob : net_->blobs_) {
    if (blob.use_count() == 1) count(*blob);
  }
  for (const auto& layer : net_->layers_) {
    for (const auto& blob : layer->blobs()) {
      if (layer.use_count() == 1 && blob.use_count() == 2) count(*blob);  // the layer's, the net's
    }
  }
  // What takes which tensor's value from where.
  std::map<TensorId, int> takers;
  std::vector<std::pair<TensorId, const void*>> values;
  for (const auto& [memory, tensor] : memory_->bound) {
    // An input that a layer has overwritten in place is, for a whole pass, what the user wrote.
    const int input = memory_->input_version[tensor];
    const TensorId written = input < 0 ? tensor : memory_->net.versions[input].data;
    std::pair<TensorId, const void*> value{tensor, nullptr};
    const bool held = memory.use_count() > 1 + ending[memory.get()];  // 1: ours
    if (wanted == Wanted::kAll || (wanted == Wanted::kHeld && held))
      value.second = executor_->Find(tensor);
    const bool persistent = memory_->net.graph.tensors[written].persistent;
    if (!value.second && persistent && (wanted != Wanted::kHeld || held))
      value = {written, executor_->Find(written)};
    values.push_back(value);
    ++takers[value.first];
  }
  auto value = values.begin();
  for (const auto& [memory, tensor] : memory_->bound) {
    const auto& [from, address] = *value++;
    const int64_t bytes = memory_->net.graph.tensors[tensor].bytes;
    const ChannelShape& layout = memory_->layouts[from];
    std::vector<Dtype> array;
    if (address && layout.block > 1) {
      array.resize(static_cast<size_t>(layout.count()));
      ArrayFromBlocks(layout, static_cast<const Dtype*>(address), array.data());
    }
    memory->Unbind(array.empty() ? address : array.data(),
                   std::min(static_cast<size_t>(bytes), memory->size()));
    if (!address && wanted != Wanted::kHeld) net_->Drop(memory, Gone(tensor));
    // Planned bytes that nobody reads again go at once, or all values would be there twice.
    if (--takers[from] == 0 && address && address == executor_->Address(from))
      backend_->Discard(executor_->Address(from), bytes);
  }
  memory_->bound.clear();
  ReleaseHandles(wanted);
}

/// The private blobs' own memory.
template <typename Dtype>
void PlannedNet<Dtype>::ReleaseHandles(Wanted wanted) {
  for (const auto& [data, diff] : memory_->handles) {
    for (const shared_ptr<SyncedMemory>& memory : {data, diff}) {
      if (!memory->binding() || memory->binding()->resolver != this) continue;
      memory->Unbind(nullptr, 0);
      if (wanted == Wanted::kHeld || wanted == Wanted::kNone) continue;
      net_->Drop(
          memory,
          "This blob is that of a memory plan which its net has left, and has no value until "
          "the net is placed again: use the blobs that the layer is given.");
    }
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::ReleaseAtEnd() noexcept {
  try {
    Release(dead_.empty() ? Wanted::kHeld : Wanted::kNone);
  } catch (...) {
    Release(Wanted::kNone);
  }
}

/// The name under which users know a planned value: that of its blob, else that of the tensor.
template <typename Dtype>
string PlannedNet<Dtype>::PublicName(int tensor) const {
  for (const NetGraph::Version& version : memory_->net.versions) {
    if (version.data == tensor || version.diff == tensor)
      return memory_->flat.blobs[version.blob].name;
  }
  return memory_->net.graph.tensors[tensor].name;
}

template <typename Dtype>
void PlannedNet<Dtype>::Copied(int tensor, bool on_device) {
  memory_->copied.emplace_back(tensor, on_device);
}

/// What users have on the other side than the plan, or as an array, goes back to its place. Nothing
/// that the plan does may come before.
template <typename Dtype>
void PlannedNet<Dtype>::DropCopies() {
  for (const auto& [tensor, on_device] : memory_->copied) {
    shared_ptr<SyncedMemory>& sides = memory_->bindings[tensor].sides;
    if (on_device) {
      sides->gpu_data();
    } else {
      sides->cpu_data();
    }
    sides.reset();
  }
  memory_->copied.clear();
  for (auto& array : memory_->arrays) {
    // Another net that works in the same memory may have taken its place.
    if (array.written && Value(array.tensor) == array.blocks)
      BlocksFromArray(memory_->layouts[array.tensor], array.values.data(), array.blocks);
    array.current = array.written = false;
  }
}

template <typename Dtype>
int PlannedNet<Dtype>::values_in_blocks() const {
  const auto& versions = memory_->versions;
  return static_cast<int>(
      std::count_if(versions.begin(), versions.end(),
                    [](const Blob<Dtype>* blob) { return blob->channel_block() > 1; }));
}

/// The value of `tensor`, which lies in blocks at `blocks`, for users, who write it if `write`. As
/// it is until DropCopies; there until the next pass.
template <typename Dtype>
Dtype* PlannedNet<Dtype>::AsArray(int tensor, Dtype* blocks, bool write) {
  const ChannelShape& layout = memory_->layouts[tensor];
  auto& arrays = memory_->arrays;
  auto array = std::find_if(arrays.begin(), arrays.end(),
                            [&](const auto& made) { return made.tensor == tensor; });
  if (array == arrays.end()) {
    arrays.push_back({tensor, std::vector<Dtype>(static_cast<size_t>(layout.count()))});
    array = arrays.end() - 1;
  }
  if (!array->current) ArrayFromBlocks(layout, blocks, array->values.data());
  array->blocks = blocks;
  array->current = true;
  array->written |= write;
  return array->values.data();
}

/// To and from the memory of the plan, wherever that is.
template <typename Dtype>
void PlannedNet<Dtype>::CopyValue(void* to, const void* from, size_t bytes) const {
  if (layrub::Device* const device = backend_->device()) {
    device->Copy(to, from, static_cast<int64_t>(bytes));
  } else {
    std::memcpy(to, from, bytes);
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::CopyValue(void* to, SyncedMemory* from, size_t bytes) const {
  const bool gpu = backend_->device() && from->head() == SyncedMemory::HEAD_AT_GPU;
  CopyValue(to, gpu ? from->gpu_data() : from->cpu_data(), bytes);
}

/// Where it is; null: nowhere.
template <typename Dtype>
const void* PlannedNet<Dtype>::Value(TensorId tensor) const {
  const void* value = executor_->running() ? executor_->Address(tensor) : nullptr;
  // A callback may read what has left the device.
  return value ? value : executor_->Find(tensor);
}

template <typename Dtype>
Resolver::Place PlannedNet<Dtype>::Resolve(int tensor, bool write) {
  if (memory_->in_op) {
    const Step& step = plan().steps[executor_->current_step()];
    const layrub::Op& op = memory_->net.graph.ops[step.op];
    const std::vector<TensorId>& writes = op.forms[step.form].writes;
    if (step.kind == StepKind::kFeed && std::count(writes.begin(), writes.end(), tensor)) {
      // The body goes on with what it has fed: after the copy, on the compute lane.
      backend_->Wait(layrub::Lane::kCompute, backend_->Record(layrub::Lane::kLoad));
      memory_->fed = 0;
      return {executor_->Address(tensor), backend_->device()};
    }
    LOG(FATAL) << op.name << " (step " << executor_->current_step() << ", form "
               << op.forms[step.form].name << ") " << (write ? "writes '" : "reads '")
               << memory_->net.graph.tensors[tensor].name
               << "', which the layer's memory traits do not declare.";
  }
  if (executor_->running()) executor_->AwaitLoad(tensor);
  if (write && !executor_->running() && memory_->input_version[tensor] >= 0)
    return TakeInput(tensor);
  CHECK(!write || !memory_->computed_again[tensor] ||
        !ReadsAnew(*executor_, memory_->net.graph, tensor))
      << "The value of '" << memory_->net.graph.tensors[tensor].name
      << "' cannot be changed here: strategy " << plan().strategy
      << " computes it again in the backward pass, and the change would be lost. Use "
         "--placement=keep, which computes nothing again.";
  const void* value = Value(tensor);
  CHECK(value) << Gone(tensor);
  if (memory_->layouts[tensor].block > 1)
    return {AsArray(tensor, static_cast<Dtype*>(const_cast<void*>(value)), write)};
  const bool on_device = value == executor_->Address(tensor);
  return {const_cast<void*>(value), on_device ? backend_->device() : nullptr};
}

template <typename Dtype>
bool PlannedNet<Dtype>::Holds(const SyncedMemory& memory) const {
  const Binding* const binding = memory.binding();
  if (!binding || binding->resolver != this) return false;
  if (executor_->running() && memory_->done == executor_->current_step()) {
    // What the operation has written, while its callbacks run.
    const Step& step = plan().steps[memory_->done];
    const auto& writes = memory_->net.graph.ops[step.op].forms[step.form].writes;
    if (std::count(writes.begin(), writes.end(), binding->tensor)) return true;
  }
  return executor_->Find(binding->tensor);
}

/// The user writes an input that a layer has overwritten in place: the next pass reads it at the
/// input's own address.
template <typename Dtype>
Resolver::Place PlannedNet<Dtype>::TakeInput(TensorId tensor) {
  const NetGraph::Version& input = memory_->net.versions[memory_->input_version[tensor]];
  const shared_ptr<SyncedMemory>& shown = memory_->flat.blobs[input.blob].blob->data();
  if (shown->user_owned()) return {const_cast<void*>(shown->cpu_data())};
  const void* value = executor_->Find(tensor);
  void* address = executor_->Address(input.data);
  if (value) CopyValue(address, value, memory_->net.graph.tensors[tensor].bytes);
  Show(shown, input.data);
  return {address, backend_->device()};
}

template <typename Dtype>
string PlannedNet<Dtype>::Gone(TensorId tensor) const {
  const auto is_derivative = [&](const NetGraph::Version& version) {
    return version.diff == tensor;
  };
  const auto& versions = memory_->net.versions;
  if (executor_->ready_for_backward() &&
      std::any_of(versions.begin(), versions.end(), is_derivative)) {
    return "The value of '" + memory_->net.graph.tensors[tensor].name +
           "' is gone: the forward has run under a memory plan, in which derivatives come with the "
           "whole Backward(). To set them and go backward in parts, run the forward in parts "
           "before: ForwardFromTo (Python: net.forward(start=FIRST, end=LAST)).";
  }
  return "The value of '" + memory_->net.graph.tensors[tensor].name + "' is gone: strategy " +
         plan().strategy +
         " gave its memory to others after its last use, or another net has run in its place. To "
         "keep the data of this blob readable, "
         "put placement { keep: \"" +
         PublicName(tensor) +
         "\" } into the net or solver prototxt; to keep everything, derivatives too, use "
         "--placement=keep.";
}

#define INSTANTIATE_BLOBS(Dtype)                                                        \
  template void PlannedNet<Dtype>::DropUnplanned(const typename Net<Dtype>::History&);  \
  template void PlannedNet<Dtype>::MakePrivateBlobs();                                  \
  template void PlannedNet<Dtype>::FindEnds();                                          \
  template void PlannedNet<Dtype>::BindPersistent(const typename Net<Dtype>::History&); \
  template void PlannedNet<Dtype>::Show(const shared_ptr<SyncedMemory>&, TensorId);     \
  template void PlannedNet<Dtype>::Release(Wanted);                                     \
  template void PlannedNet<Dtype>::ReleaseHandles(Wanted);                              \
  template void PlannedNet<Dtype>::ReleaseAtEnd() noexcept;                             \
  template Resolver::Place PlannedNet<Dtype>::Resolve(int, bool);                       \
  template void PlannedNet<Dtype>::Copied(int, bool);                                   \
  template bool PlannedNet<Dtype>::Holds(const SyncedMemory&) const;                    \
  template void PlannedNet<Dtype>::DropCopies();                                        \
  template const void* PlannedNet<Dtype>::Value(TensorId) const;                        \
  template Dtype* PlannedNet<Dtype>::AsArray(int, Dtype*, bool);                        \
  template int PlannedNet<Dtype>::values_in_blocks() const;                             \
  template void PlannedNet<Dtype>::CopyValue(void*, SyncedMemory*, size_t) const
INSTANTIATE_BLOBS(float);
INSTANTIATE_BLOBS(double);

}  // namespace caffe
