#ifndef CAFFE_KERNELS_SPANS_HPP_
#define CAFFE_KERNELS_SPANS_HPP_

#include "caffe/kernels/parallel.hpp"

namespace caffe {
namespace kernels {

/// Positions [begin, end).
struct Span {
  int begin;
  int end;
};

/// The smallest n >= 0 with n * stride >= distance.
LAYRUB_HOST_DEVICE inline int StepsTo(int distance, int stride) {
  if (distance <= 0) return 0;
  return stride == 1 ? distance : (distance + stride - 1) / stride;  // division is slow
}

/// The output positions in [first, last) along one axis whose window element lies in [image_begin,
/// image_end). The element of output position p is at p * stride + offset.
LAYRUB_HOST_DEVICE inline Span InsideImage(int offset, int stride, int image_begin, int image_end,
                                           int first, int last) {
  const int begin = StepsTo(image_begin - offset, stride),
            end = StepsTo(image_end - offset, stride);
  const int bounded = begin < first ? first : begin > last ? last : begin;
  return {bounded, end < bounded ? bounded : end > last ? last : end};
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_SPANS_HPP_
