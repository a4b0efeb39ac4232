// Layers that change the memory of the blobs that they are given.
#include <algorithm>

#include "layrub/device/device.hpp"
#include "planned_runner.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Step;
using layrub::TensorId;
using layrub::Variant;

/// A layer may have made `blob`, its `version`, share another blob's memory (ShareData, ShareDiff)
/// or use the layer's own (set_cpu_data). If so, copies the value to its planned place.
template <typename Dtype>
void PlannedRunner<Dtype>::Settle(int version, Blob<Dtype>* blob) {
  const size_t bytes = size_t(blob->count()) * sizeof(Dtype);
  const auto settle = [&](const shared_ptr<SyncedMemory>& from, const shared_ptr<SyncedMemory>& to,
                          TensorId tensor) {
    const bool outside = tensor != kNone && graph_.net.outside.count(tensor);
    const bool as_planned = bytes <= to->size();  // the shape did not grow
    if (from == to || outside || !as_planned) return from;
    const bool there = from->binding() && from->binding() == to->binding();
    if (tensor == kNone || there) return to;
    values_->CopyValue(backend_->device() ? to->mutable_gpu_data() : to->mutable_cpu_data(),
                       from.get(), bytes);
    return to;
  };
  const NetGraph::Version& planned = graph_.net.versions[version];
  const auto& [data, diff] = values_->memory(version);
  const shared_ptr<SyncedMemory> own_data = settle(blob->data(), data, planned.data);
  blob->ShareMemory(own_data, settle(blob->diff(), diff, planned.diff));
}

/// Zeroes the derivatives that a layer without traits may write in its forward.
template <typename Dtype>
void PlannedRunner<Dtype>::ClearDerivatives(const Step& step) {
  const Variant& variant = graph_.net.graph.ops[step.op].variants[step.variant];
  for (TensorId tensor : variant.writes) {
    const layrub::Tensor& written = graph_.net.graph.tensors[tensor];
    const bool read = std::count(variant.reads.begin(), variant.reads.end(), tensor) > 0;
    if (written.role == layrub::Role::kActivationGradient && !read)
      backend_->Zero(executor_->Address(tensor), written.bytes);
  }
  if (graph_.net.layers[graph_.net.op_owner[step.op]].stand_ins.empty()) return;
  const TensorId workspace = variant.algorithms[0].workspace;
  backend_->Zero(executor_->Address(workspace), graph_.net.graph.tensors[workspace].bytes);
}

/// Notes which memory the forward of `layer`, which has no traits, has made its operands' diffs
/// share. They share it in its backward, too.
template <typename Dtype>
void PlannedRunner<Dtype>::NoteSharedDiffs(int layer) {
  const NetGraph::LayerEntry& entry = graph_.net.layers[layer];
  auto& shared = shared_diffs_[layer];
  shared.clear();
  const auto note = [&](const std::vector<int>& versions, const auto& blobs) {
    for (size_t i = 0; i < blobs.size(); ++i) {
      const shared_ptr<SyncedMemory>& diff = blobs[i]->diff();
      if (diff != values_->version(versions[i])->diff()) shared.emplace(blobs[i], diff);
    }
  };
  note(entry.bottom, values_->bottom(layer));
  note(entry.top, values_->top(layer));
}

template <typename Dtype>
void PlannedRunner<Dtype>::ShareDiffs(int layer) {
  const auto& shared = shared_diffs_[layer];
  for (Blob<Dtype>* top : values_->top(layer)) {
    const auto found = shared.find(top);
    if (found == shared.end()) continue;
    SyncedMemory& to = *found->second;  // takes the derivative that the layers above have written
    values_->CopyValue(backend_->device() ? to.mutable_gpu_data() : to.mutable_cpu_data(),
                       top->diff().get(), size_t(top->count()) * sizeof(Dtype));
  }
  for (const auto& [blob, diff] : shared) blob->ShareMemory(nullptr, diff);
}

#define INSTANTIATE_USER_LAYERS(Dtype)                                       \
  template void PlannedRunner<Dtype>::Settle(int, Blob<Dtype>*);             \
  template void PlannedRunner<Dtype>::ClearDerivatives(const layrub::Step&); \
  template void PlannedRunner<Dtype>::NoteSharedDiffs(int);                  \
  template void PlannedRunner<Dtype>::ShareDiffs(int)
INSTANTIATE_USER_LAYERS(float);
INSTANTIATE_USER_LAYERS(double);

}  // namespace caffe
