// NetGraphBuilder: the tensors of a graph, and the tensors of a layer's operands.
#include <algorithm>

#include "caffe/planned_net.hpp"
#include "net_graph.hpp"
#include "net_graph_names.hpp"

namespace caffe {

using layrub::kNone;
using layrub::Life;
using layrub::Role;
using layrub::Tensor;
using layrub::TensorId;
using layrub::Variant;

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::AddTensor(const string& name, int64_t bytes, Role role, Life life,
                                           int32_t group) {
  Tensor tensor;
  tensor.name = Unique(Word(name), &names_);
  tensor.bytes = bytes;
  tensor.role = role;
  tensor.life = life;
  tensor.blob = group;
  out_.graph.tensors.push_back(tensor);
  return static_cast<TensorId>(out_.graph.tensors.size() - 1);
}

template <typename Dtype>
bool NetGraphBuilder<Dtype>::External(const SyncedMemory& memory) const {
  if (memory.user_owned() || net_.borrowed_.count(&memory)) return true;
  return memory.binding() && memory.binding()->resolver != net_.planned_.get();
}

template <typename Dtype>
TensorId NetGraphBuilder<Dtype>::ParamDiffTensor(int param) {
  TensorId& diff = out_.param_diff[param];
  if (diff == kNone) {
    const int64_t bytes = int64_t{flat_.params[param].blob->count()} * int64_t{sizeof(Dtype)};
    diff = AddTensor(out_.graph.tensors[out_.param_data[param]].name + ".grad", bytes,
                     Role::kParameterGradient, Life::kState);
  }
  return diff;
}

template <typename Dtype>
int NetGraphBuilder<Dtype>::AddTop(int layer, int top, const MemoryTraits& traits) {
  const int blob = flat_.layers[layer].top[top];
  const int before = newest_[blob];
  if (before >= 0 && (!traits.declared || out_.outside.count(out_.versions[before].data))) {
    overwritten_by_[out_.versions[before].data] = layer;
    return before;  // in place without traits, or on memory outside the plan: the same address
  }
  // Without the plan, the versions of a blob have the same address.
  if (before >= 0 && last_varying_ >= 0) overwritten_by_[out_.versions[before].data] = layer;
  NetGraph::Version version;
  version.blob = blob;
  version.number = versions_of_[blob]++;
  out_.versions.push_back(version);
  const int id = static_cast<int>(out_.versions.size() - 1);
  diff_parent_.push_back(id);
  root_diff_.push_back(kNone);
  version.is_public = !traits.declared && flat_.layers[layer].bottom.empty();
  for (const View& view : traits.data_views) {
    if (view.top == top) version.data = out_.versions[out_.layers[layer].bottom[view.bottom]].data;
  }
  for (const ParamView& view : traits.param_views) {
    if (view.top == top) version.data = out_.layers[layer].param_data[view.param];
  }
  if (version.data == kNone) {
    const bool external =
        version.is_public || (traits.user_tops && External(*flat_.blobs[blob].blob->data()));
    const bool user = version.is_public || traits.user_tops;
    // All versions of a blob, views included, have the same group.
    const int32_t group =
        before >= 0 ? out_.graph.tensors[out_.versions[before].data].blob : groups_++;
    // A user may reshape an input within its memory and write it before the next plan.
    const auto input_bytes = static_cast<int64_t>(flat_.blobs[blob].blob->data()->size());
    // In a test, a top of varying shape gets the most bytes it has had so far; at first, all that
    // it can have.
    const bool grows = traits.varying && net_.phase_ == TEST;
    const int64_t bytes = external ? 0
                          : user   ? input_bytes
                          : grows  ? std::max(input_bytes, BlobBytes(blob))
                                   : BlobBytes(blob);
    version.data = AddTensor(VersionName(id), bytes, user ? Role::kUser : Role::kActivation,
                             user ? Life::kState : Life::kIteration, user ? kNone : group);
    if (external) out_.outside.insert(version.data);
  }
  out_.versions[id] = version;
  if (version.is_public) {
    root_diff_[id] =
        AddTensor(VersionName(id) + ".grad", 0, Role::kActivationGradient, Life::kState);
    out_.outside.insert(root_diff_[id]);
    may_show_[version.data] = out_.layers[layer].param_data;
    for (int param : flat_.layers[layer].params) {
      if (net_.phase_ == TRAIN) may_show_[root_diff_[id]].push_back(ParamDiffTensor(param));
    }
  } else if (flat_.layers[layer].layer->loss(top) != Dtype(0)) {
    // The loss weight fills all memory of the diff, because the blob may get more values again.
    const auto room = static_cast<int64_t>(flat_.blobs[blob].blob->diff()->size());
    root_diff_[id] = AddTensor(VersionName(id) + ".grad", std::max(BlobBytes(blob), room),
                               Role::kActivationGradient, Life::kState);
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
    const bool output = output_roots_.count(root) > 0;
    root_diff_[root] =
        AddTensor(VersionName(root) + ".grad", BlobBytes(blob), Role::kActivationGradient,
                  output ? Life::kState : Life::kIteration, output ? kNone : group.first->second);
  }
  return root_diff_[root];
}

/// Makes derivatives of net outputs state, because only the user writes them. Call it after all
/// forwards. An output may be a view of another blob.
template <typename Dtype>
void NetGraphBuilder<Dtype>::FindOutputDiffs() {
  for (int blob : net_.net_output_blob_indices_) {
    if (newest_[blob] < 0) continue;
    const int root = DiffRoot(newest_[blob]);
    output_roots_.insert(root);
    if (root_diff_[root] == kNone) continue;
    out_.graph.tensors[root_diff_[root]].life = layrub::Life::kState;
    out_.graph.tensors[root_diff_[root]].blob = kNone;
  }
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
Variant NetGraphBuilder<Dtype>::ToVariant(int layer, const OperandVariant& variant,
                                          const string& op_name) {
  Variant out;
  out.name = variant.name.empty() ? "only" : Word(variant.name);
  std::map<TensorId, int> uses;
  const auto& tensors = out_.graph.tensors;
  for (const Operand& operand : variant.reads) {
    const TensorId tensor = TensorOf(layer, operand);
    ++uses[tensor];
    // A layer without traits can only read values that exist by now.
    const bool there =
        traits_[layer].declared || tensors[tensor].is_state() || written_.count(tensor);
    if (there) AddOnce(tensor, &out.reads);
  }
  for (const Operand& operand : variant.writes) AddOnce(TensorOf(layer, operand), &out.writes);
  const auto show = [&](const std::vector<TensorId>& touched, std::vector<TensorId>* list) {
    for (TensorId tensor : std::vector<TensorId>(touched)) {
      const auto found = may_show_.find(tensor);
      for (size_t i = 0; found != may_show_.end() && i < found->second.size(); ++i)
        AddOnce(found->second[i], list);
    }
  };
  show(out.writes, &out.writes);
  show(out.writes, &out.reads);
  show(out.reads, &out.reads);
  for (const auto& pair : variant.may_alias) {
    const TensorId output = TensorOf(layer, pair.first), input = TensorOf(layer, pair.second);
    // Two operands may be the same tensor (both bottoms are views of one blob). The layer's promise
    // holds for distinct tensors only.
    const bool plain = uses[input] == 1 && output != input && !tensors[output].is_state() &&
                       !tensors[input].is_state() && tensors[output].bytes <= tensors[input].bytes;
    if (plain) out.may_alias.push_back({output, input});
  }
  for (const Algorithm& algorithm : Algorithms(variant)) {
    layrub::Algorithm added{kNone, algorithm.seconds, algorithm.deterministic, algorithm.name};
    const string name = algorithm.name.empty() ? "workspace" : algorithm.name;
    if (algorithm.bytes > 0)
      added.workspace =
          AddTensor(op_name + ":" + name, algorithm.bytes, Role::kWorkspace, Life::kIteration);
    out.algorithms.push_back(std::move(added));
  }
  for (TensorId tensor : out.reads) out.bytes_moved += static_cast<double>(tensors[tensor].bytes);
  for (TensorId tensor : out.writes) out.bytes_moved += static_cast<double>(tensors[tensor].bytes);
  out.flops = variant.flops > 0 ? variant.flops : out.bytes_moved / sizeof(Dtype);
  out.tf32 = variant.tf32;
  out.exchanged = static_cast<double>(variant.exchanged_bytes);
  return out;
}

#define INSTANTIATE_TENSORS(Dtype)                                                        \
  template TensorId NetGraphBuilder<Dtype>::AddTensor(const string&, int64_t, Role, Life, \
                                                      int32_t);                           \
  template bool NetGraphBuilder<Dtype>::External(const SyncedMemory&) const;              \
  template TensorId NetGraphBuilder<Dtype>::ParamDiffTensor(int);                         \
  template int NetGraphBuilder<Dtype>::AddTop(int, int, const MemoryTraits&);             \
  template int NetGraphBuilder<Dtype>::DiffRoot(int);                                     \
  template TensorId NetGraphBuilder<Dtype>::DiffTensor(int);                              \
  template void NetGraphBuilder<Dtype>::FindOutputDiffs();                                \
  template TensorId NetGraphBuilder<Dtype>::TensorOf(int, const Operand&);                \
  template Variant NetGraphBuilder<Dtype>::ToVariant(int, const OperandVariant&, const string&)
INSTANTIATE_TENSORS(float);
INSTANTIATE_TENSORS(double);

}  // namespace caffe
