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

class DeviceSum;
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

/// Base of BatchNorm and BN. Normalises each channel (axis 1) to mean 0 and variance 1 and, if the
/// subclass has such parameters, multiplies by a scale and adds a bias. A fused layer may also
/// apply a ReLU at the end. The statistics are those of the batch or, with use_global_stats_,
/// running ones, which are constants in the gradients. A subclass sets in LayerSetUp which
/// parameter is which, and defines how running statistics are kept.
template <typename Dtype>
class ChannelNormLayer : public Layer<Dtype> {
 public:
  explicit ChannelNormLayer(const LayerParameter& param);
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                      const vector<bool>& propagate_down) const override;

  /// Fuses with a learned Scale of channels, unless it has a scale already, and with a ReLU.
  shared_ptr<Layer<Dtype>> FusedWith(Layer<Dtype>& next,
                                     const vector<Blob<Dtype>*>& bottom) const override;

  int ExactNumBottomBlobs() const override { return 1; }
  int ExactNumTopBlobs() const override { return 1; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;
  void BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                  const vector<bool>& propagate_down, const vector<Blob<Dtype>*>& bottom) override;

  /// Reads the running statistics, for use_global_stats_.
  virtual void ReadStatistics(const DeviceContext& context, Dtype* mean, Dtype* variance) const = 0;
  /// How to update the running statistics from those of a batch of this shape.
  virtual kernels::RunningStatistics<Dtype> Running(const DeviceContext& context,
                                                    const ChannelShape& shape) = 0;

  /// Creates a layer with the same set-up that shares the parameters of this one.
  virtual shared_ptr<ChannelNormLayer> CloneWithSharedParams() const = 0;
  /// Whether this layer's class is derived from that of its CloneWithSharedParams(), so that it may
  /// have its own forward and backward.
  bool IsSubclass() const;
  void ShareSetUp(const ChannelNormLayer& other);

  /// The number of channels of a blob; 1 if it has no axis 1.
  static int ChannelsOf(const Blob<Dtype>& bottom);

  bool use_global_stats_ = false;
  Dtype eps_ = 0;
  int channels_ = 0;
  vector<int> statistics_;                  ///< indices of the parameters with running statistics
  int scale_param_ = -1, bias_param_ = -1;  ///< indices of the parameters; -1: none

 private:
  bool Scales() const { return scale_param_ >= 0; }
  bool Wanted(int param) const { return param >= 0 && this->param_propagate_down(param); }
  /// The gradients that a backward computes, and what it needs for them.
  struct Wants {
    bool scale = false, bias = false, dx = false;  ///< the gradients
    bool values = false;                           ///< needed: the normalised values
    bool sign = false;                             ///< needed: the sign of the ReLU's input
    bool top_suffices = false;                     ///< what is needed can be read from the top
  };
  Wants WantsOf(const vector<bool>& propagate_down) const;
  /// The steps after the normalisation. `scale` and `bias` say whether those parameters may be
  /// read.
  kernels::AfterNormalizing<Dtype> After(const DeviceContext& context, bool scale, bool bias) const;
  ChannelShape Shape(const Blob<Dtype>& bottom) const;

  /// The number of parts into which the items of the batch are divided among devices. If there are
  /// several, sums go over all of them.
  int ItemParts() const;
  DeviceSum SumOfItems() const;
  /// Replaces `count` sums by their sums over these devices, divided by `values`. `workspace`: see
  /// DeviceSum.
  void AverageOverDevices(const DeviceContext& context, int64_t values, int count, Dtype* sums,
                          Dtype* workspace) const;
  void ForwardDivided(const DeviceContext& context, const ChannelShape& shape, const Dtype* x,
                      Dtype* y, Dtype* mean, Dtype* inverse, Dtype* normalized, Dtype* workspace);
  void BackwardDivided(const DeviceContext& context, const ChannelShape& shape,
                       const kernels::NormalizedSource<Dtype>& source,
                       const kernels::AfterNormalizing<Dtype>& after, const Dtype* dy,
                       const kernels::NormalizeGradients<Dtype>& gradients, Dtype* workspace);

  layrub::Communicator* const group_;  ///< the devices among which the net is divided
  bool has_relu_ = false;              ///< a ReLU comes last
  Dtype negative_slope_ = 0;           ///< of the ReLU
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_CHANNEL_NORM_LAYER_HPP_
