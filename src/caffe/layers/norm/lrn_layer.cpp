#include "caffe/layers/lrn_layer.hpp"

#include "caffe/kernels/norm/lrn.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void LRNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
  const LRNParameter& param = this->layer_param_.lrn_param();
  size_ = static_cast<int>(param.local_size());
  CHECK_EQ(size_ % 2, 1) << "Layer " << this->layer_param_.name()
                         << ": LRN only supports odd values for local_size.";
  pre_pad_ = (size_ - 1) / 2;
  alpha_ = param.alpha();
  beta_ = param.beta();
  k_ = param.k();
}

template <typename Dtype>
void LRNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  CHECK_EQ(4, bottom[0]->num_axes())
      << "Layer " << this->layer_param_.name()
      << ": Input must have 4 axes, corresponding to (num, channels, height, width)";
  num_ = bottom[0]->num();
  channels_ = bottom[0]->channels();
  height_ = bottom[0]->height();
  width_ = bottom[0]->width();
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
bool LRNLayer<Dtype>::WithinChannel() const {
  return this->layer_param_.lrn_param().norm_region() == LRNParameter_NormRegion_WITHIN_CHANNEL;
}

template <typename Dtype>
kernels::LrnGrid LRNLayer<Dtype>::Grid(const Blob<Dtype>& bottom) const {
  // A window need not reach beyond all rows or columns, since nothing is added there.
  kernels::LrnGrid grid;
  if (WithinChannel()) {
    grid.outer = bottom.count(0, 2);
    grid.length = bottom.shape(2);
    grid.width = bottom.shape(3);
    grid.width_pad = std::min(pre_pad_, grid.width);
  } else {
    grid.outer = bottom.shape(0);
    grid.length = bottom.shape(1);
    grid.width = bottom.count(2);
  }
  grid.length_pad = std::min(pre_pad_, grid.length);
  return grid;
}

template <typename Dtype>
kernels::LrnFunction<Dtype> LRNLayer<Dtype>::Function() const {
  const Dtype size = static_cast<Dtype>(size_);
  if (WithinChannel()) return {alpha_ / (size * size), beta_, 1};
  return {alpha_ / size, beta_, k_};
}

template <typename Dtype>
MemoryTraits LRNLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  const kernels::LrnGrid grid = Grid(*bottom[0]);
  const int64_t value = sizeof(Dtype), n = bottom[0]->count();
  const double window = 2.0 * grid.length_pad + 2.0 * grid.width_pad + 2;
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = traits.sliceable = true;
  traits.saved = {{"x", value * n}};
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  traits.forward.workspace_bytes = value * kernels::LrnForwardWorkspace(grid);
  traits.forward.algorithms =
      kernels::LrnForwardEngines<Dtype>(DeviceContext::Current(), grid, Function());
  traits.forward.flops = (window + 10) * n;
  if (!propagate_down[0]) return traits;
  const std::vector<Algorithm> engines =
      kernels::LrnBackwardEngines<Dtype>(DeviceContext::Current(), grid, Function());
  for (const Operand& x : {BottomData(0), Saved(0)}) {
    OperandVariant variant;
    variant.from_copy = x.kind == Operand::kSaved;
    variant.name = variant.from_copy ? "saved" : "x";
    variant.reads = {x, TopDiff(0)};
    variant.writes = {BottomDiff(0)};
    variant.may_alias = {{BottomDiff(0), TopDiff(0)}, {BottomDiff(0), x}};
    variant.workspace_bytes = value * kernels::LrnBackwardWorkspace(grid);
    variant.algorithms = engines;
    variant.flops = (2 * window + 20) * n;
    traits.backward.push_back(variant);
  }
  return traits;
}

template <typename Dtype>
void LRNLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  kernels::LrnForward(context, Grid(*bottom[0]), Function(), Data(context, *bottom[0]),
                      MutableData(context, top[0]), this->template SavedBytes<Dtype>(0),
                      {this->template WorkspaceBytes<void>(), this->algorithm()});
}

template <typename Dtype>
void LRNLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const Dtype* saved = this->template SavedBytes<Dtype>(0);
  kernels::LrnBackward(context, Grid(*bottom[0]), Function(),
                       saved ? saved : Data(context, *bottom[0]), Diff(context, *top[0]),
                       MutableDiff(context, bottom[0]),
                       {this->template WorkspaceBytes<void>(), this->algorithm()});
}

static LayerRule LRNRule(const LayerShapes& shapes) {
  LayerRule rule = Axes({ItemAxis(shapes)});
  if (shapes.param.lrn_param().norm_region() == LRNParameter_NormRegion_WITHIN_CHANNEL)
    rule.axes.push_back(AxisOf("channel", shapes, 1));
  return rule;
}

INSTANTIATE_CLASS(LRNLayer);
REGISTER_LAYER_CLASS(LRN);
REGISTER_LAYER_AXES(LRN, LRNRule);

}  // namespace caffe
