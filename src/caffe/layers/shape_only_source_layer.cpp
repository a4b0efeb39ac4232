// Stands for a layer that reads data from outside where a net is only planned
// (caffe/source_shapes.hpp).
#include "caffe/layer.hpp"
#include "internal_type.hpp"
#include "source_traits.hpp"

namespace caffe {

/// Tops with the shapes of input_param.shape, one for each, and the memory traits of a source. It
/// cannot run.
template <typename Dtype>
class ShapeOnlySourceLayer : public Layer<Dtype> {
 public:
  explicit ShapeOnlySourceLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  const char* type() const override { return "ShapeOnlySource"; }
  int ExactNumBottomBlobs() const override { return 0; }

  void LayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    const InputParameter& shapes = this->layer_param_.input_param();
    CHECK_EQ(static_cast<int>(top.size()), shapes.shape_size())
        << "Layer " << this->layer_param_.name() << ": one shape for each top";
    for (size_t i = 0; i < top.size(); ++i) top[i]->Reshape(shapes.shape(i));
  }
  void Reshape(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) override {}

  MemoryTraits Traits(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top,
                      const vector<bool>&) const override {
    return SourceTraits(top.size());
  }

 protected:
  void ForwardOn(const DeviceContext&, const vector<Blob<Dtype>*>&,
                 const vector<Blob<Dtype>*>&) override {
    LOG(FATAL) << "Layer " << this->layer_param_.name()
               << ": a net without its data sources can be planned, not run.";
  }
};

INSTANTIATE_CLASS(ShapeOnlySourceLayer);

static const InternalType<ShapeOnlySourceLayer> registered_shape_only_source("ShapeOnlySource");

}  // namespace caffe
