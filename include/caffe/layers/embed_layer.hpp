#ifndef CAFFE_EMBED_LAYER_HPP_
#define CAFFE_EMBED_LAYER_HPP_

#include <vector>

#include "caffe/layer.hpp"

namespace caffe {

/// Looks up a row of a learned table for each value of the bottom, which must be an integer in [0,
/// input_dim). The top has one more axis than the bottom, of num_output values. Parameters: the
/// table, input_dim x num_output, and with bias_term a bias of num_output values. The bottom gets
/// no gradient.
///
/// On a CPU a value out of range aborts; on a GPU the row becomes NaN.
template <typename Dtype>
class EmbedLayer : public Layer<Dtype> {
 public:
  explicit EmbedLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  const char* type() const override { return "Embed"; }
  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }
  bool AllowForceBackward(const int /*bottom_index*/) const override { return false; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  int M_ = 0;  ///< values of the bottom
  int K_ = 0;  ///< rows of the table
  int N_ = 0;  ///< outputs
  bool bias_term_ = false;
};

}  // namespace caffe

#endif  // CAFFE_EMBED_LAYER_HPP_
