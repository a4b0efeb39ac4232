#include "caffe/kernels/activation/softmax.hpp"

#include <string>

#include "caffe/kernels/activation/softmax_row.hpp"
#include "caffe/kernels/library_kernels.hpp"
#include "caffe/kernels/require.hpp"
#include "caffe/kernels/shape/copy.hpp"

namespace caffe {
namespace kernels {

template <typename Dtype>
void SoftmaxForward(const DeviceContext& context, const ScoreShape& shape, const Dtype* x, Dtype* y,
                    const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    Dtype* const apart = x == y ? static_cast<Dtype*>(chosen.memory) : y;
    Require(LibrarySoftmaxForward(shape, x, apart), "cuDNN has no such softmax");
    return Copy(context, shape.count(), apart, y);
  }
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const ScoreRow row = RowAt(shape, p);
    const ScoreRow own = OwnPart(team, row);
    const SoftmaxTerms<Dtype> terms = TermsOf(team, x, row);
    for (int64_t i = own.begin; i < own.end; i += own.step) y[i] = terms.Probability(x[i]);
  });
}

template <typename Dtype>
void SoftmaxBackward(const DeviceContext& context, const ScoreShape& shape, const Dtype* y,
                     const Dtype* dy, Dtype* dx, const AlgorithmRun& chosen) {
  if (chosen.algorithm == kCudnn) {
    Dtype* const apart = dx == y ? static_cast<Dtype*>(chosen.memory) : dx;
    Require(LibrarySoftmaxBackward(shape, y, dy, apart), "cuDNN has no such softmax");
    return Copy(context, shape.count(), apart, dx);
  }
  ForScores(context, shape, [=] LAYRUB_HOST_DEVICE(int64_t p, const Team& team) {
    const ScoreRow own = OwnPart(team, RowAt(shape, p));
    Dtype dot = 0;
    for (int64_t i = own.begin; i < own.end; i += own.step) dot += dy[i] * y[i];
    dot = team.Sum(dot);
    for (int64_t i = own.begin; i < own.end; i += own.step) dx[i] = (dy[i] - dot) * y[i];
  });
}

template <typename Dtype>
std::vector<Algorithm> SoftmaxEngines(const DeviceContext& context, const ScoreShape& shape,
                                      bool backward) {
  const int64_t n = shape.count();
  Rivals<Dtype> rivals{std::string("softmax ") + (backward ? "backward " : "forward ") +
                           std::to_string(shape.outer) + "x" + std::to_string(shape.classes) + "x" +
                           std::to_string(shape.inner),
                       0,
                       n * int64_t{sizeof(Dtype)},
                       std::vector<int64_t>(backward ? 3 : 2, n),
                       {}};
  rivals.run = [&](const AlgorithmRun& chosen, const std::vector<Dtype*>& operands) {
    const Dtype *const a = operands[0], *const b = operands[1];
    Dtype* const out = operands.back();
    if (chosen.algorithm == kCudnn) {
      return backward ? LibrarySoftmaxBackward<Dtype>(shape, a, b, out)
                      : LibrarySoftmaxForward<Dtype>(shape, a, out);
    }
    if (backward) {
      SoftmaxBackward<Dtype>(context, shape, a, b, out);
    } else {
      SoftmaxForward<Dtype>(context, shape, a, out);
    }
    return true;
  };
  return ChooseRival(context, rivals);
}

#define INSTANTIATE(Dtype)                                                                       \
  template void SoftmaxForward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*,     \
                                      Dtype*, const AlgorithmRun&);                              \
  template void SoftmaxBackward<Dtype>(const DeviceContext&, const ScoreShape&, const Dtype*,    \
                                       const Dtype*, Dtype*, const AlgorithmRun&);               \
  template std::vector<Algorithm> SoftmaxEngines<Dtype>(const DeviceContext&, const ScoreShape&, \
                                                        bool);

INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace kernels
}  // namespace caffe
