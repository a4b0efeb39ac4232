#ifndef CAFFE_KERNELS_NORM_LRN_HPP_
#define CAFFE_KERNELS_NORM_LRN_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/engines.hpp"

namespace caffe {
namespace kernels {

/// `outer` grids of `length` rows of `width` values. The window of a value extends `length_pad`
/// rows and `width_pad` columns to either side, clipped to the grid. Across channels, a grid is an
/// image, a row is the plane of a channel, and width_pad is 0. Within a channel, a grid is the
/// plane of a channel.
struct LrnGrid {
  int64_t outer = 0;
  int length = 0;
  int width = 0;
  int length_pad = 0;
  int width_pad = 0;

  int64_t count() const { return outer * length * width; }
};

/// s = k + alpha * (sum of the squares in the window), y = x * s ^ -beta.
template <typename Dtype>
struct LrnFunction {
  Dtype alpha;
  Dtype beta;
  Dtype k;
};

/// Number of workspace values of our kernels for LrnForward and LrnBackward: a few rows for each
/// row of the window, so that neither s nor the sums of the backward pass need an array of the size
/// of x.
int64_t LrnForwardWorkspace(const LrnGrid& grid);
int64_t LrnBackwardWorkspace(const LrnGrid& grid);
/// The algorithms of LrnForward and of LrnBackward (ChooseRival). The workspace of the library's
/// forward pass holds y if that aliases x. The workspace of its backward pass holds y, which is
/// recomputed, and dx if that aliases an input.
template <typename Dtype>
std::vector<Algorithm> LrnForwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                         const LrnFunction<Dtype>& function);
template <typename Dtype>
std::vector<Algorithm> LrnBackwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                          const LrnFunction<Dtype>& function);

/// y may alias x. `copy`, unless null, receives x.
template <typename Dtype>
void LrnForward(const DeviceContext& context, const LrnGrid& grid,
                const LrnFunction<Dtype>& function, const Dtype* x, Dtype* y, Dtype* copy,
                const AlgorithmRun& chosen);

/// dx = dy * s ^ -beta - 2 * alpha * beta * x * (sum of dy * x * s ^ (-beta - 1) in the window); s
/// is recomputed. dx may alias x or dy.
template <typename Dtype>
void LrnBackward(const DeviceContext& context, const LrnGrid& grid,
                 const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy, Dtype* dx,
                 const AlgorithmRun& chosen);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_LRN_HPP_
