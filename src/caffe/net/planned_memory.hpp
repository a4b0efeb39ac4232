#ifndef CAFFE_NET_PLANNED_MEMORY_HPP_
#define CAFFE_NET_PLANNED_MEMORY_HPP_

#include <functional>
#include <map>
#include <vector>

#include "caffe/planned_net.hpp"
#include "caffe/util/channel_shape.hpp"
#include "net_graph.hpp"

namespace caffe {

/// A feed, and memory of the device beside the plan for what it will copy next.
template <typename Dtype>
struct PlannedNet<Dtype>::Source {
  int layer;  ///< of the flat net
  char* memory = nullptr;
  int64_t bytes = 0;
  bool refused = false;            ///< there is no memory, and will be none
  NextFeed next = {};              ///< what is there, or on its way
  std::vector<char*> places = {};  ///< of its values
  bool used = false;               ///< by a forward
  int missed = 0;                  ///< batches on end that no forward has used
  layrub::Event filled = {}, emptied = {};
};

template <typename Dtype>
struct PlannedNet<Dtype>::Memory {
  /// Those layers of a layer that is a net (FlatNet) which run first and last in a pass.
  struct Ends {
    int first = -1, last = -1;
  };

  /// What users see of a value in blocks: an array.
  struct Array {
    layrub::TensorId tensor;
    std::vector<Dtype> values;
    Dtype* blocks = nullptr;  ///< the value
    bool current = false;     ///< it is that of the blocks: the plan has not gone on since
    bool written = false;     ///< by users: it goes back into the blocks
  };

  FlatNet<Dtype> flat;
  NetGraph net;
  std::vector<ChannelShape> layouts;  // by tensor
  std::vector<Array> arrays;          // of this pass
  std::vector<Source> sources;
  int64_t fed_ahead = 0;
  int64_t room = 0;                      ///< of the device's budget, for what sources bring ahead
  std::vector<Binding> bindings;         // by tensor; addresses stay valid: never resized
  std::vector<pair<int, bool>> copied;   // tensors whose bindings have sides; planned on the device
  std::vector<Blob<Dtype>*> versions;    // private blobs, by version
  std::vector<std::vector<int>> shapes;  // by version: planned
  std::vector<pair<shared_ptr<SyncedMemory>, shared_ptr<SyncedMemory>>>
      handles;                                         // by version: where its data and diff belong
  std::vector<std::vector<Blob<Dtype>*>> bottom, top;  // by flat layer: what its bodies are given
  // By flat layer: memory that its forward, without traits, has given its operands for their diffs.
  std::vector<std::map<Blob<Dtype>*, shared_ptr<SyncedMemory>>> shared_diffs;
  std::vector<int> backward_form;                 // by flat layer
  std::vector<Ends> forward_ends, backward_ends;  // by layer of the net
  std::map<shared_ptr<SyncedMemory>, layrub::TensorId>
      bound;                         // memory outside this object that is bound to it
  std::vector<bool> computed_again;  // by tensor: some step of the plan is its recomputation
  std::vector<int> input_version;  // by tensor: the version of its blob that the user writes, or -1
  const std::function<void(int)>* update = nullptr;
  PendingReads* reads = nullptr;  // of a forward, and where its loss goes
  Dtype* loss = nullptr;
  bool in_op = false;
  bool keeps_all = false;  ///< after a forward, every blob is readable
  bool updated = false;    ///< since the last forward
  int32_t done = -1;       // the step whose body has run last in this pass
  size_t fed = 0;          // tensors that the Feed at work has copied by the load lane
  int backward_at = 0;     // the layer of the net whose backward began last
};

/// Thrown out of a pass by a layer whose tops no longer have the shapes that were planned.
template <typename Dtype>
struct PlannedNet<Dtype>::ShapeChange {
  int layer;
  vector<vector<int>> shapes;  ///< of its tops
  vector<vector<Dtype>> tops;  ///< their data
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_MEMORY_HPP_
