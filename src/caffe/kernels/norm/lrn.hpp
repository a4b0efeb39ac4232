#ifndef CAFFE_KERNELS_NORM_LRN_HPP_
#define CAFFE_KERNELS_NORM_LRN_HPP_

#include <cstdint>
#include <vector>

#include "caffe/kernels/engines.hpp"

namespace caffe {
namespace kernels {

/// `outer` grids of `length` rows of `width` values. The window of a value reaches `length_pad`
/// rows and `width_pad` columns to either side of it, as far as the grid goes. Across channels, a
/// grid is an image, a row a channel's plane, and width_pad 0; within a channel, a grid is that
/// plane.
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

/// Values of workspace that LrnForward and LrnBackward take by our kernels: a few rows for each row
/// of the window, so that no array of the size of x is needed for s or for what backward adds up.
int64_t LrnForwardScratch(const LrnGrid& grid);
int64_t LrnBackwardScratch(const LrnGrid& grid);
/// The choices for one or the other (ChooseRival). The library's forward has room for a y that lies
/// on x; its backward for y, which it computes again, and for such a dx.
template <typename Dtype>
std::vector<Workspace> LrnForwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                         const LrnFunction<Dtype>& function);
template <typename Dtype>
std::vector<Workspace> LrnBackwardEngines(const DeviceContext& context, const LrnGrid& grid,
                                          const LrnFunction<Dtype>& function);

/// y may lie on x. `copy`, unless null, receives x.
template <typename Dtype>
void LrnForward(const DeviceContext& context, const LrnGrid& grid,
                const LrnFunction<Dtype>& function, const Dtype* x, Dtype* y, Dtype* copy,
                const AlgorithmScratch& scratch);

/// dx = dy * s ^ -beta - 2 * alpha * beta * x * (sum of dy * x * s ^ (-beta - 1) in the window); s
/// is computed again. dx may lie on x or dy.
template <typename Dtype>
void LrnBackward(const DeviceContext& context, const LrnGrid& grid,
                 const LrnFunction<Dtype>& function, const Dtype* x, const Dtype* dy, Dtype* dx,
                 const AlgorithmScratch& scratch);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_NORM_LRN_HPP_
