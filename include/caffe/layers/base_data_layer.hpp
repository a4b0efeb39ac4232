#ifndef CAFFE_DATA_LAYERS_HPP_
#define CAFFE_DATA_LAYERS_HPP_

#include <vector>

#include "caffe/data_transformer.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/blocking_queue.hpp"

namespace caffe {

/// A source of images, transformed as transform_param says, and of labels where there is a second
/// top. Subclasses override DataLayerSetUp.
template <typename Dtype>
class BaseDataLayer : public Layer<Dtype> {
 public:
  explicit BaseDataLayer(const LayerParameter& param);
  /// Makes the transformer, then calls DataLayerSetUp. Not for overriding, except by
  /// BasePrefetchingDataLayer.
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                              const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                       const vector<Blob<Dtype>*>& /*top*/) {}
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;

 protected:
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}

  TransformationParameter transform_param_;
  shared_ptr<DataTransformer<Dtype>> data_transformer_;
  bool output_labels_;
};

template <typename Dtype>
class Batch {
 public:
  Blob<Dtype> data_, label_;
};

/// Loads batches ahead in a thread of its own: as many as data_param.prefetch says, but at least
/// two, in memory of the host (pinned in GPU mode). A forward copies the oldest into the tops,
/// under a plan for a device beside what computes, and holds it until the next forward.
///
/// A subclass shapes the tops and every prefetch_[i] in DataLayerSetUp, overrides load_batch, which
/// runs in the thread, and stops the thread in its destructor. One with a forward of its own pushes
/// prefetch_current_, unless it is null, to prefetch_free_ and takes the next from prefetch_full_.
template <typename Dtype>
class BasePrefetchingDataLayer : public BaseDataLayer<Dtype>, public InternalThread {
 public:
  explicit BasePrefetchingDataLayer(const LayerParameter& param);
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Gives the tops the shapes of the batch that the next forward will copy; waits for it.
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void InternalThreadEntry();
  virtual void load_batch(Batch<Dtype>* batch) = 0;

  vector<shared_ptr<Batch<Dtype>>> prefetch_;
  BlockingQueue<Batch<Dtype>*> prefetch_free_;
  BlockingQueue<Batch<Dtype>*> prefetch_full_;
  Batch<Dtype>* prefetch_current_ = nullptr;  ///< the batch of the last forward; in neither queue
  Blob<Dtype> transformed_data_;
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYERS_HPP_
