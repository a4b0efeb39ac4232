#include "caffe/layers/pooling_layer.hpp"

#include "caffe/kernels/pooling/stochastic_pooling.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

enum PoolingSavedIndex { kPoolingIndex };

/// One value per axis: `size` for both, or `h` and `w`.
struct Pair {
  int h;
  int w;
};

Pair Both(const string& layer, const char* field, bool has_size, int size, bool has_h, int h,
          bool has_w, int w) {
  CHECK(!has_size || (!has_h && !has_w))
      << "Layer " << layer << ": " << field << " is given twice: once for both axes, once as "
      << field << "_h or " << field << "_w.";
  CHECK_EQ(has_h, has_w) << "Layer " << layer << ": " << field << "_h and " << field
                         << "_w must be given together.";
  return has_h ? Pair{h, w} : Pair{size, size};
}

}  // namespace

template <typename Dtype>
void PoolingLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const PoolingParameter& param = this->layer_param_.pooling_param();
  const string& name = this->layer_param_.name();
  method_ = param.pool();
  round_mode_ = param.ceil_mode() ? param.round_mode() : PoolingParameter_RoundMode_FLOOR;
  CHECK(!param.has_ceil_mode() || !param.has_round_mode() ||
        param.ceil_mode() == (param.round_mode() == PoolingParameter_RoundMode_CEIL))
      << "Layer " << name << ": ceil_mode and round_mode contradict each other; give one of them.";
  global_pooling_ = param.global_pooling();
  const Pair kernel =
      Both(name, "kernel", param.has_kernel_size(), param.kernel_size(), param.has_kernel_h(),
           param.kernel_h(), param.has_kernel_w(), param.kernel_w());
  const Pair stride = Both(name, "stride", param.has_stride(), param.stride(), param.has_stride_h(),
                           param.stride_h(), param.has_stride_w(), param.stride_w());
  const Pair pad = Both(name, "pad", param.has_pad(), param.pad(), param.has_pad_h(), param.pad_h(),
                        param.has_pad_w(), param.pad_w());
  if (global_pooling_) {
    CHECK(!param.has_kernel_size() && !param.has_kernel_h())
        << "Layer " << name << ": global_pooling: true takes no kernel size.";
    CHECK(pad.h == 0 && pad.w == 0 && stride.h == 1 && stride.w == 1)
        << "Layer " << name << ": global_pooling: true takes only pad 0 and stride 1.";
  } else {
    CHECK(kernel.h > 0 && kernel.w > 0)
        << "Layer " << name << ": the kernel is missing, zero or too large.";
    CHECK(pad.h >= 0 && pad.h < kernel.h && pad.w >= 0 && pad.w < kernel.w)
        << "Layer " << name << ": the padding must be smaller than the kernel.";
  }
  CHECK(method_ != PoolingParameter_PoolMethod_STOCHASTIC || (pad.h == 0 && pad.w == 0))
      << "Layer " << name << ": STOCHASTIC pooling takes no padding.";
  CHECK(stride.h > 0 && stride.w > 0) << "Layer " << name << ": the stride must be positive.";
  kernel_h_ = kernel.h;
  kernel_w_ = kernel.w;
  stride_h_ = stride.h;
  stride_w_ = stride.w;
  pad_h_ = pad.h;
  pad_w_ = pad.w;
}

template <typename Dtype>
int PoolingLayer<Dtype>::PooledDim(int size, int kernel, int stride, int pad) const {
  // Distance of the last window from the first. If it is negative, the kernel is larger than the
  // padded input; rounding up may still leave one window.
  const int64_t room = int64_t{size} + 2 * int64_t{pad} - kernel;
  const int64_t up = round_mode_ == PoolingParameter_RoundMode_CEIL ? stride - 1 : 0;
  int64_t pooled = room + up < 0 ? 0 : (room + up) / stride + 1;
  // With padding, the last window must start inside the image, not in the padding after it.
  if (pad > 0 && (pooled - 1) * stride >= int64_t{size} + pad) --pooled;
  CHECK_GE(pooled, 1) << "Layer " << this->layer_param_.name() << ": a kernel of " << kernel
                      << " does not fit an input of " << size << " with pad " << pad << ".";
  return static_cast<int>(pooled);
}

template <typename Dtype>
void PoolingLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  CHECK_EQ(4, bottom[0]->num_axes())
      << "Layer " << this->layer_param_.name()
      << ": Input must have 4 axes, corresponding to (num, channels, height, width)";
  channels_ = bottom[0]->channels();
  height_ = bottom[0]->height();
  width_ = bottom[0]->width();
  if (global_pooling_) {
    kernel_h_ = height_;
    kernel_w_ = width_;
  }
  pooled_height_ = PooledDim(height_, kernel_h_, stride_h_, pad_h_);
  pooled_width_ = PooledDim(width_, kernel_w_, stride_w_, pad_w_);
  for (Blob<Dtype>* blob : top) {
    blob->Reshape(bottom[0]->num(), bottom[0]->channels(), pooled_height_, pooled_width_);
  }
}

template <typename Dtype>
kernels::PoolingWindow PoolingLayer<Dtype>::Window(const Blob<Dtype>& bottom) const {
  kernels::PoolingWindow window;
  window.planes = bottom.count(0, 2);
  window.block = bottom.channel_block();
  window.height = height_;
  window.width = width_;
  window.pooled_height = pooled_height_;
  window.pooled_width = pooled_width_;
  window.kernel_h = kernel_h_;
  window.kernel_w = kernel_w_;
  window.stride_h = stride_h_;
  window.stride_w = stride_w_;
  window.pad_h = pad_h_;
  window.pad_w = pad_w_;
  return window;
}

template <typename Dtype>
MemoryTraits PoolingLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down) const {
  const kernels::PoolingWindow window = Window(*bottom[0]);
  MemoryTraits traits;
  traits.declared = true;
  const bool average = method_ == PoolingParameter_PoolMethod_AVE;
  const bool stochastic = method_ == PoolingParameter_PoolMethod_STOCHASTIC;
  const bool expected = stochastic && this->phase_ == TEST;
  const bool has_index = !average && !expected;
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.sliceable = !stochastic;
  traits.takes_blocks = traits.capturable && top.size() == 1;
  traits.forward.name = average      ? "average"
                        : expected   ? "expected"
                        : stochastic ? "stochastic"
                                     : "max";
  traits.forward.reads = {BottomData(0)};
  for (int i = 0; i < static_cast<int>(top.size()); ++i)
    traits.forward.writes.push_back(TopData(i));
  traits.forward.flops = static_cast<double>(top[0]->count()) * window.KernelSize();
  const DeviceContext context = DeviceContext::Current();
  if (average)
    traits.forward.algorithms = kernels::AveragePoolEngines<Dtype>(context, window, false);
  OperandVariant backward;
  backward.name = has_index ? "index" : average ? "shape" : "none";
  if (has_index) {
    traits.saved.push_back(
        {"index", int64_t{top[0]->count()} * kernels::PoolingIndexBytes(window)});
  }
  if (propagate_down[0]) {
    backward.reads = {TopDiff(0)};
    if (has_index) backward.reads.push_back(Saved(kPoolingIndex));
    backward.writes = {BottomDiff(0)};
    backward.flops = traits.forward.flops;
    if (average) backward.algorithms = kernels::AveragePoolEngines<Dtype>(context, window, true);
  }
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void PoolingLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                    const vector<Blob<Dtype>*>& bottom,
                                    const vector<Blob<Dtype>*>& top) {
  const kernels::PoolingWindow window = Window(*bottom[0]);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  if (method_ == PoolingParameter_PoolMethod_MAX) {
    kernels::MaxPoolForward(context, window, x, y, this->template SavedBytes<void>(kPoolingIndex),
                            top.size() > 1 ? MutableData(context, top[1]) : nullptr);
  } else if (method_ == PoolingParameter_PoolMethod_AVE) {
    kernels::AveragePoolForward(context, window, x, y,
                                {this->template WorkspaceBytes<void>(), this->algorithm()});
  } else if (this->phase_ == TEST) {
    kernels::ExpectedPoolForward(context, window, x, y);
  } else {
    if (!this->recomputing()) key_ = caffe_rng_rand();
    kernels::StochasticPoolForward(context, window, key_, x, y,
                                   this->template SavedBytes<void>(kPoolingIndex));
  }
}

template <typename Dtype>
void PoolingLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                     const vector<bool>& propagate_down,
                                     const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  CHECK(method_ != PoolingParameter_PoolMethod_STOCHASTIC || this->phase_ == TRAIN)
      << "Layer " << this->layer_param_.name()
      << ": STOCHASTIC pooling has no gradient in the TEST "
      << "phase, in which it draws nothing.";
  const kernels::PoolingWindow window = Window(*bottom[0]);
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  if (method_ != PoolingParameter_PoolMethod_AVE) {
    kernels::MaxPoolBackward(context, window, dy, this->template SavedBytes<void>(kPoolingIndex),
                             dx);
  } else {
    kernels::AveragePoolBackward(context, window, dy, dx,
                                 {this->template WorkspaceBytes<void>(), this->algorithm()});
  }
}

/// Channels and items are pooled separately. Rows and columns are not divided, since windows reach
/// into their neighbours.
static LayerRule PoolingRule(const LayerShapes& shapes) {
  return Axes({ItemAxis(shapes), AxisOf("channel", shapes, 1)});
}

INSTANTIATE_CLASS(PoolingLayer);
REGISTER_LAYER_CLASS(Pooling);
REGISTER_LAYER_AXES(Pooling, PoolingRule);

}  // namespace caffe
