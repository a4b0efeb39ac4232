#include "caffe/layers/roi_pooling_layer.hpp"

#include <climits>

#include "caffe/kernels/pooling/region_pooling.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "regions.hpp"

namespace caffe {
namespace {

enum RoiPoolingSavedIndex { kRoiPoolingIndex };

}  // namespace

template <typename Dtype>
void ROIPoolingLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                        const vector<Blob<Dtype>*>& /*top*/) {
  const ROIPoolingParameter& param = this->layer_param_.roi_pooling_param();
  const string& name = this->layer_param_.name();
  CHECK(param.pooled_h() > 0 && param.pooled_h() <= INT_MAX && param.pooled_w() > 0 &&
        param.pooled_w() <= INT_MAX)
      << "Layer " << name << ": roi_pooling_param needs pooled_h and pooled_w, from 1 to "
      << INT_MAX << ".";
  CHECK_GT(param.spatial_scale(), 0) << "Layer " << name << ": spatial_scale must be positive.";
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& top) {
  const ROIPoolingParameter& param = this->layer_param_.roi_pooling_param();
  CheckRegionShapes(this->layer_param_.name(), bottom);
  top[0]->Reshape({bottom[1]->shape(0), bottom[0]->shape(1), static_cast<int>(param.pooled_h()),
                   static_cast<int>(param.pooled_w())});
}

template <typename Dtype>
kernels::RegionPooling<Dtype> ROIPoolingLayer<Dtype>::Pooling(
    const vector<Blob<Dtype>*>& bottom) const {
  const ROIPoolingParameter& param = this->layer_param_.roi_pooling_param();
  kernels::RegionPooling<Dtype> pooling;
  pooling.items = bottom[0]->shape(0);
  pooling.channels = pooling.outputs = bottom[0]->shape(1);
  pooling.height = bottom[0]->shape(2);
  pooling.width = bottom[0]->shape(3);
  pooling.regions = bottom[1]->shape(0);
  pooling.pooled_h = static_cast<int>(param.pooled_h());
  pooling.pooled_w = static_cast<int>(param.pooled_w());
  pooling.scale = param.spatial_scale();
  return pooling;
}

template <typename Dtype>
MemoryTraits ROIPoolingLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                            const vector<Blob<Dtype>*>& top,
                                            const vector<bool>& propagate_down) const {
  MemoryTraits traits = RegionTraits(propagate_down[0]);
  traits.inherited = IsDerived(*this);
  traits.saved = {{"index", static_cast<int64_t>(top[0]->count() * sizeof(int32_t))}};
  for (OperandVariant& variant : traits.backward) variant.reads.push_back(Saved(kRoiPoolingIndex));
  return traits;
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  if (top[0]->count() == 0) return;
  if (!context.gpu) CheckRegionItems(this->layer_param_.name(), *bottom[1], bottom[0]->shape(0));
  kernels::MaxPoolRegions(context, Pooling(bottom), Data(context, *bottom[0]),
                          Data(context, *bottom[1]), MutableData(context, top[0]),
                          this->template SavedBytes<int32_t>(kRoiPoolingIndex));
}

template <typename Dtype>
void ROIPoolingLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                        const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  kernels::MaxPoolRegionsBackward<Dtype>(
      context, Pooling(bottom), Diff(context, *top[0]), Data(context, *bottom[1]),
      this->template SavedBytes<int32_t>(kRoiPoolingIndex), MutableDiff(context, bottom[0]));
}

/// The only axis is that of channels, which are pooled separately; a region may be in any item.
static LayerRule ROIPoolingRule(const LayerShapes& shapes) {
  LayerAxis channel;
  channel.name = "channel";
  channel.extent = shapes.bottom[0][1];
  channel.inputs = {1, -1};
  channel.outputs = {1};
  return Axes({channel});
}

INSTANTIATE_CLASS(ROIPoolingLayer);
REGISTER_FORK_LAYER_CLASS(ROIPooling);
REGISTER_LAYER_AXES(ROIPooling, ROIPoolingRule);

}  // namespace caffe
