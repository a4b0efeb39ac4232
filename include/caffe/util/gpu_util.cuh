#ifndef CAFFE_UTIL_GPU_UTIL_H_
#define CAFFE_UTIL_GPU_UTIL_H_

// For kernels in the .cu files of users. Kernels of the library do not depend on the order in which
// threads add.

namespace caffe {

/// *address += value in one piece; what was there before. float and double.
template <typename Dtype>
__device__ inline Dtype caffe_gpu_atomic_add(const Dtype value, Dtype* address) {
  return atomicAdd(address, value);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
/// Such GPUs have no atomicAdd of double: whoever finds the value unchanged since it was read wins.
template <>
__device__ inline double caffe_gpu_atomic_add(const double value, double* address) {
  auto* const bits = reinterpret_cast<unsigned long long*>(address);  // NOLINT(runtime/int)
  unsigned long long found = *bits, before;                           // NOLINT(runtime/int)
  do {
    before = found;
    found = atomicCAS(bits, before, __double_as_longlong(value + __longlong_as_double(before)));
  } while (found != before);
  return __longlong_as_double(found);
}
#endif

}  // namespace caffe

#endif  // CAFFE_UTIL_GPU_UTIL_H_
