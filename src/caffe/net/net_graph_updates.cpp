// The updates of parameters in the graph of a net.
#include <algorithm>
#include <utility>

#include "net_graph.hpp"
#include "param_layouts.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Life;
using layrub::Op;
using layrub::OpId;
using layrub::OpKind;
using layrub::Pass;
using layrub::Role;
using layrub::TensorId;
using layrub::Variant;

namespace {

/// By tensor, the first and the last operation that touches it, updates left out; kNone for none.
struct Touches {
  explicit Touches(const layrub::Graph& graph)
      : first(graph.tensors.size(), kNone), last(graph.tensors.size(), kNone) {
    for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
      if (graph.ops[o].kind == OpKind::kUpdate) continue;
      for (const Variant& variant : graph.ops[o].variants) {
        for (const auto* tensors : {&variant.reads, &variant.writes}) {
          for (const TensorId t : *tensors) {
            if (first[t] == kNone) first[t] = o;
            last[t] = o;
          }
        }
      }
    }
  }
  std::vector<OpId> first, last;
};

/// Where each device has a part of the gradient: the numbers that it receives to have the sum.
double NumbersReceived(const layrub::Layout& layout) {
  const layrub::Layout part = layout.OfGradient();
  return static_cast<double>(MaxReceived(part, part.Summed()));
}

}  // namespace

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddUpdates(int histories) {
  out_.history.resize(net_.learnable_params_.size());
  const vector<layrub::Layout> layouts = ParamLayouts(net_);
  for (size_t i = 0; i < net_.learnable_params_.size(); ++i) {
    if (net_.params_lr_[i] == 0) continue;
    const TensorId diff = ParamDiffTensor(i);
    const string name = out_.graph.tensors[out_.param_data[i]].name;
    const int64_t bytes = out_.graph.tensors[diff].bytes;
    Op op;
    op.name = name + "/update";
    op.pass = Pass::kUpdate;
    op.kind = OpKind::kUpdate;
    op.variants.resize(1);
    Variant& variant = op.variants[0];
    variant.name = "update";
    variant.reads = {out_.param_data[i], diff};
    for (int k = 0; k < histories; ++k) {
      out_.history[i].push_back(
          AddTensor(name + ".history" + std::to_string(k), bytes, Role::kHistory, Life::kState));
      out_.graph.tensors[out_.history[i].back()].host_access = true;
      variant.reads.push_back(out_.history[i].back());
    }
    variant.writes = variant.reads;
    variant.bytes_moved =
        2.0 * static_cast<double>(bytes) * static_cast<double>(variant.reads.size());
    variant.flops = variant.bytes_moved / sizeof(Dtype);
    variant.exchanged = NumbersReceived(layouts[i]) * sizeof(Dtype);
    AddOp(std::move(op), static_cast<int>(i));
  }
}

/// Moves each update behind the last operation that touches its parameter or its gradient. The
/// gradient then lives in the backward pass only. An update whose gradient is touched by a forward,
/// or by no operation, stays where it is.
template <typename Dtype>
void NetGraphBuilder<Dtype>::UpdateWithinBackward() {
  layrub::Graph& graph = out_.graph;
  const auto count = static_cast<OpId>(graph.ops.size());
  std::vector<std::vector<OpId>> behind(count);  // by operation: the updates that follow it
  std::vector<bool> moved(count);
  const Touches touches(graph);
  for (OpId o = 0; o < count; ++o) {
    if (graph.ops[o].kind != OpKind::kUpdate) continue;
    const size_t param = out_.op_owner[o];
    const TensorId gradient = out_.param_diff[param];
    const OpId first = touches.first[gradient];
    if (first == kNone || graph.ops[first].pass == Pass::kForward) continue;
    std::vector<Variant>& variants = graph.ops[first].variants;
    const bool written = std::all_of(variants.begin(), variants.end(), [&](const auto& variant) {
      return std::count(variant.writes.begin(), variant.writes.end(), gradient) > 0;
    });
    if (!written) continue;
    const OpId last = std::max(touches.last[gradient], touches.last[out_.param_data[param]]);
    behind[last].push_back(o);
    moved[o] = true;
    graph.ops[o].pass = Pass::kBackward;
    graph.tensors[gradient].life = Life::kIteration;
    out_.transient_gradients.push_back(gradient);
    // The gradient is marked as zero when the pass begins: the first operation overwrites it.
    for (Variant& variant : variants) std::erase(variant.reads, gradient);
  }
  std::vector<OpId> order;
  for (OpId o = 0; o < count; ++o) {
    if (!moved[o]) order.push_back(o);
    order.insert(order.end(), behind[o].begin(), behind[o].end());
  }
  std::vector<Op> ops;
  std::vector<int> owners;
  std::vector<OpId> number(count);
  for (const OpId o : order) {
    number[o] = static_cast<OpId>(ops.size());
    ops.push_back(std::move(graph.ops[o]));
    owners.push_back(out_.op_owner[o]);
  }
  graph.ops = std::move(ops);
  out_.op_owner = std::move(owners);
  for (NetGraph::LayerEntry& layer : out_.layers) {
    if (layer.backward != kNone) layer.backward = number[layer.backward];
  }
}

#define INSTANTIATE_UPDATES(Dtype)                       \
  template void NetGraphBuilder<Dtype>::AddUpdates(int); \
  template void NetGraphBuilder<Dtype>::UpdateWithinBackward()
INSTANTIATE_UPDATES(float);
INSTANTIATE_UPDATES(double);

}  // namespace caffe
