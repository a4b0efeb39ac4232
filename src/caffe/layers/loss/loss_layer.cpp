#include "caffe/layers/loss_layer.hpp"

namespace caffe {

template <typename Dtype>
void LossLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                  const vector<Blob<Dtype>*>& top) {
  if (this->layer_param_.loss_weight_size() > 0) return;
  for (size_t i = 0; i < top.size(); ++i) this->layer_param_.add_loss_weight(i == 0 ? 1 : 0);
}

template <typename Dtype>
void LossLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  CHECK_EQ(bottom[0]->shape(0), bottom[1]->shape(0))
      << "Layer " << this->layer_param_.name()
      << ": the data and label should have the same first dimension; their shapes are "
      << bottom[0]->shape_string() << " and " << bottom[1]->shape_string() << ".";
  top[0]->Reshape(vector<int>());
}

template <typename Dtype>
void LossLayer<Dtype>::CheckNoTargetGradient(const vector<bool>& propagate_down) const {
  CHECK(!propagate_down[1]) << "Layer " << this->layer_param_.name() << " (" << this->type()
                            << ") cannot backpropagate to label inputs.";
}

INSTANTIATE_CLASS(LossLayer);

}  // namespace caffe
