#include "net_graph.hpp"

#include <algorithm>

#include "caffe/planned_net.hpp"
#include "layrub/device/device.hpp"
#include "net_graph_names.hpp"
#include "param_layouts.hpp"

namespace caffe {

using layrub::Form;
using layrub::kNone;
using layrub::Life;
using layrub::Op;
using layrub::OpId;
using layrub::OpKind;
using layrub::Pass;
using layrub::Role;
using layrub::Tensor;
using layrub::TensorId;

template <typename Dtype>
NetGraph NetGraphBuilder<Dtype>::Build(int histories, const std::vector<string>& keep) {
  const int layers = static_cast<int>(flat_.layers.size());
  out_.graph.name = Word(net_.name_);
  out_.layers.resize(layers);
  newest_.assign(flat_.blobs.size(), -1);
  versions_of_.assign(flat_.blobs.size(), 0);
  FindTraits();
  LayInBlocks();
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
  }
  SeparateDeadDerivatives();
  MarkKept(keep);
  for (size_t i = 0; i < out_.versions.size(); ++i) out_.versions[i].diff = root_diff_[DiffRoot(i)];
  // Its many short lists are scattered among what the net has left free. A copy lies in one stretch
  // of memory, in the order in which planning goes through it.
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
    // Memory that a layer has shared once, at set-up, it shares under a plan.
    for (int t = 0; t < static_cast<int>(top.size()); ++t) {
      for (int b = 0; b < static_cast<int>(bottom.size()); ++b) {
        if (top[t] == bottom[b] || top[t]->count() != bottom[b]->count()) continue;
        if (top[t]->data() == bottom[b]->data()) traits.data_views.push_back({t, b});
        if (top[t]->diff() == bottom[b]->diff()) traits.diff_views.push_back({t, b});
      }
    }
    if (net_.phase_ == TRAIN) continue;
    // Nobody else's business without a backward pass: such a derivative is not part of the plan.
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
  for (const Form& form : op.forms) written_.insert(form.writes.begin(), form.writes.end());
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
    const int64_t bytes = external ? 0 : int64_t{blob.count()} * int64_t{sizeof(Dtype)};
    out_.param_data[i] = AddTensor(flat_.params[i].name, bytes, Role::kParameter, Life::kState);
    if (external) out_.outside.insert(out_.param_data[i]);
  }
}

/// Any operation may call a library; that two of them never work at the same time is why there is
/// one workspace, of one size under all plans, since its size may decide how results are rounded.
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
  // A test that goes on without the plan has nothing computed again.
  const bool may_end = net_.phase_ == TEST && layer <= last_varying_;
  op.repeatable = traits.repeatable && !traits.user_tops && !may_end;
  Form form = ToForm(layer, traits.forward, op.name);
  for (size_t i = 0; i < entry.top.size(); ++i) {
    // The layer weighs its loss with the top's diff, which holds the loss weight from set-up on.
    if (flat.layer->loss(i) == Dtype(0)) continue;
    AddOnce(DiffTensor(entry.top[i]), &form.reads);
    const TensorId data = out_.versions[entry.top[i]].data;
    const bool written = std::count(form.writes.begin(), form.writes.end(), data) > 0;
    if (!written) AddOnce(data, &form.reads);  // a view
  }
  for (TensorId saved : entry.saved) {
    if (saved != kNone) AddOnce(saved, &form.writes);
  }
  if (traits.fed && form.reads.empty() && !form.writes.empty()) op.kind = OpKind::kFeed;
  op.forms.push_back(std::move(form));
  AddOp(std::move(op), layer);
}

/// A pass that goes on without the plan after a layer of varying shapes finds all that it needs of
/// what came before: in training what layers have made that cannot run again (LeaveInPass), in a
/// test what the layers behind read.
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
    const std::vector<TensorId>& writes = op.forms[0].writes;
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

/// `form` reads a value that this layer's forward, or a later one, overwrites at its address.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::Overwritten(int layer, const OperandForm& form) {
  return std::any_of(form.reads.begin(), form.reads.end(), [&](const Operand& operand) {
    if (operand.kind != Operand::kBottomData && operand.kind != Operand::kTopData) return false;
    const auto found = overwritten_by_.find(TensorOf(layer, operand));
    const int last = operand.kind == Operand::kBottomData ? layer : layer + 1;
    return found != overwritten_by_.end() && found->second >= last;
  });
}

/// A layer without traits above `layer` may write a value that a backward form of it would read:
/// forms then differ.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::Mutated(int layer) {
  for (const OperandForm& form : traits_[layer].backward) {
    for (const Operand& operand : form.reads) {
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
  // The form of a pass without a plan, where it matters.
  int direct = -1;
  if (traits.declared && traits.backward.size() > 1 && Mutated(layer)) {
    direct =
        flat.layer->DirectForm(traits.backward, flat_.Blobs(flat.bottom), flat_.Blobs(flat.top));
    if (direct >= 0 && Overwritten(layer, traits.backward[direct])) direct = -1;
  }
  Op op;
  op.name = flat.name + "/backward";
  op.pass = Pass::kBackward;
  std::vector<int>& forms = out_.layers[layer].backward_forms;
  const auto usable = [&](const OperandForm& form) {
    return !traits.declared || !Overwritten(layer, form);
  };
  const bool reads_itself =
      std::any_of(traits.backward.begin(), traits.backward.end(),
                  [&](const OperandForm& form) { return !form.from_copy && usable(form); });
  for (size_t i = 0; i < traits.backward.size(); ++i) {
    const OperandForm& form = traits.backward[i];
    if (direct >= 0 && static_cast<int>(i) != direct) continue;
    if (!usable(form) || (direct < 0 && reads_itself && form.from_copy)) continue;
    op.forms.push_back(ToForm(layer, form, op.name));
    forms.push_back(static_cast<int>(i));
  }
  CHECK(!op.forms.empty() || traits.backward.empty())
      << "Layer " << flat.name
      << " needs for its backward values that a later layer overwrites in place.";
  if (op.forms.empty()) return;  // every bottom diff is a view
  const auto& tensors = out_.graph.tensors;
  for (const Form& form : op.forms) {
    for (TensorId tensor : form.reads) {
      const bool gradient = tensors[tensor].role == Role::kActivationGradient;
      if (!gradient || tensors[tensor].is_state() || written_.count(tensor)) continue;
      // Nobody computes this derivative: in Caffe it is zero.
      Op fill;
      fill.name = tensors[tensor].name + "/fill";
      fill.pass = Pass::kBackward;
      fill.kind = OpKind::kFill;
      fill.forms.resize(1);
      fill.forms[0].name = "zero";
      fill.forms[0].writes.push_back(tensor);
      fill.forms[0].bytes_moved = static_cast<double>(tensors[tensor].bytes);
      AddOp(std::move(fill), layer);
    }
  }
  out_.layers[layer].backward = AddOp(std::move(op), layer);
}

/// A layer without traits may write derivatives in its forward. Where the next operation that
/// touches one overwrites it, workspace stands in for it.
template <typename Dtype>
void NetGraphBuilder<Dtype>::SeparateDeadDerivatives() {
  std::vector<bool> overwritten(out_.graph.tensors.size());  // by tensor: by the next to touch it
  for (OpId o = static_cast<OpId>(out_.graph.ops.size()) - 1; o >= 0; --o) {
    std::vector<Form>& forms = out_.graph.ops[o].forms;
    if (out_.graph.ops[o].pass == Pass::kForward) {
      int64_t bytes = 0;
      const auto is_dead = [&](TensorId tensor) {
        const Tensor& written = out_.graph.tensors[tensor];
        const auto& reads = forms[0].reads;
        return overwritten[tensor] && !written.is_state() &&
               written.role == Role::kActivationGradient &&
               std::find(reads.begin(), reads.end(), tensor) == reads.end();
      };
      std::vector<TensorId>& writes = forms[0].writes;
      for (TensorId tensor : writes) {
        if (!is_dead(tensor)) continue;
        out_.layers[out_.op_owner[o]].stand_ins.emplace_back(tensor, bytes);
        bytes += layrub::Aligned(out_.graph.tensors[tensor].bytes);
      }
      writes.erase(std::remove_if(writes.begin(), writes.end(), is_dead), writes.end());
      if (bytes > 0) {
        const string name = out_.graph.ops[o].name + ":derivatives";
        const TensorId workspace = AddTensor(name, bytes, Role::kScratch, Life::kIteration);
        forms[0].scratch.push_back({workspace, 0, true, ""});
      }
    }
    for (const Form& form : forms) {
      for (TensorId tensor : form.writes) overwritten[tensor] = true;
    }
    for (const Form& form : forms) {
      for (TensorId tensor : form.reads) overwritten[tensor] = false;
    }
  }
}

/// Where each device has a part of the gradient: the numbers that it receives to have the sum.
static double NumbersReceived(const layrub::Layout& layout) {
  const layrub::Layout part = layout.OfGradient();
  return static_cast<double>(MostReceived(part, part.Summed()));
}

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
    op.forms.resize(1);
    Form& form = op.forms[0];
    form.name = "update";
    form.reads = {out_.param_data[i], diff};
    for (int k = 0; k < histories; ++k) {
      out_.history[i].push_back(
          AddTensor(name + ".history" + std::to_string(k), bytes, Role::kHistory, Life::kState));
      form.reads.push_back(out_.history[i].back());
    }
    form.writes = form.reads;
    form.bytes_moved = 2.0 * static_cast<double>(bytes) * static_cast<double>(form.reads.size());
    form.flops = form.bytes_moved / sizeof(Dtype);
    form.exchanged = NumbersReceived(layouts[i]) * sizeof(Dtype);
    AddOp(std::move(op), static_cast<int>(i));
  }
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::MarkKept(const std::vector<string>& keep) {
  std::vector<int> blobs = net_.net_output_blob_indices_;
  for (const string& name : keep) {
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
