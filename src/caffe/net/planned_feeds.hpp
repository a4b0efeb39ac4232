#ifndef CAFFE_NET_PLANNED_FEEDS_HPP_
#define CAFFE_NET_PLANNED_FEEDS_HPP_

#include <cstdint>
#include <vector>

#include "caffe/util/host_feed.hpp"
#include "planned_values.hpp"

namespace caffe {

/// How batches of sources reach a device: if the next batch is loaded and the budget leaves memory
/// for it beside the plan, it is copied during the backward pass. Its forward copies it from there
/// to its planned place, which holds the previous batch until the backward is over.
template <typename Dtype>
class PlannedFeeds {
 public:
  /// Nothing is copied ahead without a device, or in the TEST phase.
  PlannedFeeds(const Net<Dtype>& net, const PlannedGraph<Dtype>& graph,
               PlannedValues<Dtype>* values, const PlacementOptions& options);
  ~PlannedFeeds();

  /// To be called when a backward pass has been queued.
  void CopyAhead();
  /// Copies `values` of batch `number` to `to` on the compute lane, if they are on the device.
  bool Take(int layer, uint64_t number, const NextFeed::Values& values, void* to);
  /// As PlannedNet::fed_ahead.
  int64_t taken() const { return taken_; }

 private:
  /// A feed, and device memory beside the plan for its next batch.
  struct Source {
    int layer;  ///< of the flat net
    char* memory = nullptr;
    int64_t bytes = 0;
    bool refused = false;            ///< there is no memory for it, now or later
    NextFeed next = {};              ///< the batch in the memory, or being copied there
    std::vector<char*> places = {};  ///< addresses of its values
    bool used = false;               ///< a forward has used it
    int missed = 0;                  ///< number of consecutive batches that no forward has used
    layrub::Event filled = {}, emptied = {};
  };

  bool MakeRoom(const NextFeed& next, Source* source);
  void Drop(Source* source);

  const PlannedGraph<Dtype>& graph_;
  layrub::Backend* const backend_;
  std::vector<Source> sources_;
  int64_t room_ = 0;  ///< bytes of the device's budget left for batches that are copied ahead
  int64_t taken_ = 0;
  DISABLE_COPY_AND_ASSIGN(PlannedFeeds);
};

/// What a feed layer is given for its forward: copies on the load lane into tensors that the
/// current operation writes. What is on the device already it copies on the compute lane.
template <typename Dtype>
class LoadLane : public HostFeed {
 public:
  LoadLane(int layer, PlannedValues<Dtype>* values, PlannedFeeds<Dtype>* feeds)
      : layer_(layer), values_(values), feeds_(feeds) {}

  void Tell(uint64_t number) override { number_ = number; }
  bool Copy(SyncedMemory* to, const void* from, size_t bytes) override {
    if (!values_->Owns(*to) || bytes > to->binding()->bytes) return false;
    const layrub::TensorId tensor = to->binding()->tensor;
    void* const address = values_->executor().Address(tensor);
    if (!feeds_->Take(layer_, number_, {from, bytes}, address))
      values_->Feed(tensor, from, static_cast<int64_t>(bytes));
    return true;
  }
  void Then(std::function<void()> done) override {
    values_->backend().Call(layrub::Lane::kLoad, std::move(done));
  }

 private:
  const int layer_;  ///< of the flat net
  PlannedValues<Dtype>* const values_;
  PlannedFeeds<Dtype>* const feeds_;
  uint64_t number_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_FEEDS_HPP_
