#include "caffe/kernels/activation/dropout.hpp"

#include <cmath>

#include "caffe/kernels/random_bits.hpp"

namespace caffe {
namespace kernels {

DropoutMask MakeDropoutMask(uint64_t key, double ratio) {
  // The key is hashed so that the streams of two keys are not shifted copies of each other.
  return {RandomBits(key, 0), static_cast<uint64_t>(std::llround(std::ldexp(ratio, 32)))};
}

template <typename Dtype>
void Dropout(const DeviceContext& context, int64_t n, const DropoutMask& mask, Dtype scale,
             const Dtype* x, Dtype* y) {
  const DropoutMask m = mask;
  ParallelFor(
      context, n,
      [=] LAYRUB_HOST_DEVICE(int64_t i) -> Dtype {
        const bool kept =
            RandomBits(m.key, m.first + static_cast<uint64_t>(i)) >> 32 >= m.threshold;
        return kept ? scale * x[i] : Dtype(0);
      },
      To{y});
}

#define INSTANTIATE(Dtype)                                                               \
  template void Dropout<Dtype>(const DeviceContext&, int64_t, const DropoutMask&, Dtype, \
                               const Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
