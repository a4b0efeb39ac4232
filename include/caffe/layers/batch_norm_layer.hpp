#ifndef CAFFE_BATCHNORM_LAYER_HPP_
#define CAFFE_BATCHNORM_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace kernels {
struct ChannelShape;
}

/// Normalises each channel (axis 1) to mean 0 and variance 1: y = (x - mean) / sqrt(variance +
/// eps). In training the statistics are the batch's, and running sums of them are kept in the
/// parameters: mean, variance, and the weight by which to divide both. With use_global_stats
/// (default: outside training) those are used instead. S. Ioffe and C. Szegedy, Batch
/// Normalization, 2015, section 3.
///
/// Backward forms: "y" (the top holds the normalised values), "x" (they are computed again),
/// "x_norm" (a saved copy).
template <typename Dtype>
class BatchNormLayer : public Layer<Dtype> {
 public:
  explicit BatchNormLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "BatchNorm"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  bool use_global_stats_ = false;
  Dtype moving_average_fraction_ = 0;
  Dtype eps_ = 0;
  int channels_ = 0;

 private:
  kernels::ChannelShape Shape(const Blob<Dtype>& bottom) const;
};

}  // namespace caffe

#endif  // CAFFE_BATCHNORM_LAYER_HPP_
