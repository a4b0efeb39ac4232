#ifndef CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_
#define CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_

#include <algorithm>

#include "caffe/kernels/loss/loss_sum.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// What `param` asks for. Its older field counts only where the newer is absent.
inline LossParameter_NormalizationMode NormalizationOf(const LossParameter& param,
                                                       LossParameter_NormalizationMode if_absent) {
  if (param.has_normalization()) return param.normalization();
  if (!param.has_normalize()) return if_absent;
  return param.normalize() ? LossParameter_NormalizationMode_VALID
                           : LossParameter_NormalizationMode_BATCH_SIZE;
}

/// What a loss over outer x inner positions, `valid` of which count (-1: all), is divided by; at
/// least 1.
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

/// The number that `counts`, where `context` runs, has counted. Waits for the device.
inline int CountedOnHost(const DeviceContext& context, const kernels::LabelCounts* counts) {
  kernels::LabelCounts copy;
  CopyBytes(context, &copy, counts, sizeof(copy));
  return static_cast<int>(copy.counted);
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_LOSS_LOSS_NORMALIZER_HPP_
