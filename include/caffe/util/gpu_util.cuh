#ifndef CAFFE_UTIL_GPU_UTIL_H_
#define CAFFE_UTIL_GPU_UTIL_H_

// For kernels in users' .cu files. The library's own kernels do not use it: their results do not
// depend on the order in which threads add.

namespace caffe {

/// Atomically adds value to *address and returns the old value. For float and double.
template <typename Dtype>
__device__ inline Dtype caffe_gpu_atomic_add(const Dtype value, Dtype* address) {
  return atomicAdd(address, value);
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 600
/// These GPUs have no atomicAdd for double. Retries until the value has not changed since it was
/// read.
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
