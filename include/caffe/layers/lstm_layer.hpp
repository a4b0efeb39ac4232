#ifndef CAFFE_LSTM_LAYER_HPP_
#define CAFFE_LSTM_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/recurrent_layer.hpp"

namespace caffe {

/// Long short-term memory over T steps. Blobs: W_xc and b_c, from x to the four gates (input,
/// forget, output, candidate); W_xc_static if there is a static input; W_hc, from the hidden state
/// to the gates. States: h and c, 1 x N x num_output each. Top: h of every step, T x N x
/// num_output.
template <typename Dtype>
class LSTMLayer : public RecurrentLayer<Dtype> {
 public:
  explicit LSTMLayer(const LayerParameter& param) : RecurrentLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "LSTM"; }
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

 protected:
  virtual void FillUnrolledNet(NetParameter* net_param) const;
  virtual void RecurrentInputBlobNames(vector<string>* names) const;
  virtual void RecurrentInputShapes(vector<BlobShape>* shapes) const;
  virtual void RecurrentOutputBlobNames(vector<string>* names) const;
  virtual void OutputBlobNames(vector<string>* names) const;
};

/// One step of LSTM. Bottoms: the cells of the previous step (1 x N x D), the inputs of the gates
/// (1 x N x 4D: input, forget, output, candidate) and the continuation indicators (1 x N), which
/// get no gradient. Tops: the cells and the hidden values, 1 x N x D each.
///
/// The only backward variant recomputes the gates from their inputs.
template <typename Dtype>
class LSTMUnitLayer : public Layer<Dtype> {
 public:
  explicit LSTMUnitLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "LSTMUnit"; }
  virtual inline int ExactNumBottomBlobs() const { return 3; }
  virtual inline int ExactNumTopBlobs() const { return 2; }
  virtual inline bool AllowForceBackward(const int bottom_index) const { return bottom_index != 2; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  int hidden_dim_;  ///< D
};

}  // namespace caffe

#endif  // CAFFE_LSTM_LAYER_HPP_
