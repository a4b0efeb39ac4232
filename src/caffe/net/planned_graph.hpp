#ifndef CAFFE_NET_PLANNED_GRAPH_HPP_
#define CAFFE_NET_PLANNED_GRAPH_HPP_

#include <vector>

#include "caffe/net.hpp"
#include "flat_net.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "net_graph.hpp"

namespace caffe {

/// A net and what its plan says about it. Does not change while the net is planned.
template <typename Dtype>
struct PlannedGraph {
  /// The flat layers of one layer of the net that run first and last in a pass.
  struct Ends {
    int first = -1, last = -1;
  };

  PlannedGraph(const Net<Dtype>& of, FlatNet<Dtype> layers, NetGraph graph,
               const layrub::Plan& plan);

  /// Whether the backward of a flat layer can run without the plan in the variant that the plan has
  /// chosen.
  bool FitsDirectly(int layer) const;

  FlatNet<Dtype> flat;
  NetGraph net;
  std::vector<int> backward_variant;              ///< by flat layer
  std::vector<bool> is_recomputed;                ///< by tensor: whether the plan recomputes it
  std::vector<Ends> forward_ends, backward_ends;  ///< by layer of the net
  /// Whether each blob has its value until the iteration ends, including blobs of nets inside
  /// layers. Layers in there cannot run again, so their backward must fit directly as well.
  bool keeps_all = false;
  std::vector<bool> in_parts;  ///< by blob: the plan computes only parts of it

 private:
  bool KeepsAllBlobs(const Net<Dtype>& of, const layrub::Plan& plan) const;
};

}  // namespace caffe

#endif  // CAFFE_NET_PLANNED_GRAPH_HPP_
