#include "parameter_parts.hpp"

#include <algorithm>

#include "caffe/device_group.hpp"
#include "caffe/kernels/exchange/in_flight.hpp"
#include "caffe/net/param_layouts.hpp"
#include "caffe/operands.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/layout_proto.hpp"
#include "caffe/util/parts.hpp"

namespace caffe {
namespace {

/// The layout in which every device has the whole array.
layrub::Layout Gathered(layrub::Layout layout) {
  std::fill(layout.levels.begin(), layout.levels.end(), layrub::Whole());
  return layout;
}

}  // namespace

template <typename Dtype>
ParameterParts<Dtype>::ParameterParts(Net<Dtype>* net, layrub::Communicator* group)
    : net_(net), group_(group) {
  for (const layrub::Layout& layout : ParamLayouts(*net)) {
    Entry entry{layout, {}, {}};
    if (!layout.levels.empty()) {
      entry.gather = Redistribution(layout, Gathered(layout));
      entry.sum = DeviceSum(layout.OfGradient().levels);
    }
    entries_.push_back(std::move(entry));
  }
  int64_t most = 0;
  for (size_t i = 0; i < entries_.size(); ++i)
    most = std::max(most, entries_[i].sum.workspace(net->learnable_params()[i]->count()));
  workspace_.Reshape({static_cast<int>(most)});
  if (group->device() != nullptr) group->device()->AddExpectedLibraryBytes(kWorkspaceBytes);
  Connect();
}

template <typename Dtype>
ParameterParts<Dtype>::~ParameterParts() {
  if (group_->device() != nullptr) group_->device()->AddExpectedLibraryBytes(-kWorkspaceBytes);
}

/// Lets all members exchange a number with one another. NCCL takes memory of a GPU when two members
/// first do so.
template <typename Dtype>
void ParameterParts<Dtype>::Connect() {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype> numbers({2, group_->size()});
  Dtype* const first = MutableData(context, &numbers);
  std::vector<layrub::Parcel> sent, received;
  for (int rank = 0; rank < group_->size(); ++rank) {
    if (rank == group_->rank()) continue;
    sent.push_back({rank, layrub::ValuesOf(first + rank, 1)});
    received.push_back({rank, layrub::ValuesOf(first + group_->size() + rank, 1)});
  }
  ExchangeOn(context, group_, sent, received);
  group_->Synchronize();
}

template <typename Dtype>
void ParameterParts<Dtype>::SumGradients() {
  const PlannedNet<Dtype>* const planned = net_->planned();
  const bool on_host = planned != nullptr && planned->offloads_state();
  const DeviceContext context = on_host ? DeviceContext() : DeviceContext::Current();
  for (size_t i = 0; i < entries_.size(); ++i) {
    const DeviceSum& sum = entries_[i].sum;
    if (net_->params_lr()[i] == 0 || sum.nothing()) continue;
    Blob<Dtype>* const param = net_->learnable_params()[i];
    sum.Run(context, group_, param->count(), MutableDiff(context, param),
            MutableData(context, &workspace_));
  }
}

template <typename Dtype>
void ParameterParts<Dtype>::Gather(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const {
  const Redistribution& gather = entries_.at(static_cast<size_t>(id)).gather;
  if (gather.nothing()) {
    if (whole) std::copy_n(part.cpu_data(), part.count(), whole->mutable_cpu_data());
    return;
  }
  vector<Dtype> workspace(static_cast<size_t>(gather.workspace()));
  gather.Run<Dtype>(DeviceContext(), group_, part.cpu_data(),
                    whole ? whole->mutable_cpu_data() : nullptr, workspace.data(), 0);
}

template <typename Dtype>
void ParameterParts<Dtype>::GatherForAll(int id, const Blob<Dtype>& part,
                                         Blob<Dtype>* whole) const {
  const Redistribution& gather = entries_.at(static_cast<size_t>(id)).gather;
  if (gather.nothing()) {
    std::copy_n(part.cpu_data(), part.count(), whole->mutable_cpu_data());
    return;
  }
  vector<Dtype> workspace(static_cast<size_t>(gather.workspace()));
  gather.Run<Dtype>(DeviceContext(), group_, part.cpu_data(), whole->mutable_cpu_data(),
                    workspace.data());
}

template <typename Dtype>
void ParameterParts<Dtype>::TakePart(int id, const Blob<Dtype>& whole, Blob<Dtype>* part) const {
  const layrub::Layout& layout = entries_.at(static_cast<size_t>(id)).layout;
  if (layout.levels.empty()) {
    std::copy_n(whole.cpu_data(), whole.count(), part->mutable_cpu_data());
    return;
  }
  CopyPart(whole.cpu_data(), layout, group_->rank(), part->mutable_cpu_data());
}

template <typename Dtype>
void GatherStates(const Net<Dtype>& net, layrub::Communicator* group, NetProgress* progress) {
  for (LayerProgress& saved : *progress->mutable_layer()) {
    if (!net.has_layer(saved.layer()) || saved.value_size() == 0) continue;
    const layrub::Layout layout = StateLayout(net.layer_by_name(saved.layer())->layer_param());
    if (layout.levels.empty()) continue;
    const Redistribution gather(layout, Gathered(layout));
    if (gather.nothing()) continue;
    for (BlobProto& value : *saved.mutable_value()) {
      Blob<Dtype> part, whole(vector<int>(layout.dims.begin(), layout.dims.end()));
      part.FromProto(value, true);
      vector<Dtype> workspace(static_cast<size_t>(gather.workspace()));
      gather.Run<Dtype>(DeviceContext(), group, part.cpu_data(), whole.mutable_cpu_data(),
                        workspace.data());
      value.Clear();
      whole.ToProto(&value);
    }
  }
}

template <typename Dtype>
void SumSquaresOverDevices(const DeviceContext& context, const Net<Dtype>& net, Dtype* squares) {
  layrub::Communicator* const group = DeviceGroupScope::Current();
  if (group == nullptr) return;
  const vector<layrub::Layout> layouts = ParamLayouts(net);
  const auto count = static_cast<int64_t>(layouts.size());
  vector<Dtype> numbers(layouts.size());
  CopyBytes(context, numbers.data(), squares, numbers.size() * sizeof(Dtype));
  for (size_t i = 0; i < layouts.size(); ++i) {
    int64_t copies = group->size();
    for (const layrub::Level& level : layouts[i].levels) {
      if (level.share == layrub::Share::kCut) copies /= 2;
    }
    numbers[i] /= static_cast<Dtype>(copies);
  }
  std::vector<layrub::Level> all;
  for (int devices = 1; devices < group->size(); devices *= 2) all.push_back(layrub::Part());
  const DeviceSum sum(all);
  vector<Dtype> workspace(static_cast<size_t>(sum.workspace(count)));
  sum.Run(DeviceContext(), group, count, numbers.data(), workspace.data());
  CopyBytes(context, squares, numbers.data(), numbers.size() * sizeof(Dtype));
}

template class ParameterParts<float>;
template class ParameterParts<double>;
template void GatherStates(const Net<float>&, layrub::Communicator*, NetProgress*);
template void GatherStates(const Net<double>&, layrub::Communicator*, NetProgress*);
template void SumSquaresOverDevices(const DeviceContext&, const Net<float>&, float*);
template void SumSquaresOverDevices(const DeviceContext&, const Net<double>&, double*);

}  // namespace caffe
