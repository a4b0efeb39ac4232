// PlannedNet: layers that change the memory of the blobs that they are given.
#include <algorithm>

#include "layrub/device/device.hpp"
#include "planned_memory.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Step;
using layrub::TensorId;
using layrub::Variant;

/// A layer may have made `blob`, its `version`, share another blob's memory (ShareData, ShareDiff)
/// or use the layer's own (set_cpu_data). If so, copies the value to its planned place.
template <typename Dtype>
void PlannedNet<Dtype>::Settle(int version, Blob<Dtype>* blob) {
  const size_t bytes = size_t(blob->count()) * sizeof(Dtype);
  const auto settle = [&](const shared_ptr<SyncedMemory>& from, const shared_ptr<SyncedMemory>& to,
                          TensorId tensor) {
    const bool outside = tensor != kNone && memory_->net.outside.count(tensor);
    const bool as_planned = bytes <= to->size();  // the shape did not grow
    if (from == to || outside || !as_planned) return from;
    const bool there = from->binding() && from->binding() == to->binding();
    if (tensor == kNone || there) return to;
    CopyValue(backend_->device() ? to->mutable_gpu_data() : to->mutable_cpu_data(), from.get(),
              bytes);
    return to;
  };
  const NetGraph::Version& planned = memory_->net.versions[version];
  const auto& [data, diff] = memory_->handles[version];
  const shared_ptr<SyncedMemory> own_data = settle(blob->data(), data, planned.data);
  blob->ShareMemory(own_data, settle(blob->diff(), diff, planned.diff));
}

/// Zeroes the derivatives that a layer without traits may write in its forward.
template <typename Dtype>
void PlannedNet<Dtype>::ClearDerivatives(const Step& step) {
  const Variant& variant = memory_->net.graph.ops[step.op].variants[step.variant];
  for (TensorId tensor : variant.writes) {
    const layrub::Tensor& written = memory_->net.graph.tensors[tensor];
    const bool read = std::count(variant.reads.begin(), variant.reads.end(), tensor) > 0;
    if (written.role == layrub::Role::kActivationGradient && !read)
      backend_->Zero(executor_->Address(tensor), written.bytes);
  }
  if (memory_->net.layers[memory_->net.op_owner[step.op]].stand_ins.empty()) return;
  const TensorId workspace = variant.algorithms[0].workspace;
  backend_->Zero(executor_->Address(workspace), memory_->net.graph.tensors[workspace].bytes);
}

/// Notes which memory the forward of `layer`, which has no traits, has made its operands' diffs
/// share. They share it in its backward, too.
template <typename Dtype>
void PlannedNet<Dtype>::NoteSharedDiffs(int layer) {
  const NetGraph::LayerEntry& entry = memory_->net.layers[layer];
  auto& shared = memory_->shared_diffs[layer];
  shared.clear();
  const auto note = [&](const std::vector<int>& versions, const auto& blobs) {
    for (size_t i = 0; i < blobs.size(); ++i) {
      const shared_ptr<SyncedMemory>& diff = blobs[i]->diff();
      if (diff != memory_->versions[versions[i]]->diff()) shared.emplace(blobs[i], diff);
    }
  };
  note(entry.bottom, memory_->bottom[layer]);
  note(entry.top, memory_->top[layer]);
}

template <typename Dtype>
void PlannedNet<Dtype>::ShareDiffs(int layer) {
  const auto& shared = memory_->shared_diffs[layer];
  for (Blob<Dtype>* top : memory_->top[layer]) {
    const auto found = shared.find(top);
    if (found == shared.end()) continue;
    SyncedMemory& to = *found->second;  // takes the derivative that the layers above have written
    CopyValue(backend_->device() ? to.mutable_gpu_data() : to.mutable_cpu_data(), top->diff().get(),
              size_t(top->count()) * sizeof(Dtype));
  }
  for (const auto& [blob, diff] : shared) blob->ShareMemory(nullptr, diff);
}

#define INSTANTIATE_USER_LAYERS(Dtype)                                    \
  template void PlannedNet<Dtype>::Settle(int, Blob<Dtype>*);             \
  template void PlannedNet<Dtype>::ClearDerivatives(const layrub::Step&); \
  template void PlannedNet<Dtype>::NoteSharedDiffs(int);                  \
  template void PlannedNet<Dtype>::ShareDiffs(int)
INSTANTIATE_USER_LAYERS(float);
INSTANTIATE_USER_LAYERS(double);

}  // namespace caffe
