#ifndef EXAMPLES_CUSTOM_LAYER_SOFTSIGN_LAYER_HPP_
#define EXAMPLES_CUSTOM_LAYER_SOFTSIGN_LAYER_HPP_

#include <vector>

#include "caffe/caffe.hpp"

namespace caffe {

/// y = x / (1 + |x|), written as a layer for Caffe is: a version for the CPU, one for the GPU in a
/// .cu file of its own, and nothing about memory planning.
template <typename Dtype>
class SoftsignLayer : public Layer<Dtype> {
 public:
  explicit SoftsignLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "Softsign"; }
  virtual inline int ExactNumBottomBlobs() const { return 1; }
  virtual inline int ExactNumTopBlobs() const { return 1; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom);
  virtual void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom);
};

}  // namespace caffe

#endif  // EXAMPLES_CUSTOM_LAYER_SOFTSIGN_LAYER_HPP_
