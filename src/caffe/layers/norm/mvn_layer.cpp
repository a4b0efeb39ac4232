#include "caffe/layers/mvn_layer.hpp"

#include "caffe/kernels/norm/batch_norm.hpp"
#include "caffe/kernels/norm/mvn.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {
namespace {

enum MvnSavedIndex { kMvnMean, kMvnInverse, kMvnNormalized };
enum MvnVariant { kMvnFromTop, kMvnFromBottom, kMvnFromSaved };

}  // namespace

template <typename Dtype>
void MVNLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                 const vector<Blob<Dtype>*>& /*top*/) {
  eps_ = this->layer_param_.mvn_param().eps();
}

template <typename Dtype>
void MVNLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  top[0]->ReshapeLike(*bottom[0]);
}

template <typename Dtype>
ChannelShape MVNLayer<Dtype>::Rows(const Blob<Dtype>& bottom) const {
  const int row_axes = this->layer_param_.mvn_param().across_channels() ? 1 : 2;
  const int axis = std::min(row_axes, bottom.num_axes());
  return {1, bottom.count(0, axis), bottom.count(axis)};
}

template <typename Dtype>
MemoryTraits MVNLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                     const vector<Blob<Dtype>*>& /*top*/,
                                     const vector<bool>& propagate_down) const {
  const int64_t row_bytes = Rows(*bottom[0]).channels * int64_t{sizeof(Dtype)};
  const double values = bottom[0]->count();
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  traits.forward.may_alias = {{TopData(0), BottomData(0)}};
  OperandVariant backward;
  backward.name = "constant";
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  backward.may_alias = {{BottomDiff(0), TopDiff(0)}};
  if (!this->layer_param_.mvn_param().normalize_variance()) {
    traits.forward.workspace_bytes = backward.workspace_bytes = row_bytes;
    traits.forward.flops = backward.flops = 2 * values;
    if (propagate_down[0]) traits.backward = {backward};
    return traits;
  }
  traits.forward.workspace_bytes = backward.workspace_bytes = 2 * row_bytes;
  traits.forward.flops = 6 * values;
  backward.flops = 8 * values;
  traits.saved = {{"mean", row_bytes},
                  {"inverse_deviation", row_bytes},
                  {"x_norm", int64_t{bottom[0]->count()} * int64_t{sizeof(Dtype)}}};
  if (!propagate_down[0]) return traits;
  const auto add_variant = [&](const char* name, const Operand& source) {
    OperandVariant variant = backward;
    variant.name = name;
    variant.from_copy = source.kind == Operand::kSaved;
    variant.reads.insert(variant.reads.end(), {source, Saved(kMvnInverse)});
    variant.may_alias.emplace_back(BottomDiff(0), source);
    traits.backward.push_back(variant);
  };
  add_variant("y", TopData(0));
  add_variant("x", BottomData(0));
  add_variant("x_norm", Saved(kMvnNormalized));
  traits.backward[kMvnFromBottom].reads.push_back(Saved(kMvnMean));
  return traits;
}

template <typename Dtype>
void MVNLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) {
  const ChannelShape rows = Rows(*bottom[0]);
  const Dtype* x = Data(context, *bottom[0]);
  Dtype* y = MutableData(context, top[0]);
  Dtype* workspace = this->template WorkspaceBytes<Dtype>();
  if (!this->layer_param_.mvn_param().normalize_variance()) {
    kernels::SubtractMeans(context, rows.channels, rows.inner, x, y, workspace);
    return;
  }
  Dtype* saved_mean = this->template SavedBytes<Dtype>(kMvnMean);
  Dtype* saved_inverse = this->template SavedBytes<Dtype>(kMvnInverse);
  Dtype* mean = saved_mean != nullptr ? saved_mean : workspace;
  Dtype* inverse = saved_inverse != nullptr ? saved_inverse : workspace + rows.channels;
  kernels::NormalizeBatch<Dtype>(context, rows, x, kernels::Epsilon::kOfDeviation, eps_, {}, mean,
                                 inverse, {}, y, this->template SavedBytes<Dtype>(kMvnNormalized));
}

template <typename Dtype>
void MVNLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down,
                                 const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const ChannelShape rows = Rows(*bottom[0]);
  const Dtype* dy = Diff(context, *top[0]);
  Dtype* dx = MutableDiff(context, bottom[0]);
  Dtype* workspace = this->template WorkspaceBytes<Dtype>();
  if (!this->layer_param_.mvn_param().normalize_variance()) {
    kernels::SubtractMeans(context, rows.channels, rows.inner, dy, dx, workspace);
    return;
  }
  kernels::NormalizedSource<Dtype> source;
  source.inverse = this->template SavedBytes<Dtype>(kMvnInverse);
  switch (this->variant()) {
    case kMvnFromTop:
      source.values = Data(context, *top[0]);
      break;
    case kMvnFromBottom:
      source.values = Data(context, *bottom[0]);
      source.mean = this->template SavedBytes<Dtype>(kMvnMean);
      break;
    case kMvnFromSaved:
      source.values = this->template SavedBytes<Dtype>(kMvnNormalized);
      break;
  }
  kernels::NormalizeBackward<Dtype>(context, rows, source, {}, dy, {{}, {}, dx}, workspace);
}

static LayerRule MVNRule(const LayerShapes& shapes) {
  LayerRule rule = Axes({ItemAxis(shapes)});
  if (!shapes.param.mvn_param().across_channels())
    rule.axes.push_back(AxisOf("channel", shapes, 1));
  return rule;
}

INSTANTIATE_CLASS(MVNLayer);
REGISTER_LAYER_CLASS(MVN);
REGISTER_LAYER_AXES(MVN, MVNRule);

}  // namespace caffe
