#include "net_graph.hpp"

#include <algorithm>

#include "caffe/planned_net.hpp"
#include "layrub/device/device.hpp"
#include "net_graph_names.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Life;
using layrub::Op;
using layrub::OpId;
using layrub::OpKind;
using layrub::Pass;
using layrub::Role;
using layrub::Tensor;
using layrub::TensorId;
using layrub::Variant;

template <typename Dtype>
NetGraph NetGraphBuilder<Dtype>::Build(int histories, bool transient_gradients) {
  const int layers = static_cast<int>(flat_.layers.size());
  out_.graph.name = Word(net_.name_);
  out_.layers.resize(layers);
  newest_.assign(flat_.blobs.size(), -1);
  versions_of_.assign(flat_.blobs.size(), 0);
  FindTraits();
  ChooseBlocks();
  AddParams();
  AddLibraryWorkspace();
  for (int i = 0; i < layers; ++i) AddForward(i);
  KeepForRestOfPass();
  if (net_.phase_ == TRAIN) {
    FindOutputDiffs();
    for (int i = layers - 1; i >= 0; --i) {
      if (flat_.layers[i].need_backward) AddBackward(i);
    }
    if (histories >= 0) AddUpdates(histories);
    if (transient_gradients) UpdateWithinBackward();
  }
  SeparateDeadDerivatives();
  MarkKept();
  for (size_t i = 0; i < out_.versions.size(); ++i) out_.versions[i].diff = root_diff_[DiffRoot(i)];
  // The graph's many short lists are scattered in memory that the net has freed. A copy of the
  // graph is contiguous, in the order in which planning reads it.
  out_.graph = layrub::Graph(out_.graph);
  return std::move(out_);
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::FindTraits() {
  for (const auto& layer : flat_.layers) {
    const vector<Blob<Dtype>*> bottom = flat_.Blobs(layer.bottom), top = flat_.Blobs(layer.top);
    traits_.push_back(layer.layer->PlannedTraits(bottom, top, layer.propagate_down));
    MemoryTraits& traits = traits_.back();
    if (traits.varying) last_varying_ = static_cast<int>(traits_.size()) - 1;
    if (traits.declared) continue;
    // Memory that a layer has shared at set-up stays shared under a plan.
    for (int t = 0; t < static_cast<int>(top.size()); ++t) {
      for (int b = 0; b < static_cast<int>(bottom.size()); ++b) {
        if (top[t] == bottom[b] || top[t]->count() != bottom[b]->count()) continue;
        if (top[t]->data() == bottom[b]->data()) traits.data_views.push_back({t, b});
        if (top[t]->diff() == bottom[b]->diff()) traits.diff_views.push_back({t, b});
      }
    }
    if (net_.phase_ == TRAIN) continue;
    // Without a backward pass no other layer needs these derivatives, so they are not part of the
    // plan.
    const auto of_param = [](const Operand& operand) {
      return operand.kind == Operand::kParamDiff;
    };
    for (std::vector<Operand>* list : {&traits.forward.reads, &traits.forward.writes})
      list->erase(std::remove_if(list->begin(), list->end(), of_param), list->end());
  }
}

template <typename Dtype>
OpId NetGraphBuilder<Dtype>::AddOp(Op op, int owner) {
  op.name = Unique(Word(op.name), &names_);
  for (const Variant& variant : op.variants)
    written_.insert(variant.writes.begin(), variant.writes.end());
  out_.graph.ops.push_back(std::move(op));
  out_.op_owner.push_back(owner);
  return static_cast<OpId>(out_.graph.ops.size() - 1);
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddParams() {
  out_.param_data.assign(flat_.params.size(), kNone);
  out_.param_diff.assign(flat_.params.size(), kNone);
  for (size_t i = 0; i < flat_.params.size(); ++i) {
    const Blob<Dtype>& blob = *flat_.params[i].blob;
    const bool external = External(*blob.data());
    const bool fed = external && feeds_parameters_ && !blob.data()->user_owned();
    const int64_t bytes = external && !fed ? 0 : int64_t{blob.count()} * int64_t{sizeof(Dtype)};
    const TensorId data = AddTensor(flat_.params[i].name, bytes, Role::kParameter,
                                    fed ? Life::kIteration : Life::kState);
    out_.param_data[i] = data;
    if (fed) {
      out_.fed_parameters[data] = static_cast<int>(i);
    } else if (external) {
      out_.outside.insert(data);
    }
  }
}

/// Before the first layer that uses a parameter of another net, adds the operation that copies it.
template <typename Dtype>
void NetGraphBuilder<Dtype>::AddParameterFeeds(int layer) {
  for (const TensorId data : out_.layers[layer].param_data) {
    const auto fed = out_.fed_parameters.find(data);
    if (fed == out_.fed_parameters.end() || written_.count(data) > 0) continue;
    Op op;
    op.name = out_.graph.tensors[data].name + "/feed";
    op.kind = OpKind::kFeed;
    Variant variant;
    variant.name = "only";
    variant.writes = {data};
    variant.bytes_moved = static_cast<double>(out_.graph.tensors[data].bytes);
    op.variants.push_back(std::move(variant));
    out_.parameter_feeds[AddOp(std::move(op), layer)] = fed->second;
  }
}

/// Any operation may call a library. Two operations never run at the same time, so one workspace is
/// enough. It has the same size under all plans, because the size may affect how results are
/// rounded.
template <typename Dtype>
void NetGraphBuilder<Dtype>::AddLibraryWorkspace() {
  if (Caffe::mode() != Caffe::GPU) return;
  const int64_t bytes = Caffe::device().library_workspace_bytes();
  if (bytes > 0)
    out_.library_workspace = AddTensor("library_workspace", bytes, Role::kUser, Life::kState);
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddForward(int layer) {
  const MemoryTraits& traits = traits_[layer];
  NetGraph::LayerEntry& entry = out_.layers[layer];
  const auto& flat = flat_.layers[layer];
  const string& name = flat.name;
  entry.declared = traits.declared;
  entry.capturable = traits.declared && traits.capturable;
  for (int blob : flat.bottom) entry.bottom.push_back(newest_[blob]);
  for (int param : flat.params) entry.param_data.push_back(out_.param_data[param]);
  AddParameterFeeds(layer);
  for (size_t i = 0; i < flat.top.size(); ++i) entry.top.push_back(AddTop(layer, i, traits));
  for (size_t i = 0; i < entry.top.size(); ++i) newest_[flat.top[i]] = entry.top[i];
  for (int version : entry.bottom) {
    if (!traits.declared) mutated_by_[out_.versions[version].data] = layer;
  }
  for (const SavedBuffer& saved : traits.saved) {
    const bool needed = net_.phase_ == TRAIN && flat.need_backward;
    entry.saved.push_back(
        needed ? AddTensor(name + ":" + saved.name, saved.bytes, Role::kSaved, Life::kIteration)
               : kNone);
  }
  for (const View& view : traits.diff_views) {
    if (flat.need_backward)
      diff_parent_[DiffRoot(entry.top[view.top])] = DiffRoot(entry.bottom[view.bottom]);
  }
  Op op;
  op.name = name + "/forward";
  op.pass = Pass::kForward;
  // A test that continues without the plan recomputes nothing.
  const bool may_end = net_.phase_ == TEST && layer <= last_varying_;
  op.repeatable = traits.repeatable && !traits.user_tops && !may_end;
  Variant variant = ToVariant(layer, traits.forward, op.name);
  for (size_t i = 0; i < entry.top.size(); ++i) {
    // The layer multiplies its loss by the top's diff, which holds the loss weight from set-up on.
    if (flat.layer->loss(i) == Dtype(0)) continue;
    AddOnce(DiffTensor(entry.top[i]), &variant.reads);
    const TensorId data = out_.versions[entry.top[i]].data;
    const bool written = std::count(variant.writes.begin(), variant.writes.end(), data) > 0;
    if (!written) AddOnce(data, &variant.reads);  // a view
  }
  for (TensorId saved : entry.saved) {
    if (saved != kNone) AddOnce(saved, &variant.writes);
  }
  if (traits.fed && variant.reads.empty() && !variant.writes.empty()) op.kind = OpKind::kFeed;
  op.variants.push_back(std::move(variant));
  AddOp(std::move(op), layer);
}

/// Keeps the values that a pass needs if it continues without the plan after a layer of varying
/// shapes: in training the outputs of layers that cannot run again (LeaveInPass), in a test all
/// values that later layers read.
template <typename Dtype>
void NetGraphBuilder<Dtype>::KeepForRestOfPass() {
  const int count = last_varying_ + 1;
  std::vector<bool> able(count);
  for (const layrub::Op& op : out_.graph.ops) {
    const int layer = out_.op_owner[&op - out_.graph.ops.data()];
    if (layer < count) able[layer] = op.repeatable && IsOutermost(net_, flat_.layers[layer]);
  }
  flat_.Spread(false, &able);
  std::set<TensorId> made, needed;
  for (const layrub::Op& op : out_.graph.ops) {
    const int layer = out_.op_owner[&op - out_.graph.ops.data()];
    const std::vector<TensorId>& writes = op.variants[0].writes;
    if (layer >= count) continue;
    made.insert(writes.begin(), writes.end());
    if (net_.phase_ == TRAIN && !able[layer]) needed.insert(writes.begin(), writes.end());
  }
  for (int i = 0; i < count && net_.phase_ == TEST; ++i) {
    if (!traits_[i].varying) continue;
    std::set<TensorId> before;
    for (int k = 0; k < static_cast<int>(traits_.size()); ++k) {
      const NetGraph::LayerEntry& entry = out_.layers[k];
      for (const int version : k <= i ? entry.top : entry.bottom) {
        const TensorId data = out_.versions[version].data;
        if (k <= i) before.insert(data);
        if (k > i && before.count(data) > 0) needed.insert(data);
      }
    }
  }
  for (const TensorId tensor : needed) {
    Tensor& kept = out_.graph.tensors[tensor];
    kept.keep |= made.count(tensor) > 0 && !kept.is_state();
  }
}

/// Whether `variant` reads a value that this layer's forward, or a later one, overwrites in place.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::Overwritten(int layer, const OperandVariant& variant) {
  return std::any_of(variant.reads.begin(), variant.reads.end(), [&](const Operand& operand) {
    if (operand.kind != Operand::kBottomData && operand.kind != Operand::kTopData) return false;
    const auto found = overwritten_by_.find(TensorOf(layer, operand));
    const int last = operand.kind == Operand::kBottomData ? layer : layer + 1;
    return found != overwritten_by_.end() && found->second >= last;
  });
}

/// Whether a layer without traits above `layer` may write a value that some backward variant of
/// `layer` reads. Then the variants may give different results.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::Mutated(int layer) {
  for (const OperandVariant& variant : traits_[layer].backward) {
    for (const Operand& operand : variant.reads) {
      if (operand.kind != Operand::kBottomData && operand.kind != Operand::kTopData) continue;
      const auto found = mutated_by_.find(TensorOf(layer, operand));
      if (found != mutated_by_.end() && found->second > layer) return true;
    }
  }
  return false;
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddBackward(int layer) {
  const auto& flat = flat_.layers[layer];
  const MemoryTraits& traits = traits_[layer];
  // The variant that a pass without a plan uses, if the choice matters.
  int direct = -1;
  if (traits.declared && traits.backward.size() > 1 && Mutated(layer)) {
    direct =
        flat.layer->DirectVariant(traits.backward, flat_.Blobs(flat.bottom), flat_.Blobs(flat.top));
    if (direct >= 0 && Overwritten(layer, traits.backward[direct])) direct = -1;
  }
  Op op;
  op.name = flat.name + "/backward";
  op.pass = Pass::kBackward;
  std::vector<int>& variants = out_.layers[layer].backward_variants;
  const auto usable = [&](const OperandVariant& variant) {
    return !traits.declared || !Overwritten(layer, variant);
  };
  const bool reads_itself = std::any_of(
      traits.backward.begin(), traits.backward.end(),
      [&](const OperandVariant& variant) { return !variant.from_copy && usable(variant); });
  for (size_t i = 0; i < traits.backward.size(); ++i) {
    const OperandVariant& variant = traits.backward[i];
    if (direct >= 0 && static_cast<int>(i) != direct) continue;
    if (!usable(variant) || (direct < 0 && reads_itself && variant.from_copy)) continue;
    op.variants.push_back(ToVariant(layer, variant, op.name));
    variants.push_back(static_cast<int>(i));
  }
  CHECK(!op.variants.empty() || traits.backward.empty())
      << "Layer " << flat.name
      << " needs for its backward values that a later layer overwrites in place.";
  if (op.variants.empty()) return;  // every bottom diff is a view
  const auto& tensors = out_.graph.tensors;
  for (const Variant& variant : op.variants) {
    for (TensorId tensor : variant.reads) {
      const bool gradient = tensors[tensor].role == Role::kActivationGradient;
      if (!gradient || tensors[tensor].is_state() || written_.count(tensor)) continue;
      // No layer computes this derivative. In Caffe it is zero.
      Op fill;
      fill.name = tensors[tensor].name + "/fill";
      fill.pass = Pass::kBackward;
      fill.kind = OpKind::kFill;
      fill.variants.resize(1);
      fill.variants[0].name = "zero";
      fill.variants[0].writes.push_back(tensor);
      fill.variants[0].bytes_moved = static_cast<double>(tensors[tensor].bytes);
      AddOp(std::move(fill), layer);
    }
  }
  out_.layers[layer].backward = AddOp(std::move(op), layer);
}

/// A layer without traits may write derivatives in its forward. If the next operation that touches
/// such a derivative overwrites it, uses workspace instead of the tensor.
template <typename Dtype>
void NetGraphBuilder<Dtype>::SeparateDeadDerivatives() {
  std::vector<bool> overwritten(out_.graph.tensors.size());  // by tensor: by the next to use it
  for (OpId o = static_cast<OpId>(out_.graph.ops.size()) - 1; o >= 0; --o) {
    std::vector<Variant>& variants = out_.graph.ops[o].variants;
    if (out_.graph.ops[o].pass == Pass::kForward) {
      int64_t bytes = 0;
      const auto is_dead = [&](TensorId tensor) {
        const Tensor& written = out_.graph.tensors[tensor];
        const auto& reads = variants[0].reads;
        return overwritten[tensor] && !written.is_state() &&
               written.role == Role::kActivationGradient &&
               std::find(reads.begin(), reads.end(), tensor) == reads.end();
      };
      std::vector<TensorId>& writes = variants[0].writes;
      for (TensorId tensor : writes) {
        if (!is_dead(tensor)) continue;
        out_.layers[out_.op_owner[o]].stand_ins.emplace_back(tensor, bytes);
        bytes += layrub::Aligned(out_.graph.tensors[tensor].bytes);
      }
      writes.erase(std::remove_if(writes.begin(), writes.end(), is_dead), writes.end());
      if (bytes > 0) {
        const string name = out_.graph.ops[o].name + ":derivatives";
        const TensorId workspace = AddTensor(name, bytes, Role::kWorkspace, Life::kIteration);
        variants[0].algorithms.push_back({workspace, 0, true, ""});
      }
    }
    for (const Variant& variant : variants) {
      for (TensorId tensor : variant.writes) overwritten[tensor] = true;
    }
    for (const Variant& variant : variants) {
      for (TensorId tensor : variant.reads) overwritten[tensor] = false;
    }
  }
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::MarkKept() {
  std::vector<int> blobs = net_.net_output_blob_indices_;
  for (const string& name : keep_) {
    CHECK(net_.has_blob(name)) << "placement: keep names blob '" << name
                               << "', which the net lacks.";
    blobs.push_back(net_.blob_names_index_.at(name));
  }
  for (int blob : blobs) {
    Tensor& tensor = out_.graph.tensors[out_.versions[newest_[blob]].data];
    tensor.keep = !tensor.is_state();
  }
}

template class NetGraphBuilder<float>;
template class NetGraphBuilder<double>;

}  // namespace caffe
