#ifndef CAFFE_DATA_LAYERS_HPP_
#define CAFFE_DATA_LAYERS_HPP_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "caffe/data_transformer.hpp"
#include "caffe/internal_thread.hpp"
#include "caffe/layer.hpp"
#include "caffe/util/batch_workers.hpp"
#include "caffe/util/blocking_queue.hpp"

namespace caffe {

class OwnItems;

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
  /// The transformer's generator.
  virtual void SaveProgress(LayerProgress* progress) const;
  virtual bool RestoreProgress(const LayerProgress& progress);

 protected:
  virtual void BackwardOn(const DeviceContext& /*context*/, const vector<Blob<Dtype>*>& /*top*/,
                          const vector<bool>& /*propagate_down*/,
                          const vector<Blob<Dtype>*>& /*bottom*/) {}

  TransformationParameter transform_param_;
  shared_ptr<DataTransformer<Dtype>> data_transformer_;
  bool output_labels_;
};

/// Where a source is in what it reads, and in what it draws. Taken before each batch is loaded.
struct SourcePosition {
  string key;                                 ///< LayerProgress has the same fields
  vector<uint64_t> position;                  ///< likewise
  shared_ptr<const vector<uint32_t>> order;   ///< likewise; null: none
  vector<shared_ptr<Caffe::RNG>> generators;  ///< copies; null: none
};

template <typename Dtype>
class Batch {
 public:
  Blob<Dtype> data_, label_;
  shared_ptr<const SourcePosition> before_;  ///< where the source was; null: it does not say
  uint64_t number_ = 0;                      ///< of the batches that the source has loaded
};

/// What a source has loaded so far, and how long that took.
struct LoadedData {
  int64_t images = 0;
  double seconds = 0;
};

/// Loads batches ahead in a thread of its own: as many as data_param.prefetch says, but at least
/// two, in memory of the host (pinned in GPU mode). A forward copies the oldest into the tops,
/// under a plan for a device beside what computes, and holds it until the next forward.
///
/// A subclass shapes the tops and every prefetch_[i] in DataLayerSetUp, overrides load_batch, which
/// runs in the thread, and stops the thread in its destructor. One with a forward of its own pushes
/// prefetch_current_, unless it is null, to prefetch_free_ and takes the next from prefetch_full_.
/// Its load_batch may have images decoded and transformed by several threads (workers_).
/// One that says where it is (SavePosition, RestorePosition, Generators) goes on exactly there in a
/// resumed training; any other begins anew.
template <typename Dtype>
class BasePrefetchingDataLayer : public BaseDataLayer<Dtype>, public InternalThread {
 public:
  explicit BasePrefetchingDataLayer(const LayerParameter& param);
  ~BasePrefetchingDataLayer() override;
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Gives the tops the shapes of the batch that the next forward will copy; waits for it.
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// The batch that comes next, where it is loaded.
  virtual NextFeed next_feed();
  /// Where the source was before the batch that comes next; waits for it.
  virtual void SaveProgress(LayerProgress* progress) const;
  /// Drops what was read ahead, and reads on from there.
  virtual bool RestoreProgress(const LayerProgress& progress);

  /// How many threads decode and transform; what comes out is the same with any number. Before
  /// LayerSetUp. At first CpuThreads(), divided among the solvers.
  void set_load_threads(int threads) { workers_->set_threads(threads); }
  /// By any thread, at any time.
  LoadedData loaded() const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void InternalThreadEntry();
  virtual void load_batch(Batch<Dtype>* batch) = 0;

  /// Sets where the next load_batch will read: key, position, order. Called after DataLayerSetUp,
  /// then in the thread before each batch. False, the default: it never says.
  virtual bool SavePosition(SourcePosition* /*position*/) const { return false; }
  /// Goes there, or, where that makes no sense, to the beginning of its data (false). The thread is
  /// at rest.
  virtual bool RestorePosition(const LayerProgress& /*progress*/) { return false; }
  /// What load_batch draws from besides the thread's stream, always as many; null: not in use.
  virtual vector<Caffe::RNG*> Generators() const { return {this->data_transformer_->random()}; }

  /// For the work of item i, in order: the first gives the batch the shape of its image, 1 x C x H
  /// x W. False: this image has another.
  bool GiveShape(int item, int items, const vector<int>& image, Blob<Dtype>* batch) const;
  layrub::OfProcess<BatchWorkers> workers_;
  vector<shared_ptr<Batch<Dtype>>> prefetch_;
  BlockingQueue<Batch<Dtype>*> prefetch_free_;
  BlockingQueue<Batch<Dtype>*> prefetch_full_;
  Batch<Dtype>* prefetch_current_ = nullptr;  ///< the batch of the last forward; in neither queue
  Blob<Dtype> transformed_data_;

 private:
  shared_ptr<const SourcePosition> Position() const;

  const std::unique_ptr<const OwnItems> own_;  ///< those of a batch that the tops get
  mutable std::mutex loaded_mutex_;
  LoadedData loaded_;
  uint64_t batches_ = 0;  ///< that were loaded; the thread's
  bool says_where_ = false;
  string stream_;  ///< the state in which the thread's stream begins; empty: as it is seeded
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYERS_HPP_
