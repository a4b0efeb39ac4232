#include "caffe/layers/permute_layer.hpp"

#include "caffe/layers/fork_type.hpp"

namespace caffe {

template <typename Dtype>
typename PermuteLayer<Dtype>::AxisOrder PermuteLayer<Dtype>::OrderOf(
    const Blob<Dtype>& bottom) const {
  const string& name = this->layer_param_.name();
  const int axes = bottom.num_axes();
  vector<bool> named(axes);
  AxisOrder result;
  result.dims = bottom.shape();
  for (const uint32_t axis : this->layer_param_.permute_param().order()) {
    CHECK_LT(axis, static_cast<uint32_t>(axes))
        << "Layer " << name << ": order names axis " << axis << ", the bottom has shape "
        << bottom.shape_string() << ".";
    CHECK(!named[axis]) << "Layer " << name << ": order names axis " << axis << " twice.";
    named[axis] = true;
    result.order.push_back(static_cast<int>(axis));
  }
  for (int axis = 0; axis < axes; ++axis) {
    if (!named[axis]) result.order.push_back(axis);
  }
  for (const int axis : result.order) result.top.push_back(bottom.shape(axis));
  return result;
}

INSTANTIATE_CLASS(PermuteLayer);
REGISTER_FORK_LAYER_CLASS(Permute);

}  // namespace caffe
