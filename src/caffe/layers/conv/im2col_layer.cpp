#include "caffe/layers/im2col_layer.hpp"

#include "caffe/kernels/conv/im2col.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "spatial_shapes.hpp"

namespace caffe {

template <typename Dtype>
void Im2colLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& /*top*/) {
  const ConvolutionParameter& param = this->layer_param_.convolution_param();
  force_nd_im2col_ = param.force_nd_im2col();
  channel_axis_ = bottom[0]->CanonicalAxisIndex(param.axis());
  num_spatial_axes_ = bottom[0]->num_axes() - channel_axis_ - 1;
  CHECK_GE(num_spatial_axes_, 1) << "Layer " << this->layer_param_.name() << ": its input, shape "
                                 << bottom[0]->shape_string() << ", has no spatial axes after axis "
                                 << channel_axis_ << ".";
  SetSpatialShapes(this->layer_param_.name(), param, num_spatial_axes_, &kernel_shape_, &stride_,
                   &pad_, &dilation_);
}

template <typename Dtype>
void Im2colLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_EQ(bottom[0]->num_axes(), channel_axis_ + 1 + num_spatial_axes_)
      << "Layer " << name << ": bottom num_axes may not change.";
  channels_ = bottom[0]->shape(channel_axis_);
  vector<int> shape = bottom[0]->shape();
  int64_t rows = channels_;
  for (int i = 0; i < num_spatial_axes_; ++i) {
    const int size = bottom[0]->shape(channel_axis_ + 1 + i);
    const int kernel = kernel_shape_.cpu_data()[i], pad = pad_.cpu_data()[i],
              dilation = dilation_.cpu_data()[i];
    const int64_t output = kernels::OutputDim(size, kernel, pad, stride_.cpu_data()[i], dilation);
    // Division rounds towards zero, so a window that is too wide would still give a position.
    const bool fits = int64_t{size} + 2 * int64_t{pad} > int64_t{dilation} * (kernel - 1);
    CHECK(fits && output <= INT_MAX)
        << "Layer " << name << ": the kernel does not fit spatial axis " << i << " of its input ("
        << size << " values, kernel " << kernel << ", pad " << pad << ", dilation " << dilation
        << ").";
    shape[channel_axis_ + 1 + i] = static_cast<int>(output);
    rows *= kernel;
    CHECK_LE(rows, INT_MAX) << "Layer " << name << ": the column matrix has too many rows.";
  }
  shape[channel_axis_] = static_cast<int>(rows);
  top[0]->Reshape(shape);
  num_ = bottom[0]->count(0, channel_axis_);
  bottom_dim_ = bottom[0]->count(channel_axis_);
  top_dim_ = top[0]->count(channel_axis_);
}

template <typename Dtype>
kernels::SlidingWindow Im2colLayer<Dtype>::Window(const Blob<Dtype>& bottom,
                                                  const Blob<Dtype>& top) const {
  kernels::SlidingWindow window;
  window.axes = num_spatial_axes_;
  window.channels = channels_;
  for (int i = 0; i < num_spatial_axes_; ++i) {
    window.image[i] = bottom.shape(channel_axis_ + 1 + i);
    window.output[i] = top.shape(channel_axis_ + 1 + i);
    window.kernel[i] = kernel_shape_.cpu_data()[i];
    window.pad[i] = pad_.cpu_data()[i];
    window.stride[i] = stride_.cpu_data()[i];
    window.dilation[i] = dilation_.cpu_data()[i];
  }
  return window;
}

template <typename Dtype>
MemoryTraits Im2colLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                        const vector<Blob<Dtype>*>& /*top*/,
                                        const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void Im2colLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const kernels::SlidingWindow window = Window(*bottom[0], *top[0]);
  const auto im2col = num_spatial_axes_ == 2 && !force_nd_im2col_ ? kernels::Im2col<Dtype>
                                                                  : kernels::Im2colNd<Dtype>;
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  for (int64_t n = 0; n < num_; ++n) im2col(context, window, x + n * bottom_dim_, y + n * top_dim_);
}

template <typename Dtype>
void Im2colLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                    const vector<bool>& propagate_down,
                                    const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const kernels::SlidingWindow window = Window(*bottom[0], *top[0]);
  const auto col2im = num_spatial_axes_ == 2 && !force_nd_im2col_ ? kernels::Col2im<Dtype>
                                                                  : kernels::Col2imNd<Dtype>;
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  for (int64_t n = 0; n < num_; ++n)
    col2im(context, window, dy + n * top_dim_, dx + n * bottom_dim_);
}

static LayerRule Im2colRule(const LayerShapes& shapes) {
  if (shapes.param.convolution_param().axis() != 1) return Axes({ItemAxis(shapes)});
  LayerAxis channel;
  channel.name = "channel";
  channel.extent = shapes.bottom[0][1];
  channel.inputs = channel.outputs = {1};
  return Axes({ItemAxis(shapes), channel});
}

INSTANTIATE_CLASS(Im2colLayer);
REGISTER_LAYER_CLASS(Im2col);
REGISTER_LAYER_AXES(Im2col, Im2colRule);

}  // namespace caffe
