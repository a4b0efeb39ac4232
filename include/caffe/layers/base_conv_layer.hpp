#ifndef CAFFE_BASE_CONVOLUTION_LAYER_HPP_
#define CAFFE_BASE_CONVOLUTION_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace kernels {
struct Convolution;
struct AlgorithmScratch;
}  // namespace kernels

/// Convolution over any number of spatial axes, in either direction: a subclass says by
/// reverse_dimensions whether its forward maps the convolution's input to its output (Convolution)
/// or the other way round (Deconvolution). Parameters: weights, output channels of the convolution
/// x input channels / group x kernel; bias, one per top channel.
template <typename Dtype>
class BaseConvolutionLayer : public Layer<Dtype> {
 public:
  explicit BaseConvolutionLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  int MinBottomBlobs() const override { return 1; }
  int MinTopBlobs() const override { return 1; }
  bool EqualNumBottomTopBlobs() const override { return true; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// True: forward maps the convolution's output to its input.
  virtual bool reverse_dimensions() = 0;
  /// Sets output_shape_, the spatial shape of the tops, from bottom_shape_.
  virtual void compute_output_shape() = 0;
  /// Dimension `i` of the spatial shape of the bottoms.
  int input_shape(int i) const { return (*bottom_shape_)[channel_axis_ + i]; }

  // Per spatial axis.
  Blob<int> kernel_shape_;
  Blob<int> stride_;
  Blob<int> pad_;
  Blob<int> dilation_;
  vector<int> output_shape_;
  const vector<int>* bottom_shape_ = nullptr;

  int num_spatial_axes_ = 0;
  int channel_axis_ = 0;
  int num_ = 0;       ///< images
  int channels_ = 0;  ///< of the bottoms
  int group_ = 1;
  int num_output_ = 0;  ///< channels of the tops
  bool bias_term_ = false;
  bool force_nd_im2col_ = false;

 private:
  void SetUpSpatialShapes();
  void SetUpParameters();
  void CheckParameterShape(int index, const vector<int>& expected, const char* name) const;
  /// The convolution of one bottom and top; aborts where it has no output.
  kernels::Convolution Problem(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;

  /// What the pass number `pass` of the operation at work has.
  kernels::AlgorithmScratch Scratch(int pass) const;

  bool reversed_ = false;
};

}  // namespace caffe

#endif  // CAFFE_BASE_CONVOLUTION_LAYER_HPP_
