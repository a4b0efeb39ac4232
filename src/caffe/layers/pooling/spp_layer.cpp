#include "caffe/layers/spp_layer.hpp"

#include <algorithm>

#include "caffe/kernels/math/eltwise.hpp"
#include "caffe/kernels/pooling/pooling.hpp"
#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {
namespace {

/// Kernel (equal to the stride) and padding on either side with which `bins` windows cover an axis
/// of `size` values.
struct Bins {
  Bins(int size, int bins)
      : kernel((size - 1) / bins + 1),
        pad(static_cast<int>((int64_t{kernel} * bins - size + 1) / 2)) {}
  int kernel;
  int pad;
};

template <typename Dtype>
int64_t PooledCount(const Blob<Dtype>& bottom, const kernels::PoolingWindow& window) {
  return int64_t{bottom.count(0, 2)} * window.pooled_height * window.pooled_width;
}

}  // namespace

template <typename Dtype>
bool SPPLayer<Dtype>::max_pooling() const {
  return this->layer_param_.spp_param().pool() == SPPParameter_PoolMethod_MAX;
}

template <typename Dtype>
void SPPLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                 const vector<Blob<Dtype>*>& /*top*/) {
  const SPPParameter& param = this->layer_param_.spp_param();
  const string& name = this->layer_param_.name();
  CHECK_NE(param.pool(), SPPParameter_PoolMethod_STOCHASTIC)
      << "Layer " << name << ": STOCHASTIC pooling is not implemented.";
  // With more levels an axis would have more bins than a blob can have values.
  CHECK(param.pyramid_height() >= 1 && param.pyramid_height() <= 31)
      << "Layer " << name << ": pyramid_height must be 1 to 31, not " << param.pyramid_height()
      << ".";
  pyramid_height_ = static_cast<int>(param.pyramid_height());
}

template <typename Dtype>
kernels::PoolingWindow SPPLayer<Dtype>::Window(const Blob<Dtype>& bottom, int level) const {
  kernels::PoolingWindow window;
  window.planes = bottom.count(0, 2);
  window.height = bottom.height();
  window.width = bottom.width();
  window.pooled_height = window.pooled_width = 1 << level;
  const Bins h(window.height, 1 << level), w(window.width, 1 << level);
  window.kernel_h = window.stride_h = h.kernel;
  window.kernel_w = window.stride_w = w.kernel;
  window.pad_h = h.pad;
  window.pad_w = w.pad;
  return window;
}

template <typename Dtype>
void SPPLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK_EQ(4, bottom[0]->num_axes())
      << "Layer " << name
      << ": Input must have 4 axes, corresponding to (num, channels, height, width)";
  CHECK(bottom[0]->height() > 0 && bottom[0]->width() > 0)
      << "Layer " << name << ": Input dimensions cannot be zero.";
  int64_t width = 0;
  for (int level = 0; level < pyramid_height_; ++level) {
    const Bins h(bottom[0]->height(), 1 << level), w(bottom[0]->width(), 1 << level);
    CHECK(h.pad < h.kernel && w.pad < w.kernel)
        << "Layer " << name << ": level " << level << " of the pyramid does not divide an input of "
        << bottom[0]->height() << " x " << bottom[0]->width() << " into " << (1 << level) << " x "
        << (1 << level) << " bins; take a smaller pyramid_height.";
    width += int64_t{bottom[0]->channels()} << 2 * level;
  }
  CHECK_LE(width, INT_MAX) << "Layer " << name << ": the top is too large.";
  top[0]->Reshape({bottom[0]->num(), static_cast<int>(width)});
}

template <typename Dtype>
MemoryTraits SPPLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.flops = static_cast<double>(bottom[0]->count()) * pyramid_height_;
  const kernels::PoolingWindow last = Window(*bottom[0], pyramid_height_ - 1);
  const int64_t pooled = PooledCount(*bottom[0], last) * int64_t{sizeof(Dtype)};
  const int64_t whole = int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)};
  traits.forward.workspace_bytes = pooled;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  backward.workspace_bytes = pooled + (pyramid_height_ > 1 ? whole : 0);
  backward.flops = traits.forward.flops;
  for (int level = 0; level < pyramid_height_ && max_pooling(); ++level) {
    const kernels::PoolingWindow window = Window(*bottom[0], level);
    traits.saved.push_back({"index" + std::to_string(level),
                            PooledCount(*bottom[0], window) * kernels::PoolingIndexBytes(window)});
    backward.reads.push_back(Saved(level));
  }
  if (propagate_down[0]) traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void SPPLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  Dtype* pooled = this->template WorkspaceBytes<Dtype>();
  for (int level = 0; level < pyramid_height_; ++level) {
    const kernels::PoolingWindow window = Window(*bottom[0], level);
    if (max_pooling()) {
      kernels::MaxPoolForward<Dtype>(context, window, x, pooled,
                                     this->template SavedBytes<void>(level), nullptr);
    } else {
      kernels::AveragePoolForward(context, window, x, pooled);
    }
    const int64_t width = int64_t{bottom[0]->channels()} << 2 * level;
    kernels::CopyRows(context, bottom[0]->num(), width, pooled, width, y, top[0]->shape(1));
    y += width;
  }
}

template <typename Dtype>
void SPPLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  Dtype* pooled = this->template WorkspaceBytes<Dtype>();
  Dtype* of_level = pooled + PooledCount(*bottom[0], Window(*bottom[0], pyramid_height_ - 1));
  for (int level = 0; level < pyramid_height_; ++level) {
    const kernels::PoolingWindow window = Window(*bottom[0], level);
    const int64_t width = int64_t{bottom[0]->channels()} << 2 * level;
    kernels::CopyRows(context, bottom[0]->num(), width, dy, top[0]->shape(1), pooled, width);
    dy += width;
    Dtype* to = level == 0 ? dx : of_level;
    if (max_pooling()) {
      kernels::MaxPoolBackward(context, window, pooled, this->template SavedBytes<void>(level), to);
    } else {
      kernels::AveragePoolBackward(context, window, pooled, to);
    }
    if (level > 0) {
      kernels::WeightedSum(context, bottom[0]->count(), Dtype(1), dx, Dtype(1), of_level, dx);
    }
  }
}

static LayerRule SPPRule(const LayerShapes& shapes) { return Axes({ItemAxis(shapes)}); }

INSTANTIATE_CLASS(SPPLayer);
REGISTER_LAYER_CLASS(SPP);
REGISTER_LAYER_AXES(SPP, SPPRule);

}  // namespace caffe
