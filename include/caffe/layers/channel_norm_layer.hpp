#ifndef CAFFE_CHANNEL_NORM_LAYER_HPP_
#define CAFFE_CHANNEL_NORM_LAYER_HPP_

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/layer.hpp"
#include "caffe/proto/caffe.pb.h"

namespace layrub {
class Communicator;
}  // namespace layrub

namespace caffe {

struct ChannelShape;
namespace kernels {
template <typename Dtype>
struct RunningStatistics;
template <typename Dtype>
struct AfterNormalizing;
template <typename Dtype>
struct NormalizedSource;
template <typename Dtype>
struct NormalizeGradients;
}  // namespace kernels

inline namespace library_layers {

/// Normalises each channel (axis 1) to mean 0 and variance 1 and, where the subclass has such
/// parameters, multiplies by a scale and adds a bias; fused with a ReLU, it does that, too. The
/// statistics are the batch's or, with use_global_stats_, running ones, which gradients take for
/// constants. A subclass says in LayerSetUp which of its parameters are which, and how running
/// statistics are kept.
template <typename Dtype>
class ChannelNormLayer : public Layer<Dtype> {
 public:
  explicit ChannelNormLayer(const LayerParameter& param);
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  /// Fuses with a learned Scale of channels, unless it scales already, and with a ReLU.
  shared_ptr<Layer<Dtype>> FusedWith(Layer<Dtype>& next,
                                     const vector<Blob<Dtype>*>& bottom) const override;

  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// The running statistics, for use_global_stats_.
  virtual void ReadStatistics(const DeviceContext& context, Dtype* mean, Dtype* variance) const = 0;
  /// How they follow those of a batch of this shape.
  virtual kernels::RunningStatistics<Dtype> Running(const DeviceContext& context,
                                                    const ChannelShape& shape) = 0;

  /// A new layer that is set up as this one and shares its parameters.
  virtual shared_ptr<ChannelNormLayer> Twin() const = 0;
  /// Whether this is of a class derived from that of its twin, with bodies of its own perhaps.
  bool IsSubclass() const;
  void ShareSetUp(const ChannelNormLayer& other);

  /// The channels of a blob; one without axes behind the first has one.
  static int ChannelsOf(const Blob<Dtype>& bottom);

  bool use_global_stats_ = false;
  Dtype eps_ = 0;
  int channels_ = 0;
  vector<int> statistics_;                  ///< numbers of the parameters with running statistics
  int scale_param_ = -1, bias_param_ = -1;  ///< of scale and bias; -1: none

 private:
  bool Scales() const { return scale_param_ >= 0; }
  bool Wanted(int param) const { return param >= 0 && this->param_propagate_down(param); }
  /// What a backward is to make, and what it needs for that.
  struct Wants {
    bool scale = false, bias = false, dx = false;  ///< the gradients
    bool values = false;                           ///< needed: the normalised values
    bool sign = false;                             ///< needed: that of what was rectified
    bool top_tells = false;                        ///< the top tells what is needed
  };
  Wants WantsOf(const vector<bool>& propagate_down) const;
  /// What follows the normalisation, with those of the parameters that may be read.
  kernels::AfterNormalizing<Dtype> After(const DeviceContext& context, bool scale, bool bias) const;
  ChannelShape Shape(const Blob<Dtype>& bottom) const;

  /// The items of the batch are divided among devices.
  bool SumsOverDevices() const;
  /// `count` numbers become their sums over the devices among which the items are divided.
  void SumOverDevices(Dtype* numbers, int count);
  void ForwardWithOthers(const ChannelShape& shape, const Dtype* x, Dtype* y, Dtype* mean,
                         Dtype* inverse, Dtype* normalized);
  void BackwardWithOthers(const ChannelShape& shape, const kernels::NormalizedSource<Dtype>& source,
                          const Dtype* dy, const kernels::NormalizeGradients<Dtype>& gradients);

  layrub::Communicator* const group_;  ///< the devices among which the net is divided
  bool rectifies_ = false;             ///< a ReLU comes last
  Dtype negative_slope_ = 0;           ///< of it
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_CHANNEL_NORM_LAYER_HPP_
