#ifndef CAFFE_NET_PLANNED_LOAN_HPP_
#define CAFFE_NET_PLANNED_LOAN_HPP_

#include <utility>
#include <vector>

#include "planned_memory.hpp"

namespace caffe {

/// While this exists, the public blobs that a layer without traits is given have the memory of its
/// versions. So the layer may keep pointers to the blobs from one call to another. Does nothing for
/// other layers.
template <typename Dtype>
class PlannedNet<Dtype>::Loan {
 public:
  Loan(PlannedNet* net, int layer) : net_(net) {
    const NetGraph::LayerEntry& entry = net->memory_->net.layers[layer];
    if (entry.declared) return;
    Lend(entry.bottom, net->memory_->bottom[layer]);
    Lend(entry.top, net->memory_->top[layer]);
  }
  ~Loan() {
    for (const auto& [memory, tensor] : moved_) net_->Show(memory, tensor);
    for (const Lent& lent : lent_) {
      lent.blob->Reshape(net_->memory_->shapes[lent.version]);
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
      const Blob<Dtype>* const planned = net_->memory_->versions[versions[i]];
      if (blob->data() == planned->data() && blob->diff() == planned->diff()) continue;
      lent_.push_back({blob, versions[i], blob->data(), blob->diff()});
      // Blobs that share this blob's own memory since set-up must show the same operand.
      const NetGraph::Version& version = net_->memory_->net.versions[versions[i]];
      ShowFirst(blob->data(), version.data);
      ShowFirst(blob->diff(), version.diff);
      blob->ShareMemory(planned->data(), planned->diff());
    }
  }

  void ShowFirst(const shared_ptr<SyncedMemory>& memory, layrub::TensorId tensor) {
    if (tensor == layrub::kNone || net_->memory_->net.outside.count(tensor)) return;
    const Binding* const binding = memory->binding();
    const bool moved = binding && binding->resolver == net_ && binding->tensor != tensor;
    if (moved) moved_.emplace_back(memory, binding->tensor);
    if (moved || !binding || IsDropped(*net_->net_, *memory)) net_->Show(memory, tensor);
  }

  PlannedNet* const net_;
  std::vector<Lent> lent_;
  /// Blobs' own memory with the version that it shows while the layer does not run.
  std::vector<std::pair<shared_ptr<SyncedMemory>, layrub::TensorId>> moved_;
  DISABLE_COPY_AND_ASSIGN(Loan);
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_LOAN_HPP_
