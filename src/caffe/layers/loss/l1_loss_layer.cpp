#include "caffe/layers/l1_loss_layer.hpp"

#include "caffe/layers/fork_type.hpp"

namespace caffe {

INSTANTIATE_CLASS(L1LossLayer);
REGISTER_FORK_LAYER_CLASS(L1Loss);

}  // namespace caffe
