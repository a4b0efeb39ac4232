#include "parameter_parts.hpp"

#include <algorithm>

#include "caffe/device_group.hpp"
#include "caffe/net/param_layouts.hpp"
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
      const layrub::Layout gradient = layout.OfGradient();
      entry.gather = Redistribution(layout, Gathered(layout));
      entry.sum = Redistribution(gradient, gradient.Summed());
    }
    entries_.push_back(std::move(entry));
  }
}

template <typename Dtype>
void ParameterParts<Dtype>::SumGradients() {
  vector<Dtype> sums, room;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Redistribution& sum = entries_[i].sum;
    if (net_->params_lr()[i] == 0 || sum.nothing()) continue;
    Blob<Dtype>* const param = net_->learnable_params()[i];
    sums.resize(static_cast<size_t>(param->count()));
    room.resize(static_cast<size_t>(sum.room()));
    Dtype* const gradient = param->mutable_cpu_diff();
    sum.Run(group_, gradient, sums.data(), room.data());
    std::copy(sums.begin(), sums.end(), gradient);
  }
}

template <typename Dtype>
void ParameterParts<Dtype>::Gather(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const {
  const Redistribution& gather = entries_.at(static_cast<size_t>(id)).gather;
  if (gather.nothing()) {
    if (whole) std::copy_n(part.cpu_data(), part.count(), whole->mutable_cpu_data());
    return;
  }
  gather.Run<Dtype>(group_, part.cpu_data(), whole ? whole->mutable_cpu_data() : nullptr, nullptr,
                    0);
}

template <typename Dtype>
void ParameterParts<Dtype>::GatherForAll(int id, const Blob<Dtype>& part,
                                         Blob<Dtype>* whole) const {
  const Redistribution& gather = entries_.at(static_cast<size_t>(id)).gather;
  if (gather.nothing()) {
    std::copy_n(part.cpu_data(), part.count(), whole->mutable_cpu_data());
  } else {
    gather.Run<Dtype>(group_, part.cpu_data(), whole->mutable_cpu_data(), nullptr);
  }
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
      gather.Run<Dtype>(group, part.cpu_data(), whole.mutable_cpu_data(), nullptr);
      value.Clear();
      whole.ToProto(&value);
    }
  }
}

template <typename Dtype>
void SumSquaresOverDevices(const Net<Dtype>& net, Dtype* squares) {
  layrub::Communicator* const group = DeviceGroupScope::Current();
  if (group == nullptr) return;
  const vector<layrub::Layout> layouts = ParamLayouts(net);
  for (size_t i = 0; i < layouts.size(); ++i) {
    int64_t copies = group->size();
    for (const layrub::Level& level : layouts[i].levels) {
      if (level.share == layrub::Share::kCut) copies /= 2;
    }
    squares[i] /= static_cast<Dtype>(copies);
  }
  const auto element =
      sizeof(Dtype) == sizeof(float) ? layrub::Element::kFloat : layrub::Element::kDouble;
  group->Sum({{squares, static_cast<int64_t>(layouts.size()), element}});
  group->Wait();
}

template class ParameterParts<float>;
template class ParameterParts<double>;
template void GatherStates(const Net<float>&, layrub::Communicator*, NetProgress*);
template void GatherStates(const Net<double>&, layrub::Communicator*, NetProgress*);
template void SumSquaresOverDevices(const Net<float>&, float*);
template void SumSquaresOverDevices(const Net<double>&, double*);

}  // namespace caffe
