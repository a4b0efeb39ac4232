#ifndef CAFFE_RNN_LAYER_HPP_
#define CAFFE_RNN_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/recurrent_layer.hpp"

namespace caffe {

/// A simple recurrent net: h_t = tanh(W_hh h_(t-1) + W_xh x_t + b_h), o_t = tanh(W_ho h_t + b_o).
/// Blobs: W_xh, b_h, W_xh_static if there is a static input, W_hh, W_ho, b_o. State: h, 1 x N x
/// num_output. Top: o of every step, T x N x num_output.
template <typename Dtype>
class RNNLayer : public RecurrentLayer<Dtype> {
 public:
  explicit RNNLayer(const LayerParameter& param) : RecurrentLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "RNN"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  virtual void FillUnrolledNet(NetParameter* net_param) const;
  virtual void RecurrentInputBlobNames(vector<string>* names) const;
  virtual void RecurrentInputShapes(vector<BlobShape>* shapes) const;
  virtual void RecurrentOutputBlobNames(vector<string>* names) const;
  virtual void OutputBlobNames(vector<string>* names) const;
};

}  // namespace caffe

#endif  // CAFFE_RNN_LAYER_HPP_
