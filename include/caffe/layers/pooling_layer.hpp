#ifndef CAFFE_POOLING_LAYER_HPP_
#define CAFFE_POOLING_LAYER_HPP_

#include <cstdint>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace kernels {
struct PoolingWindow;
}

/// Pools windows of each channel's plane: the maximum (MAX), the mean (AVE), or a value drawn at
/// random, with a probability in proportion to its size (STOCHASTIC; in the TEST phase, the
/// expected value). With MAX, an optional second top receives the index in its plane of each
/// maximum. If a backward follows, MAX and STOCHASTIC save the index within the window, one byte
/// per top value for kernels of up to 256 values.
///
/// STOCHASTIC draws from a key that each training forward takes from the random stream
/// (Caffe::set_random_seed); a recomputed forward draws the same values.
template <typename Dtype>
class PoolingLayer : public Layer<Dtype> {
 public:
  explicit PoolingLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Pooling"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  // With MAX the optional second top holds the indices of the maxima.
  int MaxTopBlobs() const override {
    return this->layer_param_.pooling_param().pool() == PoolingParameter_PoolMethod_MAX ? 2 : 1;
  }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  PoolingParameter_PoolMethod method_ = PoolingParameter_PoolMethod_MAX;
  bool global_pooling_ = false;
  PoolingParameter_RoundMode round_mode_ = PoolingParameter_RoundMode_CEIL;
  int kernel_h_ = 0, kernel_w_ = 0;
  int stride_h_ = 1, stride_w_ = 1;
  int pad_h_ = 0, pad_w_ = 0;
  int channels_ = 0;
  int height_ = 0, width_ = 0;
  int pooled_height_ = 0, pooled_width_ = 0;

 private:
  /// The number of windows along one axis.
  int PooledDim(int size, int kernel, int stride, int pad) const;
  kernels::PoolingWindow Window(const Blob<Dtype>& bottom) const;

  uint64_t key_ = 0;  ///< of the latest forward pass that drew values
};

}  // namespace caffe

#endif  // CAFFE_POOLING_LAYER_HPP_
