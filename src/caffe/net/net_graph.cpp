#include "net_graph.hpp"

#include <algorithm>

#include "caffe/planned_net.hpp"
#include "layrub/device.hpp"

namespace caffe {

using layrub::Form;
using layrub::kNone;
using layrub::Op;
using layrub::OpId;
using layrub::OpKind;
using layrub::Pass;
using layrub::Role;
using layrub::Tensor;
using layrub::TensorId;

namespace {

/// `name` as one word.
string Word(string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isspace(c); }, '_');
  return name.empty() ? "unnamed" : name;
}

string Unique(string name, std::set<string>* taken) {
  string unique = name;
  for (int i = 2; !taken->insert(unique).second; ++i) unique = name + "#" + std::to_string(i);
  return unique;
}

void AddOnce(TensorId tensor, std::vector<TensorId>* list) {
  if (std::find(list->begin(), list->end(), tensor) == list->end()) list->push_back(tensor);
}

}  // namespace

template <typename Dtype>
NetGraph NetGraphBuilder<Dtype>::Build(int histories, const std::vector<string>& keep) {
  const int layers = static_cast<int>(flat_.layers.size());
  out_.graph.name = Word(net_.name_);
  out_.layers.resize(layers);
  newest_.assign(flat_.blobs.size(), -1);
  versions_of_.assign(flat_.blobs.size(), 0);
  for (const auto& layer : flat_.layers) {
    traits_.push_back(layer.layer->Traits(flat_.Blobs(layer.bottom), flat_.Blobs(layer.top),
                                          layer.propagate_down));
  }
  AddParams();
  AddLibraryWorkspace();
  for (int i = 0; i < layers; ++i) AddForward(i);
  if (net_.phase_ == TRAIN) {
    for (int i = layers - 1; i >= 0; --i) {
      if (flat_.layers[i].need_backward) AddBackward(i);
    }
    if (histories >= 0) AddUpdates(histories);
  }
  MarkKept(keep);
  for (size_t i = 0; i < out_.versions.size(); ++i) out_.versions[i].diff = root_diff_[DiffRoot(i)];
  // Its many short lists are scattered among what the net has left free. A copy lies in one stretch
  // of memory, in the order in which planning goes through it.
  out_.graph = layrub::Graph(out_.graph);
  return std::move(out_);
}

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::AddTensor(const string& name, int64_t bytes, Role role,
                                           bool persistent, int32_t group) {
  Tensor tensor;
  tensor.name = Unique(Word(name), &names_);
  tensor.bytes = bytes;
  tensor.role = role;
  tensor.persistent = persistent;
  tensor.blob = group;
  out_.graph.tensors.push_back(tensor);
  return static_cast<TensorId>(out_.graph.tensors.size() - 1);
}

template <typename Dtype>
OpId NetGraphBuilder<Dtype>::AddOp(Op op, int owner) {
  op.name = Unique(Word(op.name), &names_);
  out_.graph.ops.push_back(std::move(op));
  out_.op_owner.push_back(owner);
  return static_cast<OpId>(out_.graph.ops.size() - 1);
}

template <typename Dtype>
bool NetGraphBuilder<Dtype>::External(const SyncedMemory& memory) const {
  if (memory.user_owned() || net_.borrowed_.count(&memory)) return true;
  return memory.binding() && memory.binding()->resolver != net_.planned_.get();
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddParams() {
  out_.param_data.assign(flat_.params.size(), kNone);
  out_.param_diff.assign(flat_.params.size(), kNone);
  for (size_t i = 0; i < flat_.params.size(); ++i) {
    const Blob<Dtype>& blob = *flat_.params[i].blob;
    const bool external = External(*blob.data());
    const int64_t bytes = external ? 0 : int64_t{blob.count()} * int64_t{sizeof(Dtype)};
    out_.param_data[i] = AddTensor(flat_.params[i].name, bytes, Role::kParameter, true);
    if (external) out_.outside.insert(out_.param_data[i]);
  }
}

/// Any operation may call a library; that two of them never work at the same time is why there is
/// one workspace, of one size under all plans, since its size may decide how results are rounded.
template <typename Dtype>
void NetGraphBuilder<Dtype>::AddLibraryWorkspace() {
  if (Caffe::mode() != Caffe::GPU) return;
  const int64_t bytes = Caffe::device().library_workspace_bytes();
  if (bytes > 0) out_.library_workspace = AddTensor("library_workspace", bytes, Role::kUser, true);
}

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::ParamDiffTensor(int param) {
  TensorId& diff = out_.param_diff[param];
  if (diff == kNone) {
    const int64_t bytes = int64_t{flat_.params[param].blob->count()} * int64_t{sizeof(Dtype)};
    diff = AddTensor(out_.graph.tensors[out_.param_data[param]].name + ".grad", bytes,
                     Role::kParameterGradient, true);
  }
  return diff;
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddForward(int layer) {
  const MemoryTraits& traits = traits_[layer];
  NetGraph::LayerEntry& entry = out_.layers[layer];
  const auto& flat = flat_.layers[layer];
  const string& name = flat.name;
  for (int blob : flat.bottom) entry.bottom.push_back(newest_[blob]);
  for (size_t i = 0; i < flat.top.size(); ++i) entry.top.push_back(AddTop(layer, i, traits));
  for (int param : flat.params) entry.param_data.push_back(out_.param_data[param]);
  for (const SavedBuffer& saved : traits.saved) {
    const bool needed = net_.phase_ == TRAIN && flat.need_backward;
    entry.saved.push_back(
        needed ? AddTensor(name + ":" + saved.name, saved.bytes, Role::kSaved, false) : kNone);
  }
  Op op;
  op.name = name + "/forward";
  op.pass = Pass::kForward;
  op.repeatable = traits.repeatable && !traits.user_tops;
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
  for (size_t i = 0; i < entry.top.size(); ++i) newest_[flat.top[i]] = entry.top[i];
  if (!flat.need_backward) return;
  for (const View& view : traits.diff_views) {
    diff_parent_[DiffRoot(entry.top[view.top])] = DiffRoot(entry.bottom[view.bottom]);
  }
}

template <typename Dtype>
int NetGraphBuilder<Dtype>::AddTop(int layer, int top, const MemoryTraits& traits) {
  const int blob = flat_.layers[layer].top[top];
  const int before = newest_[blob];
  if (before >= 0 && (!traits.declared || out_.outside.count(out_.versions[before].data))) {
    overwritten_by_[out_.versions[before].data] = layer;
    return before;  // in place without traits, or on memory outside the plan: one address
  }
  NetGraph::Version version;
  version.blob = blob;
  version.number = versions_of_[blob]++;
  out_.versions.push_back(version);
  const int id = static_cast<int>(out_.versions.size() - 1);
  diff_parent_.push_back(id);
  root_diff_.push_back(kNone);
  for (const View& view : traits.data_views) {
    if (view.top == top) version.data = out_.versions[out_.layers[layer].bottom[view.bottom]].data;
  }
  if (version.data == kNone) {
    const bool source = !traits.declared && flat_.layers[layer].bottom.empty();
    const bool external = source || (traits.user_tops && External(*flat_.blobs[blob].blob->data()));
    const bool user = source || traits.user_tops;
    // Versions of one blob, views included, have one group.
    const int32_t group =
        before >= 0 ? out_.graph.tensors[out_.versions[before].data].blob : groups_++;
    // A user may reshape an input, as far as its memory goes, and write it before the next plan.
    const auto input_bytes = static_cast<int64_t>(flat_.blobs[blob].blob->data()->size());
    version.data = AddTensor(VersionName(id),
                             external ? 0
                             : user   ? input_bytes
                                      : BlobBytes(blob),
                             user ? Role::kUser : Role::kActivation, user, user ? kNone : group);
    if (external) out_.outside.insert(version.data);
  }
  out_.versions[id] = version;
  if (flat_.layers[layer].layer->loss(top) != Dtype(0)) {
    root_diff_[id] =
        AddTensor(VersionName(id) + ".grad", BlobBytes(blob), Role::kActivationGradient, true);
    diff_written_.insert(root_diff_[id]);
  }
  return id;
}

template <typename Dtype>
int NetGraphBuilder<Dtype>::DiffRoot(int version) {
  while (diff_parent_[version] != version) version = diff_parent_[version];
  return version;
}

template <typename Dtype>
string NetGraphBuilder<Dtype>::VersionName(int version) const {
  const NetGraph::Version& of = out_.versions[version];
  return flat_.blobs[of.blob].name + (of.number ? "@" + std::to_string(of.number) : "");
}

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::DiffTensor(int version) {
  const int root = DiffRoot(version);
  if (root_diff_[root] == kNone) {
    const int blob = out_.versions[root].blob;
    const auto group = diff_group_.emplace(blob, groups_);
    if (group.second) ++groups_;
    // Nobody but the user writes the derivative of an output.
    const auto& outputs = net_.net_output_blob_indices_;
    const bool output =
        newest_[out_.versions[version].blob] == version &&
        std::find(outputs.begin(), outputs.end(), out_.versions[version].blob) != outputs.end();
    root_diff_[root] =
        AddTensor(VersionName(root) + ".grad", BlobBytes(blob), Role::kActivationGradient, output,
                  output ? kNone : group.first->second);
  }
  return root_diff_[root];
}

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::TensorOf(int layer, const Operand& operand) {
  const NetGraph::LayerEntry& entry = out_.layers[layer];
  switch (operand.kind) {
    case Operand::kBottomData:
      return out_.versions[entry.bottom.at(operand.index)].data;
    case Operand::kTopData:
      return out_.versions[entry.top.at(operand.index)].data;
    case Operand::kBottomDiff:
      return DiffTensor(entry.bottom.at(operand.index));
    case Operand::kTopDiff:
      return DiffTensor(entry.top.at(operand.index));
    case Operand::kParamData:
      return entry.param_data.at(operand.index);
    case Operand::kParamDiff:
      return ParamDiffTensor(flat_.layers[layer].params.at(operand.index));
    case Operand::kSaved:
      return entry.saved.at(operand.index);
  }
  return kNone;
}

template <typename Dtype>
Form NetGraphBuilder<Dtype>::ToForm(int layer, const OperandForm& form, const string& op_name) {
  Form out;
  out.name = form.name.empty() ? "only" : Word(form.name);
  std::map<TensorId, int> uses;
  for (const Operand& operand : form.reads) {
    const TensorId tensor = TensorOf(layer, operand);
    ++uses[tensor];
    AddOnce(tensor, &out.reads);
  }
  for (const Operand& operand : form.writes) AddOnce(TensorOf(layer, operand), &out.writes);
  const auto& tensors = out_.graph.tensors;
  for (const auto& pair : form.may_alias) {
    const TensorId output = TensorOf(layer, pair.first), input = TensorOf(layer, pair.second);
    // Two operands may be one tensor (both bottoms views of one blob): the layer's promise is for
    // distinct ones.
    const bool plain = uses[input] == 1 && output != input && !tensors[output].persistent &&
                       !tensors[input].persistent && tensors[output].bytes <= tensors[input].bytes;
    if (plain) out.may_alias.push_back({output, input});
  }
  for (const Workspace& workspace : Workspaces(form)) {
    layrub::Scratch scratch{kNone, workspace.seconds, workspace.deterministic, workspace.name};
    const string name = workspace.name.empty() ? "scratch" : workspace.name;
    if (workspace.bytes > 0)
      scratch.tensor = AddTensor(op_name + ":" + name, workspace.bytes, Role::kScratch, false);
    out.scratch.push_back(std::move(scratch));
  }
  for (TensorId tensor : out.reads) out.bytes_moved += static_cast<double>(tensors[tensor].bytes);
  for (TensorId tensor : out.writes) out.bytes_moved += static_cast<double>(tensors[tensor].bytes);
  out.flops = form.flops > 0 ? form.flops : out.bytes_moved / sizeof(Dtype);
  return out;
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

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddBackward(int layer) {
  Op op;
  op.name = flat_.layers[layer].name + "/backward";
  op.pass = Pass::kBackward;
  std::vector<int>& forms = out_.layers[layer].backward_forms;
  for (size_t i = 0; i < traits_[layer].backward.size(); ++i) {
    const OperandForm& form = traits_[layer].backward[i];
    if (traits_[layer].declared && Overwritten(layer, form)) continue;
    op.forms.push_back(ToForm(layer, form, op.name));
    forms.push_back(static_cast<int>(i));
  }
  CHECK(!op.forms.empty() || traits_[layer].backward.empty())
      << "Layer " << flat_.layers[layer].name
      << " needs for its backward values that a later layer overwrites in place.";
  if (op.forms.empty()) return;  // every bottom diff is a view
  const auto& tensors = out_.graph.tensors;
  for (const Form& form : op.forms) {
    for (TensorId tensor : form.reads) {
      const bool gradient = tensors[tensor].role == Role::kActivationGradient;
      if (!gradient || tensors[tensor].persistent || !diff_written_.insert(tensor).second) continue;
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
  for (const Form& form : op.forms) diff_written_.insert(form.writes.begin(), form.writes.end());
  out_.layers[layer].backward = AddOp(std::move(op), layer);
}

template <typename Dtype>
void NetGraphBuilder<Dtype>::AddUpdates(int histories) {
  out_.history.resize(net_.learnable_params_.size());
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
          AddTensor(name + ".history" + std::to_string(k), bytes, Role::kHistory, true));
      form.reads.push_back(out_.history[i].back());
    }
    form.writes = form.reads;
    form.bytes_moved = 2.0 * static_cast<double>(bytes) * static_cast<double>(form.reads.size());
    form.flops = form.bytes_moved / sizeof(Dtype);
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
    tensor.keep = !tensor.persistent;
  }
}

template class NetGraphBuilder<float>;
template class NetGraphBuilder<double>;

}  // namespace caffe
