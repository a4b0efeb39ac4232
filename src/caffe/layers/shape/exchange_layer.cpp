#include "caffe/device_group.hpp"
#include "caffe/kernels/exchange/redistribution.hpp"
#include "caffe/layer.hpp"
#include "caffe/layers/internal_type.hpp"
#include "caffe/operands.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {

inline namespace library_layers {

/// In a net that is divided among devices, gives each device the parts of the top that it needs
/// (exchange_param.to) from the parts of the bottom that the devices have (exchange_param.from).
/// The backward does the reverse for the gradient.
template <typename Dtype>
class ExchangeLayer : public Layer<Dtype> {
 public:
  explicit ExchangeLayer(const LayerParameter& param)
      : Layer<Dtype>(param),
        from_(FromProto(param.exchange_param().from())),
        to_(Like(from_, FromProto(param.exchange_param().to()))),
        forward_(from_, to_),
        backward_(to_.OfGradient(), from_.OfGradient()),
        communicator_(DeviceGroupScope::Current()) {}

  const char* type() const override { return "Exchange"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

  void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {
    CHECK(communicator_ == nullptr || communicator_->size() == from_.devices())
        << "Layer " << this->layer_param_.name() << " is of a net for " << from_.devices()
        << " devices, not for " << communicator_->size() << ".";
  }

  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    CHECK(bottom[0]->shape() == Shape(from_))
        << "Layer " << this->layer_param_.name() << ": its bottom has shape "
        << bottom[0]->shape_string() << ", not the one that the net was divided for.";
    top[0]->Reshape(Shape(to_));
  }

  MemoryTraits Traits(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&,
                      const vector<bool>& propagate_down) const override {
    MemoryTraits traits;
    traits.declared = true;
    if (forward_.nothing()) {
      traits.data_views = {{0, 0}};
    } else {
      traits.forward = VariantOf(forward_, BottomData(0), TopData(0));
    }
    if (!propagate_down[0]) return traits;
    if (backward_.nothing()) {
      traits.diff_views = {{0, 0}};
    } else {
      traits.backward = {VariantOf(backward_, TopDiff(0), BottomDiff(0))};
    }
    return traits;
  }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override {
    if (forward_.nothing()) {
      top[0]->ShareData(*bottom[0]);
      return;
    }
    forward_.Run(context, Group(), Data(context, *bottom[0]), MutableData(context, top[0]),
                 this->template WorkspaceBytes<Dtype>());
  }
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override {
    if (!propagate_down[0]) return;
    if (backward_.nothing()) {
      bottom[0]->ShareDiff(*top[0]);
      return;
    }
    backward_.Run(context, Group(), Diff(context, *top[0]), MutableDiff(context, bottom[0]),
                  this->template WorkspaceBytes<Dtype>());
  }

 private:
  static layrub::Layout Like(const layrub::Layout& from, const layrub::Layout& to) {
    CHECK(from.dims == to.dims && from.levels.size() == to.levels.size())
        << "exchange_param: from and to are not of one array on the same devices.";
    return to;
  }

  static vector<int> Shape(const layrub::Layout& layout) {
    const std::vector<int64_t> dims = LocalDims(layout);
    return vector<int>(dims.begin(), dims.end());
  }

  static OperandVariant VariantOf(const Redistribution& way, Operand input, Operand output) {
    OperandVariant variant;
    variant.reads = {input};
    variant.writes = {output};
    variant.exchanged_bytes = way.received() * int64_t{sizeof(Dtype)};
    variant.workspace_bytes = way.workspace() * int64_t{sizeof(Dtype)};
    return variant;
  }

  layrub::Communicator* Group() const {
    CHECK(communicator_) << "Layer " << this->layer_param_.name()
                         << ": a net that is divided among devices runs on these only.";
    return communicator_;
  }

  const layrub::Layout from_, to_;
  const Redistribution forward_, backward_;
  layrub::Communicator* const communicator_;
};

INSTANTIATE_CLASS(ExchangeLayer);

}  // namespace library_layers

static const InternalType<ExchangeLayer> registered_exchange("Exchange");

}  // namespace caffe
