#ifndef CAFFE_NET_PLANNED_MEMORY_HPP_
#define CAFFE_NET_PLANNED_MEMORY_HPP_

#include <functional>
#include <map>
#include <vector>

#include "caffe/planned_net.hpp"
#include "caffe/util/channel_shape.hpp"
#include "net_graph.hpp"

namespace caffe {

/// A feed, and device memory beside the plan for its next batch.
template <typename Dtype>
struct PlannedNet<Dtype>::Source {
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

template <typename Dtype>
struct PlannedNet<Dtype>::Memory {
  /// The flat layers of one layer of the net that run first and last in a pass.
  struct Ends {
    int first = -1, last = -1;
  };

  /// A value in blocks as users see it: an array.
  struct Array {
    layrub::TensorId tensor;
    std::vector<Dtype> values;
    Dtype* blocks = nullptr;  ///< the value in the plan
    bool current = false;     ///< `values` equals the blocks: no step has run since
    bool written = false;     ///< users have written it; it must be copied back into the blocks
  };

  FlatNet<Dtype> flat;
  NetGraph net;
  std::vector<ChannelShape> layouts;  // by tensor
  std::vector<Array> arrays;          // of this pass
  std::vector<Source> sources;
  int64_t fed_ahead = 0;
  int64_t room = 0;  ///< bytes of the device's budget left for batches that are copied ahead
  std::vector<Binding> bindings;         // by tensor; addresses stay valid: never resized
  std::vector<pair<int, bool>> copied;   // tensors with sides; whether planned on the device
  std::vector<Blob<Dtype>*> versions;    // private blobs, by version
  std::vector<std::vector<int>> shapes;  // by version: planned
  std::vector<pair<shared_ptr<SyncedMemory>, shared_ptr<SyncedMemory>>>
      handles;  // by version: the memory of its data and diff
  std::vector<std::vector<Blob<Dtype>*>> bottom, top;  // by flat layer: the blobs it is given
  // By flat layer: memory that the forward of a layer without traits made its operands' diffs
  // share.
  std::vector<std::map<Blob<Dtype>*, shared_ptr<SyncedMemory>>> shared_diffs;
  std::vector<int> backward_variant;              // by flat layer
  std::vector<Ends> forward_ends, backward_ends;  // by layer of the net
  std::map<shared_ptr<SyncedMemory>, layrub::TensorId>
      bound;                        // memory outside this object that is bound to this plan
  std::vector<bool> is_recomputed;  // by tensor: whether the plan recomputes it
  std::vector<int> input_version;  // by tensor: the version of its blob that the user writes, or -1
  const std::function<void(int)>* update = nullptr;
  PendingReads* reads = nullptr;  // of the current forward, which adds its loss to `loss`
  Dtype* loss = nullptr;
  bool in_op = false;
  bool keeps_all = false;     ///< whether every blob is readable after a forward
  bool updated = false;       ///< whether an update has run since the last forward
  bool backward_due = false;  ///< asked for; it runs with the update (UpdatesWithinBackward)
  int32_t done = -1;          // the last operation step that has run in this pass
  size_t fed = 0;             // number of tensors that the current feed has copied on the load lane
  int backward_at = 0;        // the layer of the net whose backward began last
};

/// Thrown to leave a pass when a layer's tops have other shapes than planned.
template <typename Dtype>
struct PlannedNet<Dtype>::ShapeChange {
  int layer;
  vector<vector<int>> shapes;  ///< of its tops
  vector<vector<Dtype>> tops;  ///< their data
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_MEMORY_HPP_
