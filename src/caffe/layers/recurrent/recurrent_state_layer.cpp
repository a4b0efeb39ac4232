#include "caffe/kernels/shape/copy.hpp"
#include "caffe/layer.hpp"
#include "caffe/layers/internal_type.hpp"

namespace caffe {

inline namespace library_layers {

/// Carries values from one forward to the next, in its own blobs, which are initially zero. With
/// tops, it outputs the values (input_param.shape gives one shape per top). With bottoms, it stores
/// new values, for a layer that shares its blobs by parameter names. Has no gradients. Created by
/// RecurrentLayer.
template <typename Dtype>
class RecurrentStateLayer : public Layer<Dtype> {
 public:
  explicit RecurrentStateLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual inline const char* type() const { return "RecurrentState"; }
  virtual inline bool AllowForceBackward(const int /*bottom_index*/) const { return false; }

  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const InputParameter& param = this->layer_param_.input_param();
    CHECK_EQ(param.shape_size(), static_cast<int>(top.size()))
        << "Layer " << this->layer_param_.name() << ": it needs one shape for each top.";
    this->blobs_.clear();
    for (const BlobShape& shape : param.shape()) {
      this->blobs_.emplace_back(new Blob<Dtype>());
      this->blobs_.back()->Reshape(shape);
    }
    for (const Blob<Dtype>* blob : bottom)
      this->blobs_.emplace_back(new Blob<Dtype>(blob->shape()));
  }

  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/, const vector<Blob<Dtype>*>& top) {
    for (size_t i = 0; i < top.size(); ++i) top[i]->ReshapeLike(*this->blobs_[i]);
  }

  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& /*propagate_down*/) const {
    MemoryTraits traits;
    traits.declared = traits.capturable = true;
    traits.repeatable = false;
    traits.forward.name = "copy";
    for (size_t i = 0; i < top.size(); ++i) {
      traits.forward.reads.push_back(ParamData(i));
      traits.forward.writes.push_back(TopData(i));
    }
    for (size_t i = 0; i < bottom.size(); ++i) {
      traits.forward.reads.push_back(BottomData(i));
      traits.forward.writes.push_back(ParamData(i));
    }
    return traits;
  }

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top) {
    for (size_t i = 0; i < top.size(); ++i) {
      kernels::Copy(context, top[i]->count(), Data(context, *this->blobs_[i]),
                    MutableData(context, top[i]));
    }
    for (size_t i = 0; i < bottom.size(); ++i) {
      kernels::Copy(context, bottom[i]->count(), Data(context, *bottom[i]),
                    MutableData(context, this->blobs_[i].get()));
    }
  }
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}
};

INSTANTIATE_CLASS(RecurrentStateLayer);

}  // namespace library_layers

static const InternalType<RecurrentStateLayer> registered_recurrent_state("RecurrentState");

}  // namespace caffe
