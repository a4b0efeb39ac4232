#ifndef CAFFE_INPUT_LAYER_HPP_
#define CAFFE_INPUT_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Tops whose values the user writes between passes. input_param.shape gives one shape for all tops
/// or one for each; without it the user shapes them.
template <typename Dtype>
class InputLayer : public Layer<Dtype> {
 public:
  explicit InputLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  // The user may have reshaped the tops, so this leaves them alone.
  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                       const vector<Blob<Dtype>*>& /*top*/) {}
  virtual inline const char* type() const { return "Input"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void ForwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*bottom*/,
                         const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}
};

}  // namespace caffe

#endif  // CAFFE_INPUT_LAYER_HPP_
