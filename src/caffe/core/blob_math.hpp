#ifndef CAFFE_CORE_BLOB_MATH_HPP_
#define CAFFE_CORE_BLOB_MATH_HPP_

// Functions that blobs compute on the calling thread's device. Declared here for Blob, defined with
// the kernels. Arrays are on the device unless a comment says otherwise. For float and double.

#include <cstdint>

namespace caffe {

/// Returns the sum of absolute values. Waits for the device.
template <typename Dtype>
Dtype DeviceAsum(int64_t n, const Dtype* x);
/// Returns the sum of squares. Waits for the device.
template <typename Dtype>
Dtype DeviceSumSquares(int64_t n, const Dtype* x);
/// x *= factor
template <typename Dtype>
void DeviceScale(int64_t n, Dtype factor, Dtype* x);
/// x -= step. The arrays are on the host unless `device`.
template <typename Dtype>
void Subtract(bool device, int64_t n, const Dtype* step, Dtype* x);

}  // namespace caffe

#endif  // CAFFE_CORE_BLOB_MATH_HPP_
