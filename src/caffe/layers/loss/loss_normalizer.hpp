#ifndef CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_
#define CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_

#include <algorithm>

#include "caffe/kernels/loss/loss_sum.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// The mode that `param` asks for. The older field counts only if the newer one is absent.
inline LossParameter_NormalizationMode NormalizationOf(const LossParameter& param,
                                                       LossParameter_NormalizationMode if_absent) {
  if (param.has_normalization()) return param.normalization();
  if (!param.has_normalize()) return if_absent;
  return param.normalize() ? LossParameter_NormalizationMode_VALID
                           : LossParameter_NormalizationMode_BATCH_SIZE;
}

/// The divisor of a loss over outer x inner positions, of which `valid` count (-1: all). At least
/// 1.
inline double LossDivisor(LossParameter_NormalizationMode mode, int outer, int inner, int valid) {
  const double all = static_cast<double>(outer) * inner;
  double divisor = 1;
  switch (mode) {
    case LossParameter_NormalizationMode_FULL:
      divisor = all;
      break;
    case LossParameter_NormalizationMode_VALID:
      divisor = valid < 0 ? all : valid;
      break;
    case LossParameter_NormalizationMode_BATCH_SIZE:
      divisor = outer;
      break;
    case LossParameter_NormalizationMode_NONE:
      break;
  }
  return std::max(1.0, divisor);
}

/// Reads on the host the number of valid positions in `counts`, which is in memory of `context`.
/// Waits for the device.
inline int ReadValidCount(const DeviceContext& context, const kernels::LabelCounts* counts) {
  kernels::LabelCounts copy;
  CopyBytes(context, &copy, counts, sizeof(copy));
  return static_cast<int>(copy.counted);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_
