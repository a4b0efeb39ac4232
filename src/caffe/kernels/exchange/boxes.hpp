#ifndef CAFFE_KERNELS_EXCHANGE_BOXES_HPP_
#define CAFFE_KERNELS_EXCHANGE_BOXES_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"
#include "caffe/util/max_blob_axes.hpp"

namespace caffe {
namespace kernels {

/// A box of numbers in an array x and a box of the same size in an array y. The numbers of a box
/// are counted with the last axis fastest, in which they lie one after the other in both arrays.
struct BoxPair {
  int axes = 0;  ///< at least 1
  int64_t size[kMaxBlobAxes] = {};
  int64_t x_stride[kMaxBlobAxes] = {}, y_stride[kMaxBlobAxes] = {};  ///< 1 for the last axis
  int64_t x_first = 0, y_first = 0;                                  ///< where the first number is
};

// Each function treats the numbers begin to end (not included) of the boxes. No overlap.

/// packed[i - begin] = number i of x.
template <typename Dtype>
void PackBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
             const Dtype* x, Dtype* packed);
/// Number i of y = packed[i - begin], or is increased by it if `adds`.
template <typename Dtype>
void UnpackBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
               const Dtype* packed, bool adds, Dtype* y);
/// Number i of y = number i of x, or is increased by it if `adds`.
template <typename Dtype>
void MoveBox(const DeviceContext& context, const BoxPair& boxes, int64_t begin, int64_t end,
             const Dtype* x, bool adds, Dtype* y);

/// y[i] = summand 0 + summand 1 + ..., in this order. Of `parts` summands, number `own` is y[i],
/// and the others follow one another in `others`, with `stride` numbers from each to the next.
template <typename Dtype>
void AddInOrder(const DeviceContext& context, int64_t n, int parts, int own, const Dtype* others,
                int64_t stride, Dtype* y);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_EXCHANGE_BOXES_HPP_
