#ifndef CAFFE_KERNELS_LOSS_LABEL_CLASS_HPP_
#define CAFFE_KERNELS_LOSS_LABEL_CLASS_HPP_

#include "caffe/kernels/index_of.hpp"
#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

inline constexpr int64_t kIgnoredLabel = -1;
inline constexpr int64_t kBadLabel = -2;

/// Returns the class of position p, kIgnoredLabel, or kBadLabel if the label is not a class.
template <typename Dtype>
LAYRUB_HOST_DEVICE int64_t LabelClass(const Labels<Dtype>& labels, int64_t p, int64_t classes) {
  const Dtype value = labels.values[p];
  if (labels.has_ignore && value == static_cast<Dtype>(labels.ignore)) return kIgnoredLabel;
  const int64_t index = IndexOf(value, classes);
  return index < 0 ? kBadLabel : index;
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_LABEL_CLASS_HPP_
