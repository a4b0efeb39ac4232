#include "caffe/kernels/math/argmax.hpp"

#include "caffe/kernels/activation/softmax_row.hpp"

namespace caffe {
namespace kernels {

namespace {

/// A score and its class. A class of -1 means none and ranks below all others.
template <typename Dtype>
struct Ranked {
  Dtype value;
  int64_t of;

  LAYRUB_HOST_DEVICE bool operator>(const Ranked& other) const {
    if (of < 0 || other.of < 0) return of > other.of;
    const bool number = value == value, other_number = other.value == other.value;
    if (number != other_number) return other_number;
    return number && value != other.value ? value > other.value : of > other.of;
  }
};

}  // namespace

template <typename Dtype>
void HighestScores(const DeviceContext& context, const ScoreShape& shape, int64_t top_k,
                   const Dtype* scores, int64_t stride, Dtype* classes, Dtype* values) {
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const ScoreRow row = RowAt(shape, p);
    const int64_t first = p / shape.inner * stride * shape.inner + p % shape.inner;
    Ranked<Dtype> last{0, -1};
    for (int64_t k = 0; k < top_k; ++k) {
      // Finds the highest score below the last one. Unlike sorting, this needs no memory.
      Ranked<Dtype> best{0, -1};
      for (int64_t c = team.first; c < shape.classes; c += team.step) {
        const Ranked<Dtype> score{scores[row.begin + c * row.step], c};
        if ((k == 0 || last > score) && score > best) best = score;
      }
      last = team.Max(best);
      if (team.first != 0) continue;
      if (classes != nullptr) classes[first + k * shape.inner] = static_cast<Dtype>(last.of);
      if (values != nullptr) values[first + k * shape.inner] = last.value;
    }
  });
}

#define INSTANTIATE(Dtype)                                                             \
  template void HighestScores<Dtype>(const DeviceContext&, const ScoreShape&, int64_t, \
                                     const Dtype*, int64_t, Dtype*, Dtype*);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
