#include "planned_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "caffe/operands.hpp"

namespace caffe {

using layrub::kNone;
using layrub::OpKind;
using layrub::TensorId;

template <typename Dtype>
PlannedGraph<Dtype>::PlannedGraph(const Net<Dtype>& of, FlatNet<Dtype> layers, NetGraph graph,
                                  const layrub::Plan& plan)
    : flat(std::move(layers)), net(std::move(graph)) {
  backward_variant.assign(flat.layers.size(), 0);
  is_recomputed.resize(net.graph.tensors.size());
  for (const layrub::Step& step : plan.steps) {
    if (step.recompute) {
      for (const TensorId tensor : net.graph.ops[step.op].variants[step.variant].writes)
        is_recomputed[tensor] = true;
    }
    if (!IsRun(net.graph, step, OpKind::kCompute)) continue;
    const int layer = net.op_owner[step.op];
    const NetGraph::LayerEntry& entry = net.layers[layer];
    if (entry.backward == step.op) backward_variant[layer] = entry.backward_variants[step.variant];
  }

  const auto extend = [](Ends* ends, int layer) {
    if (ends->first < 0) ends->first = layer;
    ends->last = layer;
  };
  const int count = static_cast<int>(flat.layers.size());
  forward_ends.resize(of.layers().size());
  backward_ends.resize(of.layers().size());
  for (int i = 0; i < count; ++i) extend(&forward_ends[flat.layers[i].owner], i);
  for (int i = count - 1; i >= 0; --i) {
    if (net.layers[i].backward != kNone) extend(&backward_ends[flat.layers[i].owner], i);
  }
  keeps_all = KeepsAllBlobs(of, plan);
  in_parts.assign(flat.blobs.size(), true);
  for (const NetGraph::Version& version : net.versions) in_parts[version.blob] = false;
}

template <typename Dtype>
bool PlannedGraph<Dtype>::FitsDirectly(int layer) const {
  const NetGraph::LayerEntry& entry = net.layers[layer];
  if (entry.backward == kNone || !entry.declared) return true;
  const auto& one = flat.layers[layer];
  const auto bottom = flat.Blobs(one.bottom), top = flat.Blobs(one.top);
  const MemoryTraits traits = one.layer->PlannedTraits(bottom, top, one.propagate_down);
  return one.layer->DirectVariant({traits.backward[backward_variant[layer]]}, bottom, top) == 0;
}

template <typename Dtype>
bool PlannedGraph<Dtype>::KeepsAllBlobs(const Net<Dtype>& of, const layrub::Plan& plan) const {
  std::map<int, bool> is_net;  // by owner
  for (size_t i = 0; i < flat.layers.size(); ++i) {
    const auto& layer = flat.layers[i];
    if (layer.sliced) return false;
    const Layer<Dtype>& outer = *of.layers()[layer.owner];
    if (layer.layer == &outer) continue;
    if (is_net.count(layer.owner) == 0) is_net[layer.owner] = outer.inner_net().net != nullptr;
    if (!is_net[layer.owner]) continue;
    if (layer.own || flat.TouchesBlocks(layer)) return false;
    if (!FitsDirectly(static_cast<int>(i))) return false;
  }
  std::map<int, TensorId> newest;  // by blob: versions come in order
  for (const NetGraph::Version& version : net.versions) newest[version.blob] = version.data;
  return std::all_of(newest.begin(), newest.end(), [&](const auto& blob) {
    const layrub::Tensor& tensor = net.graph.tensors[blob.second];
    return tensor.is_state() || tensor.role == layrub::Role::kUser || tensor.bytes == 0 ||
           std::binary_search(plan.readable.begin(), plan.readable.end(), blob.second);
  });
}

template struct PlannedGraph<float>;
template struct PlannedGraph<double>;

}  // namespace caffe
