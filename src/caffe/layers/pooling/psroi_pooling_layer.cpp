#include "caffe/layers/psroi_pooling_layer.hpp"

#include <climits>

#include "caffe/kernels/pooling/region_pooling.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "regions.hpp"

namespace caffe {

template <typename Dtype>
void PSROIPoolingLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                          const vector<Blob<Dtype>*>& /*top*/) {
  const PSROIPoolingParameter& param = this->layer_param_.psroi_pooling_param();
  const string& name = this->layer_param_.name();
  CHECK(param.output_dim() > 0 && param.group_size() > 0 && param.group_size() <= SHRT_MAX)
      << "Layer " << name << ": psroi_pooling_param needs output_dim and group_size, from 1 to "
      << INT_MAX << " and " << SHRT_MAX << ".";
  CHECK_GT(param.spatial_scale(), 0) << "Layer " << name << ": spatial_scale must be positive.";
}

template <typename Dtype>
void PSROIPoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const PSROIPoolingParameter& param = this->layer_param_.psroi_pooling_param();
  const string& name = this->layer_param_.name();
  CheckRegionShapes(name, bottom);
  const int64_t channels = int64_t{param.output_dim()} * param.group_size() * param.group_size();
  CHECK_EQ(bottom[0]->shape(1), channels)
      << "Layer " << name << ": output_dim " << param.output_dim() << " and group_size "
      << param.group_size() << " need " << channels << " channels; the maps have shape "
      << bottom[0]->shape_string() << ".";
  top[0]->Reshape(
      {bottom[1]->shape(0), param.output_dim(), param.group_size(), param.group_size()});
}

template <typename Dtype>
kernels::RegionPooling<Dtype> PSROIPoolingLayer<Dtype>::Pooling(
    const vector<Blob<Dtype>*>& bottom) const {
  const PSROIPoolingParameter& param = this->layer_param_.psroi_pooling_param();
  kernels::RegionPooling<Dtype> pooling;
  pooling.items = bottom[0]->shape(0);
  pooling.channels = bottom[0]->shape(1);
  pooling.height = bottom[0]->shape(2);
  pooling.width = bottom[0]->shape(3);
  pooling.regions = bottom[1]->shape(0);
  pooling.outputs = param.output_dim();
  pooling.pooled_h = pooling.pooled_w = param.group_size();
  pooling.scale = param.spatial_scale();
  return pooling;
}

template <typename Dtype>
MemoryTraits PSROIPoolingLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                              const vector<Blob<Dtype>*>& /*top*/,
                                              const vector<bool>& propagate_down) const {
  MemoryTraits traits = RegionTraits(propagate_down[0]);
  traits.inherited = IsDerived(*this);
  return traits;
}

template <typename Dtype>
void PSROIPoolingLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                         const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  if (top[0]->count() == 0) return;
  if (!context.gpu) CheckRegionItems(this->layer_param_.name(), *bottom[1], bottom[0]->shape(0));
  kernels::AveragePoolRegionParts(context, Pooling(bottom), Data(context, *bottom[0]),
                                  Data(context, *bottom[1]), MutableData(context, top[0]));
}

template <typename Dtype>
void PSROIPoolingLayer<Dtype>::BackwardOn(const DeviceContext& context,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  kernels::AveragePoolRegionPartsBackward(context, Pooling(bottom), Diff(context, *top[0]),
                                          Data(context, *bottom[1]),
                                          MutableDiff(context, bottom[0]));
}

INSTANTIATE_CLASS(PSROIPoolingLayer);
REGISTER_FORK_LAYER_CLASS(PSROIPooling);
REGISTER_NO_LAYER_AXES(PSROIPooling,
                       "each place of a region reads channels of its own, of any item");

}  // namespace caffe
