#include "caffe/layers/l1_loss_layer.hpp"

namespace caffe {

INSTANTIATE_CLASS(L1LossLayer);
REGISTER_LAYER_CLASS(L1Loss);

}  // namespace caffe
