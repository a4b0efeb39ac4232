// The two layers that SplitLoss (caffe/util/split_loss.hpp) replaces a SoftmaxWithLoss by.
#include <limits>

#include "caffe/kernels/loss/labels.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/internal_type.hpp"
#include "caffe/layers/softmax_loss_layer.hpp"
#include "loss_normalizer.hpp"

namespace caffe {

inline namespace library_layers {

/// A SoftmaxWithLoss without its sum.
template <typename Dtype>
class SoftmaxLossesLayer : public SoftmaxWithLossLayer<Dtype> {
 public:
  explicit SoftmaxLossesLayer(const LayerParameter& param)
      : SoftmaxWithLossLayer<Dtype>(param, typeid(SoftmaxLossesLayer), true) {}
  const char* type() const override { return "SoftmaxLosses"; }
  bool AutoTopBlobs() const override { return false; }
  int MaxTopBlobs() const override { return 1; }
};

/// The sum of losses (bottom 0), divided as loss_param says. The labels are the second bottom if
/// one is to be ignored. softmax_param.axis was that of the classes.
template <typename Dtype>
class LossTotalLayer : public LossLayer<Dtype> {
 public:
  explicit LossTotalLayer(const LayerParameter& param) : LossLayer<Dtype>(param) {}
  const char* type() const override { return "LossTotal"; }
  int ExactNumBottomBlobs() const override { return -1; }
  int MinBottomBlobs() const override { return 1; }
  int MaxBottomBlobs() const override { return 2; }

  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    top[0]->Reshape(vector<int>());
  }

  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>&,
                      const vector<bool>& propagate_down) const override {
    MemoryTraits traits;
    traits.declared = true;
    traits.forward.reads = {BottomData(0)};
    traits.forward.writes = {TopData(0)};
    OperandVariant backward;
    backward.name = "weight";
    backward.reads = {TopDiff(0)};
    backward.writes = {BottomDiff(0)};
    if (Counts(bottom)) {
      for (OperandVariant* variant : {&traits.forward, &backward}) {
        variant->reads.push_back(BottomData(1));
        variant->workspace_bytes = sizeof(kernels::LabelCounts);
      }
    }
    if (propagate_down[0]) traits.backward = {backward};
    return traits;
  }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override {
    kernels::TotalLoss(context, bottom[0]->count(), Data(context, *bottom[0]),
                       NormalizerOf(context, bottom), MutableData(context, top[0]));
  }

  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override {
    if (!propagate_down[0]) return;
    kernels::TotalLossBackward(context, bottom[0]->count(), Diff(context, *top[0]),
                               NormalizerOf(context, bottom), MutableDiff(context, bottom[0]));
  }

 private:
  LossParameter_NormalizationMode Mode() const {
    return NormalizationOf(this->layer_param_.loss_param(), LossParameter_NormalizationMode_VALID);
  }
  /// Whether the divisor is the number of labels that are not ignored.
  bool Counts(const vector<Blob<Dtype>*>& bottom) const {
    return bottom.size() > 1 && Mode() == LossParameter_NormalizationMode_VALID;
  }
  kernels::Normalizer NormalizerOf(const DeviceContext& context,
                                   const vector<Blob<Dtype>*>& bottom) const {
    const LossParameter& param = this->layer_param_.loss_param();
    if (Counts(bottom)) {
      auto* counts = this->template WorkspaceBytes<kernels::LabelCounts>();
      const kernels::ScoreShape any_class{bottom[1]->count(), std::numeric_limits<int>::max(), 1};
      kernels::CountLabels<Dtype>(context, any_class,
                                  {Data(context, *bottom[1]), true, param.ignore_label()}, counts);
      return {0, counts};
    }
    int axis = this->layer_param_.softmax_param().axis();
    if (axis < 0) axis += bottom[0]->num_axes() + 1;  // the axis of the classes is not there
    return {LossDivisor(Mode(), bottom[0]->count(0, axis), bottom[0]->count(axis), -1), nullptr};
  }
};

INSTANTIATE_CLASS(SoftmaxLossesLayer);
INSTANTIATE_CLASS(LossTotalLayer);

}  // namespace library_layers

static const InternalType<SoftmaxLossesLayer> registered_softmax_losses("SoftmaxLosses");
static const InternalType<LossTotalLayer> registered_loss_total("LossTotal");

REGISTER_LAYER_AXES(SoftmaxLosses, [](const LayerShapes& shapes) {
  const bool items =
      shapes.param.softmax_param().axis() % static_cast<int>(shapes.bottom[0].size()) != 0;
  return items ? Axes({ItemAxis(shapes)}) : NoAxes("the classes are along the first axis");
});
REGISTER_NO_LAYER_AXES(LossTotal, "a loss is normalized over the whole batch");

}  // namespace caffe
