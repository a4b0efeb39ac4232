#ifndef CAFFE_KERNELS_MATH_SOLVER_UPDATE_HPP_
#define CAFFE_KERNELS_MATH_SOLVER_UPDATE_HPP_

// The parts of a solver step, for one parameter. All arrays have n values and do not overlap.

#include <cstdint>
#include <memory>

#include "caffe/device_context.hpp"
#include "caffe/util/deferred_work.hpp"

namespace caffe {
namespace kernels {

/// gradient *= factor
template <typename Dtype>
void Scale(const DeviceContext& context, int64_t n, Dtype factor, Dtype* gradient);
/// gradient += decay * weight: the derivative of decay / 2 * sum of squares
template <typename Dtype>
void AddDecayL2(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient);
/// gradient += decay * sign(weight): the derivative of decay * sum of magnitudes, 0 at 0
template <typename Dtype>
void AddDecayL1(const DeviceContext& context, int64_t n, Dtype decay, const Dtype* weight,
                Dtype* gradient);
/// history = momentum * history + rate * gradient; gradient = history
template <typename Dtype>
void SgdUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum, Dtype* gradient,
               Dtype* history);
/// next = momentum * history + rate * gradient; gradient = (1 + momentum) * next - momentum *
/// history; history = next. This applies the momentum step and looks ahead to the next one's share.
template <typename Dtype>
void NesterovUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype momentum,
                    Dtype* gradient, Dtype* history);
/// squares += gradient^2; gradient *= rate / (root of squares + delta)
template <typename Dtype>
void AdaGradUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype delta,
                   Dtype* gradient, Dtype* squares);
/// squares = decay * squares + (1 - decay) * gradient^2; gradient *= rate / (root of squares +
/// delta)
template <typename Dtype>
void RmsPropUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                   Dtype* gradient, Dtype* squares);
/// squares = decay * squares + (1 - decay) * gradient^2; step = gradient * root of ((steps + delta)
/// / (squares + delta)); steps = decay * steps + (1 - decay) * step^2; gradient = rate * step
template <typename Dtype>
void AdaDeltaUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype delta,
                    Dtype* gradient, Dtype* squares, Dtype* steps);
/// mean = decay * mean + (1 - decay) * gradient; squares = decay2 * squares + (1 - decay2) *
/// gradient^2; gradient = rate * mean / (root of squares + delta)
template <typename Dtype>
void AdamUpdate(const DeviceContext& context, int64_t n, Dtype rate, Dtype decay, Dtype decay2,
                Dtype delta, Dtype* gradient, Dtype* mean, Dtype* squares);
/// weight -= step
template <typename Dtype>
void SubtractStep(const DeviceContext& context, int64_t n, const Dtype* step, Dtype* weight);

/// While this object exists, calls of the functions above by its thread are collected. Consecutive
/// steps of one parameter become one pass over its arrays; on a GPU many parameters share one
/// kernel. The results have the same bits as one kernel per step. The collected steps run before
/// any other kernel (DeferredWork) and in Finish. Steps that are still pending when the object is
/// destroyed, after an error, are dropped.
template <typename Dtype>
class UpdateBatch : public DeferredWork {
 public:
  UpdateBatch();
  virtual ~UpdateBatch();
  void Finish() override;
  /// Number of kernels launched on a GPU.
  int64_t launches() const;

  class Gathered;
  /// For the functions above.
  Gathered& Gather(const DeviceContext& context);

 private:
  const std::unique_ptr<Gathered> gathered_;
};

/// sum[0] = sum of x * x
template <typename Dtype>
void SumSquares(const DeviceContext& context, int64_t n, const Dtype* x, Dtype* sum);
/// norm[0] = the root of the sum of squares[0 .. n). factor[0] = limit / norm[0], or 1 if the norm
/// does not exceed `limit` or is NaN.
template <typename Dtype>
void ClipFactor(const DeviceContext& context, int64_t n, const Dtype* squares, Dtype limit,
                Dtype* norm, Dtype* factor);
/// gradient *= factor[0]; the gradient is not accessed if that is 1
template <typename Dtype>
void ScaleBy(const DeviceContext& context, int64_t n, const Dtype* factor, Dtype* gradient);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_MATH_SOLVER_UPDATE_HPP_
