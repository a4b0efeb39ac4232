#ifndef CAFFE_KERNELS_SOFTMAX_ROW_HPP_
#define CAFFE_KERNELS_SOFTMAX_ROW_HPP_

#include <cmath>

#include "caffe/kernels/labels.hpp"
#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// The scores of one position: elements begin, begin + step, ... before end.
struct ScoreRow {
  int64_t begin;
  int64_t end;
  int64_t step;
};

LAYRUB_HOST_DEVICE inline ScoreRow RowAt(const ScoreShape& shape, int64_t position) {
  const int64_t size = shape.classes * shape.inner;
  const int64_t begin = position / shape.inner * size + position % shape.inner;
  return {begin, begin + size, shape.inner};
}

/// The softmax of a row is exp(x - max) / sum. Shifted by the maximum, no exponential overflows.
template <typename Dtype>
struct SoftmaxTerms {
  Dtype max;
  Dtype sum;
  LAYRUB_HOST_DEVICE Dtype Probability(Dtype x) const { return std::exp(x - max) / sum; }
};

template <typename Dtype>
LAYRUB_HOST_DEVICE SoftmaxTerms<Dtype> TermsOf(const Dtype* x, const ScoreRow& row) {
  SoftmaxTerms<Dtype> terms = {x[row.begin], 0};
  for (int64_t i = row.begin; i < row.end; i += row.step) {
    terms.max = x[i] > terms.max ? x[i] : terms.max;
  }
  for (int64_t i = row.begin; i < row.end; i += row.step) terms.sum += std::exp(x[i] - terms.max);
  return terms;
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SOFTMAX_ROW_HPP_
