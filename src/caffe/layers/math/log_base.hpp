#ifndef CAFFE_LAYERS_MATH_LOG_BASE_HPP_
#define CAFFE_LAYERS_MATH_LOG_BASE_HPP_

#include <cmath>
#include <string>

#include "caffe/common.hpp"

namespace caffe {

/// The natural logarithm of a layer's parameter `base`; -1 stands for e. Aborts, naming the layer,
/// if the base has no finite logarithm.
template <typename Dtype>
Dtype LogOfBase(const string& layer, Dtype base) {
  if (base == Dtype(-1)) return 1;
  CHECK_GT(base, 0) << "Layer " << layer
                    << ": base must be strictly positive, or -1, which stands for e.";
  const Dtype log_base = std::log(base);
  CHECK(std::isfinite(log_base)) << "Layer " << layer << ": base " << base
                                 << " has no finite logarithm.";
  return log_base;
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_MATH_LOG_BASE_HPP_
