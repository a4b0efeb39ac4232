#ifndef CAFFE_CORE_BLOB_MATH_HPP_
#define CAFFE_CORE_BLOB_MATH_HPP_

// What blobs compute on the calling thread's device. Declared here for Blob, defined among the
// kernels. Arrays are the device's where nothing else is said; for
// float and double.

#include <cstdint>

namespace caffe {

/// The sum of absolute values; waits for it.
template <typename Dtype>
Dtype DeviceAsum(int64_t n, const Dtype* x);
/// The sum of squares; waits for it.
template <typename Dtype>
Dtype DeviceSumSquares(int64_t n, const Dtype* x);
/// x *= factor
template <typename Dtype>
void DeviceScale(int64_t n, Dtype factor, Dtype* x);
/// x -= step, arrays of the host unless `device`
template <typename Dtype>
void Subtract(bool device, int64_t n, const Dtype* step, Dtype* x);

}  // namespace caffe

#endif  // CAFFE_CORE_BLOB_MATH_HPP_
