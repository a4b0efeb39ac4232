// How users read and write blobs that show memory of the plan.
#include <algorithm>
#include <cstring>

#include "layrub/device/device.hpp"
#include "planned_values.hpp"

namespace caffe {

using layrub::OpKind;
using layrub::Pass;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;

namespace {

/// Whether the rest of the iteration recomputes the value of `tensor` and then reads it.
bool ReadsAfterRecomputation(const layrub::Executor& executor, const layrub::Graph& graph,
                             TensorId tensor) {
  if (graph.tensors[tensor].is_state()) return false;
  const std::vector<Step>& steps = executor.plan().steps;
  size_t next = steps.size();
  if (executor.running()) next = static_cast<size_t>(executor.current_step()) + 1;
  if (executor.ready_for_backward()) next = static_cast<size_t>(executor.plan().pass_end[0]);
  bool is_recomputed = false;
  for (; next < steps.size(); ++next) {
    const Step& step = steps[next];
    if (step.kind != StepKind::kRun || graph.ops[step.op].kind != OpKind::kCompute) continue;
    const layrub::Variant& variant = graph.ops[step.op].variants[step.variant];
    if (is_recomputed && std::count(variant.reads.begin(), variant.reads.end(), tensor))
      return true;
    is_recomputed |=
        step.recompute && std::count(variant.writes.begin(), variant.writes.end(), tensor) > 0;
  }
  return false;
}

}  // namespace

template <typename Dtype>
void PlannedValues<Dtype>::BeginPass(Pass pass) {
  DropCopies();
  if (pass != Pass::kUpdate) arrays_.clear();
  if (pass == Pass::kForward) done_ = -1;
}

template <typename Dtype>
void PlannedValues<Dtype>::SetAddresses(const Step& step, bool set) {
  DropCopies();
  const layrub::Graph& graph = graph_.net.graph;
  const layrub::Variant& variant = graph.ops[step.op].variants[step.variant];
  const auto left_alone = [&](TensorId tensor) {
    return step.recompute && !TouchedByRecomputation(graph, variant, tensor);
  };
  for (TensorId tensor : variant.reads) {
    if (left_alone(tensor)) continue;
    void* const address = set ? executor_->AddressInUse(tensor) : nullptr;
    bindings_[tensor].readable = address;
    if (!graph_.net.fed_parameters.empty()) ShowParameter(tensor, address);
  }
  for (TensorId tensor : variant.writes) {
    if (left_alone(tensor)) continue;
    void* address = set ? executor_->AddressInUse(tensor) : nullptr;
    bindings_[tensor].readable = bindings_[tensor].writable = address;
  }
  if (graph.ops[step.op].pass == Pass::kForward) {
    const NetGraph::LayerEntry& entry = graph_.net.layers[graph_.net.op_owner[step.op]];
    for (const auto& [tensor, offset] : entry.stand_ins) {
      char* const workspace =
          static_cast<char*>(executor_->Address(variant.algorithms[0].workspace));
      Binding& binding = bindings_[tensor];
      binding.readable = binding.writable = set ? workspace + offset : nullptr;
    }
  }
  in_operation_ = set;
  if (!set) done_ = executor_->current_step();
}

template <typename Dtype>
void PlannedValues<Dtype>::Feed(TensorId tensor, const void* from, int64_t bytes) {
  ++fed_;
  backend_->Copy(layrub::Lane::kLoad, executor_->Address(tensor), from, bytes);
  Binding& binding = bindings_[tensor];
  binding.readable = binding.writable = nullptr;  // the next access calls Resolve
}

template <typename Dtype>
void PlannedValues<Dtype>::FeedParameter(const Step& step) {
  const int param = graph_.net.parameter_feeds.at(step.op);
  SyncedMemory& memory = *graph_.flat.params[param].blob->data();
  const TensorId tensor = graph_.net.param_data[param];
  const Binding* const home = memory.binding();
  const bool on_device = home ? home->resolver->Resolve(home->tensor, false).device != nullptr
                              : memory.head() == SyncedMemory::HEAD_AT_GPU;
  Feed(tensor, on_device ? memory.gpu_data() : memory.cpu_data(),
       graph_.net.graph.tensors[tensor].bytes);
}

/// Lets the layers read a parameter of another net at `address`, or no longer if that is null.
template <typename Dtype>
void PlannedValues<Dtype>::ShowParameter(TensorId tensor, void* address) {
  const auto fed = graph_.net.fed_parameters.find(tensor);
  if (fed == graph_.net.fed_parameters.end()) return;
  if (Binding* const home = graph_.flat.params[fed->second].blob->data()->binding())
    home->readable = address;
}

/// Returns the name under which users know a planned value: that of its blob, or else that of the
/// tensor.
template <typename Dtype>
string PlannedValues<Dtype>::PublicName(int tensor) const {
  for (const NetGraph::Version& version : graph_.net.versions) {
    if (version.data == tensor || version.diff == tensor)
      return graph_.flat.blobs[version.blob].name;
  }
  return graph_.net.graph.tensors[tensor].name;
}

template <typename Dtype>
void PlannedValues<Dtype>::DropCopies() {
  for (const auto& [tensor, on_device] : copied_) {
    shared_ptr<SyncedMemory>& sides = bindings_[tensor].sides;
    if (on_device) {
      sides->gpu_data();
    } else {
      sides->cpu_data();
    }
    sides.reset();
  }
  copied_.clear();
  for (auto& array : arrays_) {
    // Another net that shares the memory may have overwritten it.
    if (array.written && Value(array.tensor) == array.blocks)
      BlocksFromArray(layouts_[array.tensor], array.values.data(), array.blocks);
    array.current = array.written = false;
  }
}

template <typename Dtype>
int PlannedValues<Dtype>::values_in_blocks() const {
  return static_cast<int>(
      std::count_if(versions_.begin(), versions_.end(),
                    [](const Blob<Dtype>* blob) { return blob->channel_block() > 1; }));
}

/// Returns the value of `tensor`, which lies in blocks at `blocks`, as an array for users. `write`:
/// the user writes it, too. Up to date until DropCopies; valid until the next pass.
template <typename Dtype>
Dtype* PlannedValues<Dtype>::AsArray(int tensor, Dtype* blocks, bool write) {
  const ChannelShape& layout = layouts_[tensor];
  auto array = std::find_if(arrays_.begin(), arrays_.end(),
                            [&](const auto& made) { return made.tensor == tensor; });
  if (array == arrays_.end()) {
    arrays_.push_back({tensor, std::vector<Dtype>(static_cast<size_t>(layout.count()))});
    array = arrays_.end() - 1;
  }
  if (!array->current) ArrayFromBlocks(layout, blocks, array->values.data());
  array->blocks = blocks;
  array->current = true;
  array->written |= write;
  return array->values.data();
}

template <typename Dtype>
void PlannedValues<Dtype>::CopyValue(void* to, const void* from, size_t bytes) const {
  if (layrub::Device* const device = backend_->device()) {
    device->Copy(to, from, static_cast<int64_t>(bytes));
  } else {
    std::memcpy(to, from, bytes);
  }
}

template <typename Dtype>
void PlannedValues<Dtype>::CopyValue(void* to, SyncedMemory* from, size_t bytes) const {
  const bool gpu = backend_->device() && from->head() == SyncedMemory::HEAD_AT_GPU;
  CopyValue(to, gpu ? from->gpu_data() : from->cpu_data(), bytes);
}

/// Returns the address of the value, or null if there is none.
template <typename Dtype>
const void* PlannedValues<Dtype>::Value(TensorId tensor) const {
  const void* value = executor_->running() ? executor_->Address(tensor) : nullptr;
  // A callback may read a value that is not on the device.
  return value ? value : executor_->Find(tensor);
}

template <typename Dtype>
Resolver::Place PlannedValues<Dtype>::Resolve(int tensor, bool write) {
  if (in_operation_) {
    const Step& step = plan().steps[executor_->current_step()];
    const layrub::Op& op = graph_.net.graph.ops[step.op];
    const std::vector<TensorId>& writes = op.variants[step.variant].writes;
    if (op.kind == OpKind::kFeed && std::count(writes.begin(), writes.end(), tensor)) {
      // The layer reads or writes what it has fed: the compute lane must wait for the copy.
      backend_->Wait(layrub::Lane::kCompute, backend_->Record(layrub::Lane::kLoad));
      fed_ = 0;
      return {executor_->Address(tensor), backend_->device()};
    }
    LOG(FATAL) << op.name << " (step " << executor_->current_step() << ", variant "
               << op.variants[step.variant].name << ") " << (write ? "writes '" : "reads '")
               << graph_.net.graph.tensors[tensor].name
               << "', which the layer's memory traits do not declare.";
  }
  if (executor_->running()) executor_->AwaitLoad(tensor);
  if (write && !executor_->running() && input_version_[tensor] >= 0) return TakeInput(tensor);
  CHECK(!write || !graph_.is_recomputed[tensor] ||
        !ReadsAfterRecomputation(*executor_, graph_.net.graph, tensor))
      << "The value of '" << graph_.net.graph.tensors[tensor].name
      << "' cannot be changed here: strategy " << plan().strategy
      << " computes it again in the backward pass, and the change would be lost. Use "
         "--placement=keep, which computes nothing again.";
  CHECK(!write || executor_->MayWrite(tensor))
      << "The value of '" << graph_.net.graph.tensors[tensor].name
      << "' cannot be changed while the net runs: it is off the device, too. placement { "
         "offload_state: false } keeps it on the device.";
  const void* value = Value(tensor);
  if (!value && write && SetApart(tensor)) return {};
  CHECK(value) << Gone(tensor);
  if (write) executor_->NoteWrite(tensor);
  if (layouts_[tensor].block > 1)
    return {AsArray(tensor, static_cast<Dtype*>(const_cast<void*>(value)), write)};
  const bool on_device = value == executor_->Address(tensor);
  return {const_cast<void*>(value), on_device ? backend_->device() : nullptr};
}

/// Called when the user writes a derivative between a forward and its backward, for which the plan
/// has no place yet. Gives it memory of its own, which is zero. Returns false if the plan does not
/// allow that.
template <typename Dtype>
bool PlannedValues<Dtype>::SetApart(TensorId derivative) {
  const layrub::Role role = graph_.net.graph.tensors[derivative].role;
  if (role != layrub::Role::kActivationGradient || !graph_.keeps_all || executor_->running() ||
      !executor_->ready_for_backward())
    return false;
  for (auto each = bound_.begin(); each != bound_.end();) {
    if (each->second == derivative) {
      each->first->Unbind(nullptr, 0);
      each = bound_.erase(each);
    } else {
      ++each;
    }
  }
  return true;
}

template <typename Dtype>
bool PlannedValues<Dtype>::Holds(const SyncedMemory& memory) const {
  if (!Owns(memory)) return false;
  const TensorId tensor = memory.binding()->tensor;
  if (executor_->running() && done_ == executor_->current_step()) {
    // While the callbacks of an operation run, they can read what it has written.
    const Step& step = plan().steps[done_];
    const auto& writes = graph_.net.graph.ops[step.op].variants[step.variant].writes;
    if (std::count(writes.begin(), writes.end(), tensor)) return true;
  }
  return executor_->Find(tensor);
}

/// Called when the user writes an input that a layer has overwritten in place. Returns the input's
/// own address, where the next pass reads it.
template <typename Dtype>
Resolver::Place PlannedValues<Dtype>::TakeInput(TensorId tensor) {
  const NetGraph::Version& input = graph_.net.versions[input_version_[tensor]];
  const shared_ptr<SyncedMemory>& shown = graph_.flat.blobs[input.blob].blob->data();
  if (shown->user_owned()) return {const_cast<void*>(shown->cpu_data())};
  const void* value = executor_->Find(tensor);
  void* address = executor_->Address(input.data);
  if (value) CopyValue(address, value, graph_.net.graph.tensors[tensor].bytes);
  Show(shown, input.data);
  return {address, backend_->device()};
}

template <typename Dtype>
string PlannedValues<Dtype>::Gone(TensorId tensor) const {
  const auto is_derivative = [&](const NetGraph::Version& version) {
    return version.diff == tensor;
  };
  const auto& versions = graph_.net.versions;
  if (executor_->ready_for_backward() &&
      std::any_of(versions.begin(), versions.end(), is_derivative)) {
    const string remedy =
        graph_.keeps_all
            ? "To go backward from a layer, write the derivatives of its tops before."
            : "To set them and go backward in parts, run the forward in parts before: "
              "ForwardFromTo "
              "(Python: net.forward(start=FIRST, end=LAST)); or plan with --placement=keep.";
    return "The value of '" + graph_.net.graph.tensors[tensor].name +
           "' is gone: the forward has run under a memory plan, in which derivatives come with the "
           "whole Backward(). " +
           remedy;
  }
  if (graph_.net.graph.tensors[tensor].role == layrub::Role::kParameterGradient)
    return "The gradient '" + graph_.net.graph.tensors[tensor].name +
           "' cannot be read: the memory plan updates each parameter within the backward pass, "
           "when ApplyUpdate is called, and keeps no gradients. To keep them, set placement { "
           "keep_gradients: true } in the solver prototxt.";
  return "The value of '" + graph_.net.graph.tensors[tensor].name + "' is gone: strategy " +
         plan().strategy +
         " gave its memory to others after its last use, or another net has run in its place. To "
         "keep the data of this blob readable, "
         "put placement { keep: \"" +
         PublicName(tensor) +
         "\" } into the net or solver prototxt; to keep everything, derivatives too, use "
         "--placement=keep.";
}

#define INSTANTIATE_VALUES(Dtype)                                                  \
  template Resolver::Place PlannedValues<Dtype>::Resolve(int, bool);               \
  template bool PlannedValues<Dtype>::Holds(const SyncedMemory&) const;            \
  template string PlannedValues<Dtype>::Gone(TensorId) const;                      \
  template void PlannedValues<Dtype>::BeginPass(Pass);                             \
  template void PlannedValues<Dtype>::DropCopies();                                \
  template void PlannedValues<Dtype>::SetAddresses(const Step&, bool);             \
  template void PlannedValues<Dtype>::Feed(TensorId, const void*, int64_t);        \
  template void PlannedValues<Dtype>::FeedParameter(const Step&);                  \
  template int PlannedValues<Dtype>::values_in_blocks() const;                     \
  template void PlannedValues<Dtype>::CopyValue(void*, const void*, size_t) const; \
  template void PlannedValues<Dtype>::CopyValue(void*, SyncedMemory*, size_t) const
INSTANTIATE_VALUES(float);
INSTANTIATE_VALUES(double);

}  // namespace caffe
