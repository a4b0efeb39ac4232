#ifndef CAFFE_NET_PLANNED_LOAD_LANE_HPP_
#define CAFFE_NET_PLANNED_LOAD_LANE_HPP_

#include "caffe/util/host_feed.hpp"
#include "planned_memory.hpp"

namespace caffe {

/// Copies on the load lane into tensors that the current operation writes. What is on the device
/// already (PlannedNet::FeedAhead) it copies on the compute lane.
template <typename Dtype>
class PlannedNet<Dtype>::LoadLane : public HostFeed {
 public:
  explicit LoadLane(PlannedNet* net) : net_(net) {}
  /// Sets the flat layer whose forward runs.
  void set_layer(int layer) { layer_ = layer; }

  void Tell(uint64_t number) override { number_ = number; }
  bool Copy(SyncedMemory* to, const void* from, size_t bytes) override {
    if (!to->binding() || to->binding()->resolver != net_) return false;
    Binding& binding = net_->memory_->bindings[to->binding()->tensor];
    if (bytes > binding.bytes) return false;
    void* const address = net_->executor_->Address(binding.tensor);
    if (net_->CopyFromAhead(layer_, number_, {from, bytes}, address)) return true;
    ++net_->memory_->fed;
    net_->backend_->Copy(layrub::Lane::kLoad, address, from, static_cast<int64_t>(bytes));
    binding.readable = binding.writable = nullptr;  // the next access calls Resolve
    return true;
  }
  void Then(std::function<void()> done) override {
    net_->backend_->Call(layrub::Lane::kLoad, std::move(done));
  }

 private:
  PlannedNet* const net_;
  int layer_ = -1;
  uint64_t number_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_LOAD_LANE_HPP_
