#ifndef CAFFE_KERNELS_ACTIVATION_SOFTMAX_ROW_HPP_
#define CAFFE_KERNELS_ACTIVATION_SOFTMAX_ROW_HPP_

#include <cmath>

#include "caffe/kernels/loss/labels.hpp"
#include "caffe/kernels/teams.hpp"

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

/// The elements of a row that one thread of `team` handles.
LAYRUB_HOST_DEVICE inline ScoreRow OwnPart(const Team& team, const ScoreRow& row) {
  return {row.begin + team.first * row.step, row.end, team.step * row.step};
}

/// Calls body(position, team) for all positions.
template <typename Body>
void ForScores(const DeviceContext& context, const ScoreShape& shape, Body body) {
  ParallelTeams(context, shape.positions(), shape.classes, shape.inner > 1, body);
}

/// The softmax of a row is exp(x - max) / sum. Subtracting the maximum prevents overflow.
template <typename Dtype>
struct SoftmaxTerms {
  Dtype max;
  Dtype sum;
  LAYRUB_HOST_DEVICE Dtype Probability(Dtype x) const { return std::exp(x - max) / sum; }
};

/// Returns the terms of `row` to all threads of `team`. Every thread must call it.
template <typename Dtype>
LAYRUB_HOST_DEVICE SoftmaxTerms<Dtype> TermsOf(const Team& team, const Dtype* x,
                                               const ScoreRow& row) {
  const ScoreRow own = OwnPart(team, row);
  SoftmaxTerms<Dtype> terms = {x[row.begin], 0};
  for (int64_t i = own.begin; i < own.end; i += own.step) {
    terms.max = x[i] > terms.max ? x[i] : terms.max;
  }
  terms.max = team.Max(terms.max);
  for (int64_t i = own.begin; i < own.end; i += own.step) terms.sum += std::exp(x[i] - terms.max);
  terms.sum = team.Sum(terms.sum);
  return terms;
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ACTIVATION_SOFTMAX_ROW_HPP_
