// PlannedNet: how a pass continues without the plan.
#include <algorithm>
#include <exception>
#include <map>
#include <set>

#include "planned_captures.hpp"

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

/// Whether a pass without a backward can continue under the plan: `layer` has varying shapes, its
/// `tops` fit into the planned bytes, and only layers of varying shapes read them.
template <typename Dtype>
bool HaveRoom(const FlatNet<Dtype>& flat, const NetGraph& graph, int layer,
              const vector<Blob<Dtype>*>& tops) {
  const auto varies = [&flat](const auto& one) {
    return one.layer->Traits(flat.Blobs(one.bottom), flat.Blobs(one.top), one.propagate_down)
        .varying;
  };
  if (!varies(flat.layers[layer])) return false;
  for (size_t i = 0; i < tops.size(); ++i) {
    const int version = graph.layers[layer].top[i];
    const TensorId data = graph.versions[version].data;
    const auto room = static_cast<size_t>(graph.graph.tensors[data].bytes);
    if (tops[i]->count() * sizeof(Dtype) > room) return false;
    for (size_t k = layer + 1; k < flat.layers.size(); ++k) {
      const vector<int>& read = graph.layers[k].bottom;
      if (std::count(read.begin(), read.end(), version) > 0 && !varies(flat.layers[k]))
        return false;
    }
  }
  return true;
}

/// Whether the backward of a layer can run as `variant`, which the plan has chosen, without the
/// plan.
template <typename Dtype>
bool FitsDirectly(const FlatNet<Dtype>& flat, const NetGraph& graph, int layer, int variant) {
  const NetGraph::LayerEntry& entry = graph.layers[layer];
  if (entry.backward == kNone || !entry.declared) return true;
  const auto& one = flat.layers[layer];
  const auto bottom = flat.Blobs(one.bottom), top = flat.Blobs(one.top);
  const MemoryTraits traits = one.layer->PlannedTraits(bottom, top, one.propagate_down);
  return one.layer->DirectVariant({traits.backward[variant]}, bottom, top) == 0;
}

/// The inner nets have run on the bottoms and tops of their layers. Makes the blobs that stand for
/// these inside share their data.
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

}  // namespace

/// Whether reading `memory` is an error because the plan has dropped its value.
template <typename Dtype>
bool PlannedNet<Dtype>::IsDropped(const Net<Dtype>& net, const SyncedMemory& memory) {
  const auto dropped = net.dropped_.find(&memory);
  return dropped != net.dropped_.end() && memory.binding() &&
         memory.binding()->resolver == dropped->second.get();
}

/// Returns the layers before `last` that must run again without the plan: the plan would have
/// recomputed their tops, or what their backward reads. If one of several layers that write the
/// same blob, in place, runs again, all do. Leaves out layers that cannot run again.
template <typename Dtype>
std::vector<int> PlannedNet<Dtype>::LayersToRecompute(int last) {
  const NetGraph& graph = memory_->net;
  const auto& layers = memory_->flat.layers;
  std::vector<bool> able(last), lacking(last);
  for (size_t o = 0; o < graph.op_owner.size(); ++o) {
    const int i = graph.op_owner[o];
    if (graph.graph.ops[o].pass != layrub::Pass::kForward || i >= last) continue;
    able[i] = graph.graph.ops[o].repeatable && IsOutermost(*net_, layers[i]);
  }
  const auto is_gone = [&](const Binding* binding) {
    return binding && binding->resolver == this && !executor_->Find(binding->tensor);
  };
  for (int i = 0; i < last; ++i) {
    const NetGraph::LayerEntry& entry = graph.layers[i];
    const auto bottom = memory_->flat.Blobs(layers[i].bottom),
               top = memory_->flat.Blobs(layers[i].top);
    for (const Blob<Dtype>* blob : top) lacking[i] = lacking[i] || is_gone(blob->data()->binding());
    // Fused layers save nothing, and buffers saved in blocks cannot be used.
    if (layers[i].fused || memory_->flat.TouchesBlocks(layers[i])) lacking[i] = true;
    if (entry.backward == kNone || !entry.declared) continue;
    const MemoryTraits traits =
        layers[i].layer->PlannedTraits(bottom, top, layers[i].propagate_down);
    const OperandVariant& variant = traits.backward[memory_->backward_variant[i]];
    if (!FitsDirectly(memory_->flat, graph, i, memory_->backward_variant[i])) lacking[i] = true;
    for (const Operand& operand : variant.reads) {
      if (operand.kind != Operand::kSaved) continue;
      if (!executor_->Find(entry.saved[operand.index])) lacking[i] = true;
    }
  }
  // After a layer of varying shapes, a forward needs only what the plan has kept for this case.
  if (net_->phase_ == TEST && last < static_cast<int>(layers.size())) {
    const auto& end = layers[last];
    const auto bottom = memory_->flat.Blobs(end.bottom), top = memory_->flat.Blobs(end.top);
    if (end.layer->Traits(bottom, top, end.propagate_down).varying) return {};
  }
  // Of the layers that write a blob, all run again or none.
  memory_->flat.Spread(false, &able);
  memory_->flat.Spread(true, &lacking);
  std::vector<int> again;
  for (int i = 0; i < last; ++i) {
    if (!lacking[i] || !able[i]) continue;
    for (int layer = layers[i].owner; layer <= layers[i].last_owner; ++layer)
      again.push_back(layer);
  }
  return again;
}

/// Makes the net leave the plan in the middle of a pass, with all values that the rest of the pass
/// reads. `ran` layers of the flat net have run forward. Of the first `complete` of them,
/// recomputes now what the plan would have recomputed later. Destroys this object.
template <typename Dtype>
void PlannedNet<Dtype>::LeaveInPass(int complete, int ran) {
  Net<Dtype>* const net = net_;
  std::vector<int> again;
  try {
    again = LayersToRecompute(complete);
    const FlatNet<Dtype>& flat = memory_->flat;
    for (int i = 0; i < ran; ++i) {
      if (!memory_->net.layers[i].declared) continue;  // it uses its own buffers
      if (flat.layers[i].fused || flat.TouchesBlocks(flat.layers[i])) continue;
      vector<pair<const void*, size_t>> saved;
      for (TensorId tensor : memory_->net.layers[i].saved) {
        const size_t bytes = tensor == kNone ? 0 : memory_->net.graph.tensors[tensor].bytes;
        saved.emplace_back(tensor == kNone ? nullptr : executor_->Find(tensor), bytes);
      }
      flat.layers[i].layer->ContinueDirect(memory_->backward_variant[i], saved);
    }
    net->LeavePlan();
  } catch (...) {
    LeaveAfterError();
    throw;
  }
  std::set<const Blob<Dtype>*> missing;  // blobs that could not be recomputed
  for (int i : again) {
    const auto& bottom = net->bottom_vecs_[i];
    const auto& top = net->top_vecs_[i];
    const bool there = std::none_of(bottom.begin(), bottom.end(), [&](const Blob<Dtype>* blob) {
      return missing.count(blob) || IsDropped(*net, *blob->data());
    });
    if (there) RunAgain(net->layers_[i].get(), bottom, top, net->bottom_need_backward_[i]);
    if (!there) missing.insert(top.begin(), top.end());
  }
}

/// Makes the pass continue with public blobs after the layer whose tops have other shapes than
/// planned. Destroys this object.
template <typename Dtype>
int PlannedNet<Dtype>::ContinueWithoutPlan(const ShapeChange& change) {
  Net<Dtype>* const net = net_;
  const int owner = memory_->flat.layers[change.layer].owner;
  LeaveInPass(change.layer, change.layer + 1);
  for (size_t i = 0; i < change.shapes.size(); ++i) {
    Blob<Dtype>* blob = net->top_vecs_[owner][i];
    blob->Reshape(change.shapes[i]);
    std::copy(change.tops[i].begin(), change.tops[i].end(), blob->mutable_cpu_data());
  }
  if (net->debug_info_) net->ForwardDebugInfo(owner);
  for (auto* callback : net->after_forward_) callback->run(owner);
  return owner + 1;
}

/// Whether each blob has its value until the iteration ends, including blobs of nets inside layers.
/// Layers in there cannot run again, so their backward must be able to run without the plan as
/// well.
template <typename Dtype>
bool PlannedNet<Dtype>::KeepsAllBlobs() const {
  const FlatNet<Dtype>& flat = memory_->flat;
  std::map<int, bool> is_net;  // by owner
  for (size_t i = 0; i < flat.layers.size(); ++i) {
    const auto& layer = flat.layers[i];
    const Layer<Dtype>& outer = *net_->layers_[layer.owner];
    if (layer.layer == &outer) continue;
    if (is_net.count(layer.owner) == 0) is_net[layer.owner] = outer.inner_net().net != nullptr;
    if (!is_net[layer.owner]) continue;
    if (layer.fused || flat.TouchesBlocks(layer)) return false;
    const int index = static_cast<int>(i);
    if (!FitsDirectly(flat, memory_->net, index, memory_->backward_variant[i])) return false;
  }
  const NetGraph& graph = memory_->net;
  const std::vector<TensorId>& readable = plan().readable;
  std::map<int, TensorId> newest;  // by blob: versions come in order
  for (const NetGraph::Version& version : graph.versions) newest[version.blob] = version.data;
  return std::all_of(newest.begin(), newest.end(), [&](const auto& blob) {
    const layrub::Tensor& tensor = graph.graph.tensors[blob.second];
    return tensor.is_state() || tensor.role == layrub::Role::kUser || tensor.bytes == 0 ||
           std::binary_search(readable.begin(), readable.end(), blob.second);
  });
}

template <typename Dtype>
void PlannedNet<Dtype>::LeaveForBackward() {
  CheckAtRest();
  CheckNoBackwardDue();
  CHECK(dead_.empty()) << dead_;
  CHECK(memory_->keeps_all && net_->phase_ == TRAIN)
      << "Net " << net_->name_
      << ": a partial backward can follow a forward that ran under a memory plan only where the "
         "plan keeps every blob (--placement=keep); run the forward with ForwardFromTo (Python: "
         "net.forward(start=FIRST, end=LAST)), or the whole Backward().";
  CHECK(!memory_->updated)
      << "Net " << net_->name_
      << ": a backward under a memory plan needs a forward just before it: the parameters have "
         "changed since the last one.";
  const int layers = static_cast<int>(memory_->flat.layers.size());
  const Net<Dtype>& net = *net_;
  LeaveInPass(layers, layers);
  ShareWithInnerNets(net);
}

/// Whether the user has written derivatives that a planned backward would not read. Those of net
/// outputs do not count: they have a place in the plan.
template <typename Dtype>
bool PlannedNet<Dtype>::UserHasWrittenDerivatives() const {
  if (!memory_->keeps_all || !executor_->ready_for_backward()) return false;
  const NetGraph& graph = memory_->net;
  return std::any_of(graph.versions.begin(), graph.versions.end(), [&](const auto& version) {
    if (version.diff == kNone || graph.outside.count(version.diff)) return false;
    const SyncedMemory& diff = *memory_->flat.blobs[version.blob].blob->diff();
    return !diff.binding() && diff.head() != SyncedMemory::UNINITIALIZED;
  });
}

template <typename Dtype>
void PlannedNet<Dtype>::LeaveAfterError() noexcept {
  captures_->Abandon();
  try {
    net_->LeavePlan(true);
  } catch (const std::exception& error) {
    dead_ =
        "Net " + net_->name_ + " is dead: an error has ended a pass under its memory plan, and " +
        "the values of its parameters were lost with it (" + error.what() + "): make a new net.";
  }
}

/// Leaves a planned pass if `layer`, which has just run, has given its tops other shapes than
/// planned. Takes the values of the tops along.
template <typename Dtype>
void PlannedNet<Dtype>::LeaveIfReshaped(int layer) {
  const vector<Blob<Dtype>*>& tops = memory_->top[layer];
  bool as_planned = true;
  for (size_t i = 0; i < tops.size(); ++i) {
    as_planned &= tops[i]->shape() == memory_->shapes[memory_->net.layers[layer].top[i]];
  }
  if (as_planned) return;
  if (net_->phase_ == TEST && HaveRoom(memory_->flat, memory_->net, layer, tops)) return;
  backend_->Synchronize();  // the load lane may still be copying the tops
  ShapeChange change{layer, {}, {}};
  for (const Blob<Dtype>* top : tops) {
    change.shapes.push_back(top->shape());
    change.tops.emplace_back(top->cpu_data(), top->cpu_data() + top->count());
  }
  throw change;
}

#define INSTANTIATE_LEAVING(Dtype)                                                    \
  template bool PlannedNet<Dtype>::IsDropped(const Net<Dtype>&, const SyncedMemory&); \
  template std::vector<int> PlannedNet<Dtype>::LayersToRecompute(int);                \
  template int PlannedNet<Dtype>::ContinueWithoutPlan(const ShapeChange&);            \
  template bool PlannedNet<Dtype>::KeepsAllBlobs() const;                             \
  template void PlannedNet<Dtype>::LeaveForBackward();                                \
  template bool PlannedNet<Dtype>::UserHasWrittenDerivatives() const;                 \
  template void PlannedNet<Dtype>::LeaveAfterError() noexcept;                        \
  template void PlannedNet<Dtype>::LeaveIfReshaped(int)
INSTANTIATE_LEAVING(float);
INSTANTIATE_LEAVING(double);

}  // namespace caffe
