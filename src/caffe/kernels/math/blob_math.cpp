#include "caffe/core/blob_math.hpp"

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/kernels/on_device.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/syncedmem.hpp"

namespace caffe {
namespace {

template <typename Dtype>
void SumMagnitudes(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* sum) {
  kernels::ParallelReduce<Dtype>(
      context, 1, n, [=] LAYRUB_HOST_DEVICE(int64_t, int64_t i) { return x[i] < 0 ? -x[i] : x[i]; },
      [=] LAYRUB_HOST_DEVICE(int64_t, Dtype total) { sum[0] = total; });
}

/// A number in device memory, written by a kernel.
template <typename Dtype>
class DeviceNumber {
 public:
  Dtype* address() { return static_cast<Dtype*>(memory_.mutable_gpu_data()); }
  Dtype Read() { return *static_cast<const Dtype*>(memory_.cpu_data()); }

 private:
  SyncedMemory memory_{sizeof(Dtype)};
};

}  // namespace

template <typename Dtype>
Dtype DeviceAsum(int64_t n, const Dtype* x) {
  DeviceNumber<Dtype> sum;
  SumMagnitudes(kernels::OnDevice(), n, x, sum.address());
  return sum.Read();
}

template <typename Dtype>
Dtype DeviceSumSquares(int64_t n, const Dtype* x) {
  DeviceNumber<Dtype> sum;
  kernels::SumSquares(kernels::OnDevice(), n, x, sum.address());
  return sum.Read();
}

template <typename Dtype>
void DeviceScale(int64_t n, Dtype factor, Dtype* x) {
  kernels::Scale(kernels::OnDevice(), n, factor, x);
}

template <typename Dtype>
void Subtract(bool device, int64_t n, const Dtype* step, Dtype* x) {
  kernels::SubtractStep(device ? kernels::OnDevice() : DeviceContext(), n, step, x);
}

#define INSTANTIATE(Dtype)                                       \
  template Dtype DeviceAsum<Dtype>(int64_t, const Dtype*);       \
  template Dtype DeviceSumSquares<Dtype>(int64_t, const Dtype*); \
  template void DeviceScale<Dtype>(int64_t, Dtype, Dtype*);      \
  template void Subtract<Dtype>(bool, int64_t, const Dtype*, Dtype*)
INSTANTIATE(float);
INSTANTIATE(double);
#undef INSTANTIATE

}  // namespace caffe
