#ifndef CAFFE_NET_PLANNED_EXIT_HPP_
#define CAFFE_NET_PLANNED_EXIT_HPP_

#include <vector>

#include "planned_values.hpp"

namespace caffe {

// How a pass continues without the plan that it began with. In this order: LayersToRecompute and
// HandOver, then Net::LeavePlan, which destroys graph and values, then RecomputeLayers.

/// Returns the layers of the net, among the first `last` flat layers, that must run again without
/// the plan: the plan would have recomputed their tops, or what their backward reads. If one of
/// several layers that write the same blob, in place, runs again, all do. Leaves out layers that
/// cannot run again.
template <typename Dtype>
std::vector<int> LayersToRecompute(const Net<Dtype>& net, const PlannedGraph<Dtype>& graph,
                                   const PlannedValues<Dtype>& values, int last);

/// Gives the first `ran` flat layers, which have run forward, what they have saved for their
/// backward.
template <typename Dtype>
void HandOver(const PlannedGraph<Dtype>& graph, const PlannedValues<Dtype>& values, int ran);

/// Runs forwards of this pass again, on the blobs of a net that has left its plan.
template <typename Dtype>
void RecomputeLayers(const Net<Dtype>& net, const std::vector<int>& layers);

/// Makes the blobs that stand for the bottoms and tops of layers inside their inner nets share the
/// data of these, as the inner nets have run on them.
template <typename Dtype>
void ShareWithInnerNets(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_EXIT_HPP_
