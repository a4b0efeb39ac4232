#ifndef CAFFE_KERNELS_LOSS_LABELS_HPP_
#define CAFFE_KERNELS_LOSS_LABELS_HPP_

// Scores of several classes at several positions, and the label of each position: what losses and
// accuracies of classifiers work on.

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

/// A class number per position; positions labelled `ignore` do not count when `has_ignore`.
template <typename Dtype>
struct Labels {
  const Dtype* values;
  bool has_ignore;
  int ignore;
};

/// What the labels say.
struct LabelCounts {
  double counted;       ///< positions that are not ignored
  double out_of_range;  ///< of them, those whose label is no class
  double sum;           ///< of these labels
};

template <typename Dtype>
void CountLabels(const DeviceContext& context, const ScoreShape& shape, const Labels<Dtype>& labels,
                 LabelCounts* counts);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_LOSS_LABELS_HPP_
