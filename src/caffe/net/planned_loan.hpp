#ifndef CAFFE_NET_PLANNED_LOAN_HPP_
#define CAFFE_NET_PLANNED_LOAN_HPP_

#include <utility>
#include <vector>

#include "planned_runner.hpp"

namespace caffe {

/// While this exists, the public blobs that a layer without traits is given have the memory of its
/// versions. So the layer may keep pointers to the blobs from one call to another. Does nothing for
/// other layers.
template <typename Dtype>
class PlannedRunner<Dtype>::Loan {
 public:
  Loan(PlannedRunner* runner, int layer) : runner_(runner), values_(runner->values_) {
    const NetGraph::LayerEntry& entry = runner->graph_.net.layers[layer];
    if (entry.declared) return;
    Lend(entry.bottom, values_->bottom(layer));
    Lend(entry.top, values_->top(layer));
  }
  ~Loan() {
    for (const auto& [memory, tensor] : moved_) values_->Show(memory, tensor);
    for (const Lent& lent : lent_) {
      lent.blob->Reshape(values_->shape(lent.version));
      lent.blob->ShareMemory(lent.data, lent.diff);
    }
  }

 private:
  struct Lent {
    Blob<Dtype>* blob;
    int version;
    shared_ptr<SyncedMemory> data, diff;  ///< its own
  };

  void Lend(const std::vector<int>& versions, const std::vector<Blob<Dtype>*>& blobs) {
    for (size_t i = 0; i < blobs.size(); ++i) {
      Blob<Dtype>* const blob = blobs[i];
      const Blob<Dtype>* const planned = values_->version(versions[i]);
      if (blob->data() == planned->data() && blob->diff() == planned->diff()) continue;
      lent_.push_back({blob, versions[i], blob->data(), blob->diff()});
      // Blobs that share this blob's own memory since set-up must show the same operand.
      const NetGraph::Version& version = runner_->graph_.net.versions[versions[i]];
      ShowFirst(blob->data(), version.data);
      ShowFirst(blob->diff(), version.diff);
      blob->ShareMemory(planned->data(), planned->diff());
    }
  }

  void ShowFirst(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor) {
    if (tensor == layrub::kNone || runner_->graph_.net.outside.count(tensor)) return;
    const Binding* const binding = memory->binding();
    const bool moved = values_->Owns(*memory) && binding->tensor != tensor;
    if (moved) moved_.emplace_back(memory, binding->tensor);
    if (moved || !binding || runner_->net_->HasDropped(*memory)) values_->Show(memory, tensor);
  }

  PlannedRunner* const runner_;
  PlannedValues<Dtype>* const values_;
  std::vector<Lent> lent_;
  /// Blobs' own memory with the version that it shows while the layer does not run.
  std::vector<std::pair<shared_ptr<SyncedMemory>, layrub::TensorId>> moved_;
  DISABLE_COPY_AND_ASSIGN(Loan);
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_LOAN_HPP_
