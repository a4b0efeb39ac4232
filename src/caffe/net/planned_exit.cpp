#include "planned_exit.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "caffe/operands.hpp"

namespace caffe {

using layrub::kNone;
using layrub::TensorId;

namespace {

/// Recomputes a forward of this pass on blobs outside the plan, for its tops and for the buffers
/// that a backward without a plan reads.
template <typename Dtype>
void RunAgain(Layer<Dtype>* layer, const vector<Blob<Dtype>*>& bottom,
              const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down) {
  const auto address = [](SyncedMemory* memory) {
    return Caffe::mode() == Caffe::GPU ? memory->mutable_gpu_data() : memory->mutable_cpu_data();
  };
  const MemoryTraits traits = layer->PlannedTraits(bottom, top, propagate_down);
  const int variant = layer->DirectVariant(traits.backward, bottom, top);
  LayerRun run;
  run.recompute = true;
  run.variant = std::max(variant, 0);
  run.saved.resize(traits.saved.size());
  vector<shared_ptr<SyncedMemory>> buffers;
  vector<pair<const void*, size_t>> saved(traits.saved.size());
  for (size_t i = 0; variant >= 0 && i < saved.size(); ++i) {
    const auto& reads = traits.backward[variant].reads;
    if (std::find(reads.begin(), reads.end(), Saved(static_cast<int>(i))) == reads.end()) continue;
    buffers.emplace_back(new SyncedMemory(static_cast<size_t>(traits.saved[i].bytes)));
    run.saved[i] = address(buffers.back().get());
    saved[i] = {run.saved[i], buffers.back()->size()};
  }
  const Algorithm algorithm = DirectAlgorithm(traits.forward);
  run.algorithm = algorithm.name;
  buffers.emplace_back(new SyncedMemory(static_cast<size_t>(algorithm.bytes)));
  if (algorithm.bytes > 0) run.workspace = address(buffers.back().get());
  {
    const struct Entered {
      Layer<Dtype>* layer;
      ~Entered() { layer->LeavePlan(); }
    } entered{layer};
    layer->EnterPlan(std::move(run));
    layer->Forward(bottom, top);
  }
  layer->ContinueDirect(variant, saved);
}

}  // namespace

template <typename Dtype>
std::vector<int> LayersToRecompute(const Net<Dtype>& net, const PlannedGraph<Dtype>& planned,
                                   const PlannedValues<Dtype>& values, int last) {
  const NetGraph& graph = planned.net;
  const auto& layers = planned.flat.layers;
  std::vector<bool> able(last), lacking(last);
  for (size_t o = 0; o < graph.op_owner.size(); ++o) {
    const int i = graph.op_owner[o];
    if (graph.graph.ops[o].pass != layrub::Pass::kForward || i >= last) continue;
    able[i] = graph.graph.ops[o].repeatable && IsOutermost(net, layers[i]);
  }
  const auto is_gone = [&](const SyncedMemory& memory) {
    return values.Owns(memory) && !values.executor().Find(memory.binding()->tensor);
  };
  for (int i = 0; i < last; ++i) {
    const NetGraph::LayerEntry& entry = graph.layers[i];
    const auto bottom = planned.flat.Blobs(layers[i].bottom),
               top = planned.flat.Blobs(layers[i].top);
    for (const Blob<Dtype>* blob : top) lacking[i] = lacking[i] || is_gone(*blob->data());
    // Buffers of layers that are made for the plan, or saved in blocks, cannot be used.
    if (layers[i].own || planned.flat.TouchesBlocks(layers[i])) lacking[i] = true;
    if (entry.backward == kNone || !entry.declared) continue;
    const MemoryTraits traits =
        layers[i].layer->PlannedTraits(bottom, top, layers[i].propagate_down);
    const OperandVariant& variant = traits.backward[planned.backward_variant[i]];
    if (!planned.FitsDirectly(i)) lacking[i] = true;
    for (const Operand& operand : variant.reads) {
      if (operand.kind != Operand::kSaved) continue;
      if (!values.executor().Find(entry.saved[operand.index])) lacking[i] = true;
    }
  }
  // After a layer of varying shapes, a forward needs only what the plan has kept for this case.
  if (net.phase() == TEST && last < static_cast<int>(layers.size())) {
    const auto& end = layers[last];
    const auto bottom = planned.flat.Blobs(end.bottom), top = planned.flat.Blobs(end.top);
    if (end.layer->Traits(bottom, top, end.propagate_down).varying) return {};
  }
  // Of the layers that write a blob, all run again or none.
  planned.flat.Spread(false, &able);
  planned.flat.Spread(true, &lacking);
  std::set<int> again;  // in the order of the net; the parts of sliced layers have one owner
  for (int i = 0; i < last; ++i) {
    if (!lacking[i] || !able[i]) continue;
    for (int layer = layers[i].owner; layer <= layers[i].last_owner; ++layer) again.insert(layer);
  }
  return {again.begin(), again.end()};
}

template <typename Dtype>
void HandOver(const PlannedGraph<Dtype>& graph, const PlannedValues<Dtype>& values, int ran) {
  const FlatNet<Dtype>& flat = graph.flat;
  for (int i = 0; i < ran; ++i) {
    if (!graph.net.layers[i].declared) continue;  // it uses its own buffers
    if (flat.layers[i].own || flat.TouchesBlocks(flat.layers[i])) continue;
    vector<pair<const void*, size_t>> saved;
    for (TensorId tensor : graph.net.layers[i].saved) {
      const size_t bytes = tensor == kNone ? 0 : graph.net.graph.tensors[tensor].bytes;
      saved.emplace_back(tensor == kNone ? nullptr : values.executor().Find(tensor), bytes);
    }
    flat.layers[i].layer->ContinueDirect(graph.backward_variant[i], saved);
  }
}

template <typename Dtype>
void RecomputeLayers(const Net<Dtype>& net, const std::vector<int>& layers) {
  std::set<const Blob<Dtype>*> missing;  // blobs that could not be recomputed
  for (const int i : layers) {
    const auto &bottom = net.bottom_vecs()[i], &top = net.top_vecs()[i];
    const bool there = std::none_of(bottom.begin(), bottom.end(), [&](const Blob<Dtype>* blob) {
      return missing.count(blob) || net.HasDropped(*blob->data());
    });
    if (there) RunAgain(net.layers()[i].get(), bottom, top, net.bottom_need_backward()[i]);
    if (!there) missing.insert(top.begin(), top.end());
  }
}

template <typename Dtype>
void ShareWithInnerNets(const Net<Dtype>& net) {
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const Layer<Dtype>& layer = *net.layers()[i];
    const InnerNet<Dtype> inner = layer.inner_net();
    const auto &bottom = net.bottom_vecs()[i], &top = net.top_vecs()[i];
    if (!inner.net || layer.Traits(bottom, top, net.bottom_need_backward()[i]).inherited) continue;
    const auto share = [&](const vector<string>& names, const vector<Blob<Dtype>*>& blobs) {
      for (size_t k = 0; k < names.size(); ++k)
        inner.net->blob_by_name(names[k])->ShareData(*blobs[k]);
    };
    share(inner.bottoms, bottom);
    share(inner.tops, top);
    ShareWithInnerNets(*inner.net);
  }
}

#define INSTANTIATE_EXIT(Dtype)                                                              \
  template std::vector<int> LayersToRecompute(const Net<Dtype>&, const PlannedGraph<Dtype>&, \
                                              const PlannedValues<Dtype>&, int);             \
  template void HandOver(const PlannedGraph<Dtype>&, const PlannedValues<Dtype>&, int);      \
  template void RecomputeLayers(const Net<Dtype>&, const std::vector<int>&);                 \
  template void ShareWithInnerNets(const Net<Dtype>&)
INSTANTIATE_EXIT(float);
INSTANTIATE_EXIT(double);

}  // namespace caffe
