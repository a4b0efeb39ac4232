#include "caffe/layers/l1_loss_layer.hpp"

#include "caffe/layer_axes.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {

INSTANTIATE_CLASS(L1LossLayer);
REGISTER_FORK_LAYER_CLASS(L1Loss);
REGISTER_NO_LAYER_AXES(L1Loss, "a loss is normalized over the whole batch");

}  // namespace caffe
