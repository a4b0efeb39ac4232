// Placeholders, in nets that are only planned, for layers that this program does not have or that
// read outside data (caffe/source_shapes.hpp).
#include "caffe/layer.hpp"
#include "caffe/layers/data/source_traits.hpp"
#include "caffe/layers/internal_type.hpp"

namespace caffe {

inline namespace library_layers {

/// Has tops with the shapes of input_param.shape, one for each. It cannot run. Its use of memory is
/// unknown, so it has no traits.
template <typename Dtype>
class OpaqueLayer : public Layer<Dtype> {
 public:
  explicit OpaqueLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  const char* type() const override { return "Opaque"; }

  void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    const InputParameter& shapes = this->layer_param_.input_param();
    CHECK_EQ(static_cast<int>(top.size()), shapes.shape_size())
        << "Layer " << this->layer_param_.name() << ": it needs one shape for each top";
    for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes.shape(i));
  }
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}

 protected:
  void ForwardOn(const DeviceContext&, const vector<Blob<Dtype>*>&,
                 const vector<Blob<Dtype>*>&) override {
    LOG(FATAL) << "Layer " << this->layer_param_.name()
               << ": a net of shapes alone can be planned, not run.";
  }
};

INSTANTIATE_CLASS(OpaqueLayer);

/// The same with the memory traits of a source.
template <typename Dtype>
class ShapeOnlySourceLayer : public OpaqueLayer<Dtype> {
 public:
  explicit ShapeOnlySourceLayer(const LayerParameter& param) : OpaqueLayer<Dtype>(param) {}
  const char* type() const override { return "ShapeOnlySource"; }
  int ExactNumBottomBlobs() const override { return 0; }

  MemoryTraits Traits(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top,
                      const vector<bool>&) const override {
    return SourceTraits(top.size());
  }
};

INSTANTIATE_CLASS(ShapeOnlySourceLayer);

}  // namespace library_layers

static const InternalType<OpaqueLayer> registered_opaque("Opaque");
static const InternalType<ShapeOnlySourceLayer> registered_shape_only_source("ShapeOnlySource");

}  // namespace caffe
