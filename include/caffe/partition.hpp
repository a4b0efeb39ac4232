#ifndef CAFFE_PARTITION_HPP_
#define CAFFE_PARTITION_HPP_

#include <string>
#include <vector>

#include "caffe/layer_axes.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/search.hpp"
#include "layrub/placement/cost/machine.hpp"

// Divides a net among devices. The net is described by the axes of its layers, a search over them
// (layrub/partition/search.hpp) finds a partition, and each device runs a smaller net. That net is
// planned and run like any other. Its layers are those of the whole net, narrowed, and Exchange
// layers where a layer needs other parts of a blob than its device has.

namespace caffe {

/// A net and, at the same indices, its layers as operations of a partition::Network.
struct NetAxes {
  /// Filtered for one state, without Split layers. A SoftmaxWithLoss is two layers: the losses of
  /// all positions, which can be divided, and "LOSS/total", which sums them.
  NetParameter net;
  vector<LayerRule> rules;
  layrub::partition::Network network;
};

/// Describes `net`, which must be filtered for one state (Net::FilterNet). `shapes` is the same
/// net, except that its sources may be replaced by ones that open no data (WithoutSources). No
/// memory is allocated for blobs.
NetAxes AxesOf(const NetParameter& net, const NetParameter& shapes, const layrub::Machine& machine);

/// Returns the net that each device runs. Layers, blobs and parameters that exist in the whole net
/// keep their names. Parameters say which part of the whole they are (ParamSpec::layout). A bias
/// that is added to a sum of parts gets its own layer, named after its layer with "/bias" appended.
NetParameter LocalNet(const NetAxes& axes, const layrub::partition::Partition& partition);

/// Returns the partition of `net`, a test net for example, that shares parameters by name with
/// `other`, which is divided by `partition`. Shared parameters are placed on the devices as in
/// `other`.
layrub::partition::Partition PartitionLike(const NetAxes& net, const NetAxes& other,
                                           const layrub::partition::Partition& partition);

}  // namespace caffe

#endif  // CAFFE_PARTITION_HPP_
