#include "caffe/layers/smooth_l1_loss_layer.hpp"

#include "caffe/layer_axes.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {

template <typename Dtype>
void SmoothL1LossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  AbsoluteLossLayer<Dtype>::LayerSetUp(bottom, top);
  CHECK_GT(this->layer_param_.smooth_l1_loss_param().sigma(), 0)
      << "Layer " << this->layer_param_.name() << ": smooth_l1_loss_param.sigma must be positive.";
}

template <typename Dtype>
Dtype SmoothL1LossLayer<Dtype>::QuadraticRange() const {
  const Dtype sigma = this->layer_param_.smooth_l1_loss_param().sigma();
  return 1 / (sigma * sigma);
}

INSTANTIATE_CLASS(SmoothL1LossLayer);
REGISTER_FORK_LAYER_CLASS(SmoothL1Loss);
REGISTER_NO_LAYER_AXES(SmoothL1Loss, "a loss is normalized over the whole batch");

}  // namespace caffe
