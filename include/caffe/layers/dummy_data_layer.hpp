#ifndef CAFFE_DUMMY_DATA_LAYER_HPP_
#define CAFFE_DUMMY_DATA_LAYER_HPP_

#include <vector>

#include "caffe/filler.hpp"
#include "caffe/layer.hpp"

namespace caffe {

/// Fills tops of given shapes anew in every forward: with one filler for all, one for each, or
/// zeros if none is given. With `refill: false` the values are generated once, and each forward
/// copies them, as it would copy a batch that was read ahead.
template <typename Dtype>
class DummyDataLayer : public Layer<Dtype> {
 public:
  explicit DummyDataLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                       const vector<Blob<Dtype>*>& /*top*/) {}
  virtual inline const char* type() const { return "DummyData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

  /// With `refill: false`, the same batch each time.
  virtual NextFeed next_feed();

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}

 private:
  struct Source {
    shared_ptr<Filler<Dtype>> filler;
    bool constant;
    Dtype value;  ///< if it is constant
  };
  const Source& SourceOf(size_t top) const { return sources_[sources_.size() > 1 ? top : 0]; }
  vector<int> TopShape(size_t top, size_t tops) const;
  void FillBatch(const vector<Blob<Dtype>*>& top);

  vector<Source> sources_;  // one, or one for each top
  // With `refill: false`:
  unsigned int seed_ = 0;
  vector<shared_ptr<Blob<Dtype>>> batch_;  ///< one blob per top; empty before the first forward
  vector<int64_t> first_;  ///< per top: index in the whole batch of this device's first value
};

}  // namespace caffe

#endif  // CAFFE_DUMMY_DATA_LAYER_HPP_
