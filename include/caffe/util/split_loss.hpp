#ifndef CAFFE_UTIL_SPLIT_LOSS_HPP_
#define CAFFE_UTIL_SPLIT_LOSS_HPP_

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Two layers that compute together, with the same bits, what `loss` computes. The first computes
/// the loss of each position and has the name of `loss`. It can run for parts of the batch. The
/// second divides their sum as loss_param says, and reads little memory. Returns none if there are
/// no such layers: `loss` is not a SoftmaxWithLoss, or shows the softmax in a second top.
///
/// `loss` needs its bottoms and tops. The blob between the two is LossesOf(loss).
vector<LayerParameter> SplitLoss(const LayerParameter& loss);
/// The name of the blob that has the loss of each position.
string LossesOf(const LayerParameter& loss);
/// Splits all losses of a net for which that is possible.
void SplitLosses(NetParameter* net);

}  // namespace caffe

#endif  // CAFFE_UTIL_SPLIT_LOSS_HPP_
