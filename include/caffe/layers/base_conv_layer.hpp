#ifndef CAFFE_BASE_CONVOLUTION_LAYER_HPP_
#define CAFFE_BASE_CONVOLUTION_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

namespace kernels {
struct Convolution;
struct AlgorithmRun;
}  // namespace kernels

/// Convolution over any number of spatial axes, in either direction. reverse_dimensions says
/// whether forward maps the convolution's input to its output (Convolution) or its output to its
/// input (Deconvolution). Parameters: the weights, of shape (output channels of the convolution) x
/// (input channels / group) x kernel, and the bias, one value per top channel.
///
/// A subclass written for Caffe, with its own Forward_cpu, Backward_cpu and so on, can call the
/// functions for one image below. Such a subclass has no memory traits unless it overrides Traits,
/// since those of Convolution and Deconvolution do not describe it.
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

  // The following process one image on the host. Inputs and outputs are those of the convolution,
  // whatever reverse_dimensions says. Results overwrite; parameter gradients are added. The column
  // matrix is taken from the pool for each call and not kept, so skip_im2col has no effect.
  void forward_cpu_gemm(const Dtype* input, const Dtype* weights, Dtype* output,
                        bool skip_im2col = false);
  /// Adds the bias to one image of the top.
  void forward_cpu_bias(Dtype* output, const Dtype* bias);
  void backward_cpu_gemm(const Dtype* output, const Dtype* weights, Dtype* input);
  void weight_cpu_gemm(const Dtype* input, const Dtype* output, Dtype* weights);
  void backward_cpu_bias(Dtype* bias, const Dtype* input);
#ifndef CPU_ONLY
  // The same on the device.
  void forward_gpu_gemm(const Dtype* col_input, const Dtype* weights, Dtype* output,
                        bool skip_im2col = false);
  void forward_gpu_bias(Dtype* output, const Dtype* bias);
  void backward_gpu_gemm(const Dtype* input, const Dtype* weights, Dtype* col_output);
  void weight_gpu_gemm(const Dtype* col_input, const Dtype* output, Dtype* weights);
  void backward_gpu_bias(Dtype* bias, const Dtype* input);
#endif

  /// Traits of a class that uses the forward and backward of this class unchanged.
  MemoryTraits TraitsOfThisClass(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down) const;

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
  Blob<int> conv_input_shape_;    ///< channels and spatial shape of the convolution's input
  vector<int> col_buffer_shape_;  ///< rows of all groups' column matrices; spatial shape
  vector<int> output_shape_;
  const vector<int>* bottom_shape_ = nullptr;

  int num_spatial_axes_ = 0;
  int channel_axis_ = 0;
  int num_ = 0;       ///< images
  int channels_ = 0;  ///< of the bottoms
  int group_ = 1;
  int num_output_ = 0;       ///< channels of the tops
  int bottom_dim_ = 0;       ///< values of an image of a bottom
  int top_dim_ = 0;          ///< values of an image of a top
  int out_spatial_dim_ = 0;  ///< values of a channel of a top
  int weight_offset_ = 0;    ///< weights of a group
  bool bias_term_ = false;
  bool is_1x1_ = false;  ///< kernel and stride 1, no padding
  bool force_nd_im2col_ = false;

 private:
  void SetUpParameters();
  void CheckParameterShape(int index, const vector<int>& expected, const char* name) const;
  /// The convolution of `images` images in plain array order, or of all images of a bottom and a
  /// top in the layout that these have.
  kernels::Convolution Problem(int images) const;
  kernels::Convolution Problem(const Blob<Dtype>& bottom, const Blob<Dtype>& top) const;

  /// The algorithm and workspace for pass number `pass` of the current forward or backward.
  kernels::AlgorithmRun Chosen(int pass) const;

  bool reversed_ = false;
};

}  // namespace caffe

#endif  // CAFFE_BASE_CONVOLUTION_LAYER_HPP_
