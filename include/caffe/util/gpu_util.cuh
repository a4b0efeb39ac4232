#ifndef CAFFE_UTIL_GPU_UTIL_H_
#define CAFFE_UTIL_GPU_UTIL_H_

// For kernels in the .cu files of users. Kernels of the library do not depend on the order in which threads add.

namespace caffe {

/// *address += value in one piece; what was there before. float and double.
template <typename Dtype>
__device__ inline Dtype caffe_gpu_atomic_add(const Dtype value, Dtype* address) {
  return atomicAdd(address, value);
}

}  // namespace caffe

#endif  // CAFFE_UTIL_GPU_UTIL_H_
