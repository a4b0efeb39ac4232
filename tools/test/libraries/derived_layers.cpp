// A library for --load: layers derived from those of the library, and one that throws.
#include <stdexcept>
#include <vector>

#include "caffe/layers/inner_product_layer.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/layers/normalize_layer.hpp"

namespace caffe {

/// Behaves exactly as InnerProduct.
template <typename Dtype>
class MyProductLayer : public InnerProductLayer<Dtype> {
 public:
  explicit MyProductLayer(const LayerParameter& param) : InnerProductLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "MyProduct"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    Layer<Dtype>* const self = this;
    CHECK(dynamic_cast<InnerProductLayer<Dtype>*>(self)) << "This is an InnerProduct.";
    InnerProductLayer<Dtype>::Forward_cpu(bottom, top);
  }
};
INSTANTIATE_CLASS(MyProductLayer);
REGISTER_LAYER_CLASS(MyProduct);

/// A user's layer of a type that the library has too, derived from the library's class.
template <typename Dtype>
class MyNormalizeLayer : public NormalizeLayer<Dtype> {
 public:
  explicit MyNormalizeLayer(const LayerParameter& param) : NormalizeLayer<Dtype>(param) {}
};
INSTANTIATE_CLASS(MyNormalizeLayer);

template <typename Dtype>
shared_ptr<Layer<Dtype>> MakeMyNormalize(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype>>(new MyNormalizeLayer<Dtype>(param));
}
REGISTER_LAYER_CREATOR(Normalize, MakeMyNormalize);

template <typename Dtype>
class ThrowingLayer : public NeuronLayer<Dtype> {
 public:
  explicit ThrowingLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "Throwing"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) {
    throw std::runtime_error("the layer threw this");
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>&, const vector<bool>&,
                            const vector<Blob<Dtype>*>&) {}
};
INSTANTIATE_CLASS(ThrowingLayer);
REGISTER_LAYER_CLASS(Throwing);

}  // namespace caffe
