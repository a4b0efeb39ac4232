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

/// Base of sources of images, transformed as transform_param says, and of labels if there is a
/// second top. Subclasses override DataLayerSetUp.
template <typename Dtype>
class BaseDataLayer : public Layer<Dtype> {
 public:
  explicit BaseDataLayer(const LayerParameter& param);
  /// Creates the transformer, then calls DataLayerSetUp. Only BasePrefetchingDataLayer may override
  /// this.
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                              const vector<Blob<Dtype>*>& /*top*/) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                       const vector<Blob<Dtype>*>& /*top*/) {}
  virtual MemoryTraits Traits(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down) const;
  /// Saves the state of the transformer's random generator.
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

/// The position of a source in its data, and the states of its random generators. Taken before each
/// batch is loaded.
struct SourcePosition {
  string key;                                 ///< as in LayerProgress
  vector<uint64_t> position;                  ///< as in LayerProgress
  shared_ptr<const vector<uint32_t>> order;   ///< as in LayerProgress; null: none
  vector<shared_ptr<Caffe::RNG>> generators;  ///< copies; null: none
};

template <typename Dtype>
class Batch {
 public:
  Blob<Dtype> data_, label_;
  shared_ptr<const SourcePosition> before_;  ///< position before this batch; null: unknown
  uint64_t number_ = 0;                      ///< counts the batches that the source has loaded
};

/// Number of images that a source has loaded so far, and the time that took.
struct LoadedData {
  int64_t images = 0;
  double seconds = 0;
};

/// Loads batches ahead in its own thread: data_param.prefetch of them, at least two, in host memory
/// (pinned in GPU mode). A forward copies the oldest batch into the tops and keeps it until the
/// next forward. Under a plan for a device, the copy overlaps with computation.
///
/// A subclass shapes the tops and every prefetch_[i] in DataLayerSetUp, overrides load_batch, which
/// runs in the thread, and stops the thread in its destructor. A subclass that overrides the
/// forward must push prefetch_current_, unless it is null, to prefetch_free_ and pop the next batch
/// from prefetch_full_. load_batch may let several threads decode and transform images (workers_).
///
/// A subclass that implements SavePosition, RestorePosition and Generators continues at exactly the
/// same place when training is resumed; any other begins anew.
template <typename Dtype>
class BasePrefetchingDataLayer : public BaseDataLayer<Dtype>, public InternalThread {
 public:
  explicit BasePrefetchingDataLayer(const LayerParameter& param);
  ~BasePrefetchingDataLayer() override;
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Gives the tops the shapes of the batch that the next forward will copy. Waits for that batch.
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  /// Returns the next batch if it is loaded already; does not wait.
  virtual NextFeed next_feed();
  /// Saves the position of the source before the next batch. Waits for that batch.
  virtual void SaveProgress(LayerProgress* progress) const;
  /// Drops the batches that were read ahead, and continues from the given position.
  virtual bool RestoreProgress(const LayerProgress& progress);

  /// Sets the number of threads that decode and transform; the results do not depend on it. Call it
  /// before LayerSetUp. The default is CpuThreads(), divided among the solvers.
  void set_load_threads(int threads) { workers_->set_threads(threads); }
  /// May be called by any thread at any time.
  LoadedData loaded() const;

 protected:
  virtual void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                         const vector<Blob<Dtype>*>& top);
  virtual void InternalThreadEntry();
  virtual void load_batch(Batch<Dtype>* batch) = 0;

  /// Sets the key, position and order at which the next load_batch will read. Called once after
  /// DataLayerSetUp, then in the thread before each batch. A source that returns false, the
  /// default, never has a position.
  virtual bool SavePosition(SourcePosition* /*position*/) const { return false; }
  /// Moves to the saved position. If it does not fit the data, moves to their beginning and returns
  /// false. Called while the thread is stopped.
  virtual bool RestorePosition(const LayerProgress& /*progress*/) { return false; }
  /// The generators that load_batch uses besides the thread's random stream; always the same
  /// number, null for one not in use.
  virtual vector<Caffe::RNG*> Generators() const { return {this->data_transformer_->random()}; }

  /// Called for each item that is made, in order. The first gives the batch the shape of its image,
  /// 1 x C x H x W, with `items` in place of 1. Returns false if a later image has another shape.
  bool GiveShape(bool first, int items, const vector<int>& image, Blob<Dtype>* batch) const;
  /// Whether an item of a batch of `items` goes to other devices only (LayerParameter::layout), and
  /// so need not be made: SkipItem takes its turn.
  bool IsElsewhere(int item, int items) const;
  /// Work that draws the random numbers of an item.
  BatchWorkers::Work SkipItem(int item);
  layrub::PerProcess<BatchWorkers> workers_;
  vector<shared_ptr<Batch<Dtype>>> prefetch_;
  BlockingQueue<Batch<Dtype>*> prefetch_free_;
  BlockingQueue<Batch<Dtype>*> prefetch_full_;
  Batch<Dtype>* prefetch_current_ = nullptr;  ///< the batch of the last forward; in neither queue
  Blob<Dtype> transformed_data_;

 private:
  shared_ptr<const SourcePosition> Position() const;

  const std::unique_ptr<const OwnItems> own_;  ///< the items of a batch that go to the tops
  mutable std::mutex loaded_mutex_;
  LoadedData loaded_;
  uint64_t batches_ = 0;  ///< number loaded; used by the thread alone
  bool has_position_ = false;
  string stream_;  ///< initial state of the thread's random stream; empty: seeded as usual
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYERS_HPP_
