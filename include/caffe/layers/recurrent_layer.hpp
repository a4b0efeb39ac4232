#ifndef CAFFE_RECURRENT_LAYER_HPP_
#define CAFFE_RECURRENT_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layer.hpp"
#include "caffe/net.hpp"

namespace caffe {

/// Base of recurrent layers. Bottoms: the sequences x (T x N x ...: T steps of N independent
/// streams), their continuation indicators (T x N: 0 where a sequence begins, 1 where it continues)
/// and, optionally, a static input (N x ...) that every step reads. Top: T x N x ....
///
/// The hidden state is carried from one forward to the next and is initially zero. With
/// expose_hidden, it is read from further bottoms and written to further tops instead, and so are
/// its gradients.
///
/// A subclass writes the net of all T steps (FillUnrolledNet). The layer consists of that net: its
/// learnable parameters are the layer's blobs, and under a memory plan its layers are separate
/// operations. N may change from pass to pass, which zeroes the state; T may not.
template <typename Dtype>
class RecurrentLayer : public Layer<Dtype> {
 public:
  explicit RecurrentLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Zeroes the hidden state.
  virtual void Reset();

  virtual inline const char* type() const { return "Recurrent"; }
  virtual inline int MinBottomBlobs() const { return 2 + ExposedStates(); }
  virtual inline int MaxBottomBlobs() const { return MinBottomBlobs() + 1; }
  virtual inline int ExactNumTopBlobs() const;
  virtual inline bool AllowForceBackward(const int bottom_index) const { return bottom_index != 1; }
  virtual InnerNet<Dtype> inner_net() const;
  /// Saves the hidden state; in a net that is divided among devices, this device's part of it.
  virtual void SaveProgress(LayerProgress* progress) const;
  /// Restores a hidden state. In a divided net it is the whole one, and the device takes its part.
  virtual bool RestoreProgress(const LayerProgress& progress);

 protected:
  /// Adds the layers of the unrolled net. They may read the blobs "x" and "cont" and, if
  /// static_input_, "x_static". The initial states, which RecurrentInputBlobNames lists, must come
  /// from an Input layer of their own.
  virtual void FillUnrolledNet(NetParameter* net_param) const = 0;
  virtual void RecurrentInputBlobNames(vector<string>* names) const = 0;
  virtual void RecurrentInputShapes(vector<BlobShape>* shapes) const = 0;
  /// The states after the last step, in the order of RecurrentInputBlobNames.
  virtual void RecurrentOutputBlobNames(vector<string>* names) const = 0;
  virtual void OutputBlobNames(vector<string>* names) const = 0;

  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                          const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom);

  /// The usual shape of a state: 1 x N x num_output.
  BlobShape StateShape() const;

  shared_ptr<Net<Dtype>> unrolled_net_;
  int N_;  ///< streams
  int T_;  ///< steps
  bool static_input_;
  bool expose_hidden_;

 private:
  using Blobs = vector<Blob<Dtype>*>;

  int ExposedStates() const;
  void CheckShapes(const Blobs& bottom) const;
  /// The whole net: the layers of FillUnrolledNet, their inputs, and the layers that keep the
  /// states and give the tops.
  NetParameter CompleteNet(const Blobs& bottom);
  void KeepStates(NetParameter* net) const;
  string Given(const string& blob, NetParameter* net) const;
  void TakeParameters();
  void ShareBlobsAndFlags() const;
  void ReshapeStates();
  Blobs InnerBlobs(const vector<string>& names) const;
  /// The blobs that keep their values from pass to pass, each once.
  Blobs States() const;

  vector<string> bottom_names_, top_names_;  ///< in unrolled_net_
  vector<Layer<Dtype>*> states_;             ///< the layers of unrolled_net_ that keep the state
};

template <typename Dtype>
inline int RecurrentLayer<Dtype>::ExactNumTopBlobs() const {
  vector<string> outputs;
  OutputBlobNames(&outputs);
  return static_cast<int>(outputs.size()) + ExposedStates();
}

}  // namespace caffe

#endif  // CAFFE_RECURRENT_LAYER_HPP_
