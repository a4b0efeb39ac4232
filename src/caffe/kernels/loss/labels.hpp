#ifndef CAFFE_KERNELS_LOSS_LABELS_HPP_
#define CAFFE_KERNELS_LOSS_LABELS_HPP_

// Scores of several classes at several positions, and the label of each position: the input of a
// classifier's loss and accuracy.

#include <cstdint>

#include "caffe/device_context.hpp"

namespace caffe {
namespace kernels {

/// Scores of shape outer x classes x inner. Position p is (p / inner, p % inner).
struct ScoreShape {
  int64_t outer;
  int64_t classes;
  int64_t inner;
  int64_t positions() const { return outer * inner; }
  int64_t count() const { return outer * classes * inner; }
};

/// A class number per position. Positions labelled `ignore` are not counted if `has_ignore`.
template <typename Dtype>
struct Labels {
  const Dtype* values;
  bool has_ignore;
  int ignore;
};

/// Statistics of the labels.
struct LabelCounts {
  double counted;       ///< positions that are not ignored
  double out_of_range;  ///< those of them whose label is not a class
  double sum;           ///< sum of the labels that are out of range
};

template <typename Dtype>
void CountLabels(const DeviceContext& context, const ScoreShape& shape, const Labels<Dtype>& labels,
                 LabelCounts* counts);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_LABELS_HPP_
