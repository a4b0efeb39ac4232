#include "caffe/layers/flatten_layer.hpp"

namespace caffe {

template <typename Dtype>
vector<int> FlattenLayer<Dtype>::ViewShape(const Blob<Dtype>& bottom) const {
  const FlattenParameter& param = this->layer_param_.flatten_param();
  const int begin = bottom.CanonicalAxisIndex(param.axis());
  const int last = bottom.CanonicalAxisIndex(param.end_axis());
  CHECK_LE(begin, last) << "Layer " << this->layer_param_.name() << ": axis " << begin
                        << " comes after end_axis " << last << ".";
  vector<int> shape(bottom.shape().begin(), bottom.shape().begin() + begin);
  shape.push_back(bottom.count(begin, last + 1));
  shape.insert(shape.end(), bottom.shape().begin() + last + 1, bottom.shape().end());
  return shape;
}

INSTANTIATE_CLASS(FlattenLayer);
REGISTER_LAYER_CLASS(Flatten);

}  // namespace caffe
