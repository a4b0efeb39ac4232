#ifndef CAFFE_PARTITION_HPP_
#define CAFFE_PARTITION_HPP_

#include <string>
#include <vector>

#include "caffe/layer_axes.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/partition/search.hpp"
#include "layrub/placement/cost/machine.hpp"

// Dividing a net among devices: the net as its layers' axes, a search over them
// (layrub/partition/search.hpp), and the smaller net that each device then runs. That is a net like
// any other, so a plan for it is made, checked and carried out as always. Its layers are those of
// the whole net, narrowed, and, where a layer needs other parts of a blob than its device has,
// Exchange layers.

namespace caffe {

/// A net, and its layers as operations of a network, at the same indices.
struct NetAxes {
  NetParameter net;  ///< of one state, without Split layers
  vector<LayerRule> rules;
  layrub::partition::Network network;
};

/// `net`: of one state (Net::FilterNet). `shapes`: as many layers, the same but for sources, which
/// may be ones that open no data (WithoutSources). No memory is taken for blobs.
NetAxes AxesOf(const NetParameter& net, const NetParameter& shapes, const layrub::Machine& machine);

/// The net that each device runs. Layers, blobs and parameters have the names that they have in
/// the whole net, where they are of it; parameters say what of the whole they are
/// (ParamSpec::layout). A bias that is added to a sum of parts is that of a layer of its own, with
/// "/bias" behind the name.
NetParameter LocalNet(const NetAxes& axes, const layrub::partition::Partition& partition);

/// The partition of a net that shares parameters by name with one that is divided as `partition`
/// says, as a test net does: those lie on the devices as they lie there.
layrub::partition::Partition PartitionLike(const NetAxes& net, const NetAxes& other,
                                           const layrub::partition::Partition& partition);

}  // namespace caffe

#endif  // CAFFE_PARTITION_HPP_
