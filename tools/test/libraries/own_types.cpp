// A library for --load: a user's layers of types that Layrub has too, in classes of the same names.
// The top is twice the bottom. The objects are larger than Layrub's and have another layout.
#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

template <typename Dtype>
class DoublingLayer : public Layer<Dtype> {
 public:
  explicit DoublingLayer(const LayerParameter& param) : Layer<Dtype>(param), factors_(1000, 2) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    for (int i = 0; i < bottom[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = factors_[i % 1000] * bottom[0]->cpu_data()[i];
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    if (!propagate_down[0]) return;
    for (int i = 0; i < top[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = factors_[i % 1000] * top[0]->cpu_diff()[i];
  }

 private:
  char before_[4096] = {};  ///< Layrub's class has pointers here
  vector<Dtype> factors_;
};

#define OWN_TYPE(name)                                                                 \
  template <typename Dtype>                                                            \
  class name##Layer : public DoublingLayer<Dtype> {                                    \
   public:                                                                             \
    explicit name##Layer(const LayerParameter& param) : DoublingLayer<Dtype>(param) {} \
    virtual inline const char* type() const { return #name; }                          \
  };                                                                                   \
  INSTANTIATE_CLASS(name##Layer);                                                      \
  REGISTER_LAYER_CLASS(name)

OWN_TYPE(Axpy);
OWN_TYPE(BN);
OWN_TYPE(DepthwiseConvolution);
OWN_TYPE(DetectionEvaluate);
OWN_TYPE(DetectionOutput);
OWN_TYPE(Interp);
OWN_TYPE(Normalize);
OWN_TYPE(Permute);
OWN_TYPE(PriorBox);
OWN_TYPE(PSROIPooling);
OWN_TYPE(ReLU6);
OWN_TYPE(Reorg);
OWN_TYPE(ROIPooling);
OWN_TYPE(ShuffleChannel);
OWN_TYPE(Upsample);

}  // namespace caffe
