#ifndef CAFFE_IM2COL_LAYER_HPP_
#define CAFFE_IM2COL_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

namespace kernels {
struct SlidingWindow;
}

/// Computes the column matrix of each image, which a convolution with the same convolution_param
/// would multiply by its weights. The channel axis becomes channels x kernel values, and the
/// spatial axes become the positions of the kernel. Supports any number of spatial axes, and
/// dilation.
template <typename Dtype>
class Im2colLayer : public Layer<Dtype> {
 public:
  explicit Im2colLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Im2col"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  // Per spatial axis.
  Blob<int> kernel_shape_;
  Blob<int> stride_;
  Blob<int> pad_;
  Blob<int> dilation_;

  int num_spatial_axes_ = 0;
  int bottom_dim_ = 0;  ///< values of an image
  int top_dim_ = 0;     ///< values of its column matrix
  int channel_axis_ = 0;
  int num_ = 0;  ///< images
  int channels_ = 0;
  bool force_nd_im2col_ = false;

 private:
  kernels::SlidingWindow Window(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;
};

}  // namespace caffe

#endif  // CAFFE_IM2COL_LAYER_HPP_
