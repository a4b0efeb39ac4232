// A library for --load: a layer of a user, written as for Caffe. The top is twice the bottom.
#include <vector>

#include "caffe/layers/neuron_layer.hpp"

namespace caffe {

template <typename Dtype>
class MyDoublerLayer : public NeuronLayer<Dtype> {
 public:
  explicit MyDoublerLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "MyDoubler"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    for (int i = 0; i < bottom[0]->count(); ++i)
      top[0]->mutable_cpu_data()[i] = 2 * bottom[0]->cpu_data()[i];
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    if (!propagate_down[0]) return;
    for (int i = 0; i < top[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = 2 * top[0]->cpu_diff()[i];
  }
};

INSTANTIATE_CLASS(MyDoublerLayer);
REGISTER_LAYER_CLASS(MyDoubler);

}  // namespace caffe
