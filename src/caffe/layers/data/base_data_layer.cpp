#include "caffe/layers/base_data_layer.hpp"

#include <algorithm>
#include <boost/thread.hpp>
#include <chrono>
#include <exception>

#include "caffe/util/failure.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/threads.hpp"
#include "fill_top.hpp"
#include "own_items.hpp"
#include "source_traits.hpp"

namespace caffe {

namespace {

constexpr unsigned kMaxBatches = 1024;  ///< that are read ahead

/// As many threads as the CPU's loops use, divided among the solvers.
int LoadThreads() {
  const int solvers_here = Caffe::multiprocess() ? 1 : std::max(1, Caffe::solver_count());
  return std::max(1, CpuThreads() / solvers_here);
}

}  // namespace

template <typename Dtype>
BaseDataLayer<Dtype>::BaseDataLayer(const LayerParameter& param)
    : Layer<Dtype>(param), transform_param_(param.transform_param()) {}

template <typename Dtype>
void BaseDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                      const vector<Blob<Dtype>*>& top) {
  output_labels_ = top.size() > 1;
  data_transformer_.reset(new DataTransformer<Dtype>(transform_param_, this->phase_));
  data_transformer_->InitRand();
  DataLayerSetUp(bottom, top);
}

template <typename Dtype>
MemoryTraits BaseDataLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                          const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& /*propagate_down*/) const {
  return SourceTraits(top.size());
}

template <typename Dtype>
void BaseDataLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  if (data_transformer_ && data_transformer_->random())
    progress->add_random(StateOf(data_transformer_->random()));
}

template <typename Dtype>
bool BaseDataLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  const bool random = data_transformer_ && data_transformer_->random();
  return progress.random_size() == (random ? 1 : 0) &&
         (!random || SetState(progress.random(0), data_transformer_->random()));
}

template <typename Dtype>
BasePrefetchingDataLayer<Dtype>::BasePrefetchingDataLayer(const LayerParameter& param)
    : BaseDataLayer<Dtype>(param),
      workers_(LoadThreads()),
      // At least two: the last forward holds one batch while Reshape reads the shape of the next.
      prefetch_(std::clamp(param.data_param().prefetch(), 2u, kMaxBatches)),
      own_(new OwnItems(param)) {
  CHECK(param.data_param().prefetch() >= 1 && param.data_param().prefetch() <= kMaxBatches)
      << "Layer " << param.name() << ": prefetch must be 1 to " << kMaxBatches << ".";
  for (shared_ptr<Batch<Dtype>>& batch : prefetch_) {
    batch.reset(new Batch<Dtype>());
    prefetch_free_.push(batch.get());
  }
}

template <typename Dtype>
BasePrefetchingDataLayer<Dtype>::~BasePrefetchingDataLayer() = default;

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                                 const vector<Blob<Dtype>*>& top) {
  BaseDataLayer<Dtype>::LayerSetUp(bottom, top);
  this->data_transformer_->InitRand();
  SourcePosition beginning;
  has_position_ = SavePosition(&beginning);
  StartInternalThread();
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::InternalThreadEntry() {
  const FailureScope scope(this->layer_param_);
  Batch<Dtype>* batch = nullptr;
  try {
    if (!stream_.empty()) SetState(stream_, &Caffe::rng_stream());
    while (!must_stop()) {
      batch = prefetch_free_.pop();
      if (has_position_) batch->before_ = Position();
      const auto begin = std::chrono::steady_clock::now();
      load_batch(batch);
      batch->number_ = ++batches_;
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      {
        const std::lock_guard<std::mutex> lock(loaded_mutex_);
        loaded_.images += batch->data_.num_axes() > 0 ? batch->data_.shape(0) : 0;
        loaded_.seconds += seconds.count();
      }
      prefetch_full_.push(batch);
      batch = nullptr;
    }
  } catch (const boost::thread_interrupted&) {
    // StopInternalThread interrupted a wait, usually for a free batch.
  } catch (...) {
    prefetch_full_.fail(std::current_exception());  // the thread that waits throws it
  }
  if (batch) prefetch_free_.push(batch);
}

template <typename Dtype>
LoadedData BasePrefetchingDataLayer<Dtype>::loaded() const {
  const std::lock_guard<std::mutex> lock(loaded_mutex_);
  return loaded_;
}

template <typename Dtype>
bool BasePrefetchingDataLayer<Dtype>::GiveShape(bool first, int items, const vector<int>& image,
                                                Blob<Dtype>* batch) const {
  vector<int> shape = image;
  shape[0] = items;
  if (first) batch->Reshape(shape);
  return shape == batch->shape();
}

template <typename Dtype>
bool BasePrefetchingDataLayer<Dtype>::IsElsewhere(int item, int items) const {
  return !own_->Has(item, items) && this->data_transformer_->DrawsAlike();
}

template <typename Dtype>
BatchWorkers::Work BasePrefetchingDataLayer<Dtype>::SkipItem(int item) {
  return [this, item] { workers_->InOrder(item, [this] { this->data_transformer_->SkipDraw(); }); };
}

template <typename Dtype>
shared_ptr<const SourcePosition> BasePrefetchingDataLayer<Dtype>::Position() const {
  const shared_ptr<SourcePosition> position(new SourcePosition);
  SavePosition(position.get());
  vector<Caffe::RNG*> generators = Generators();
  generators.insert(generators.begin(), &Caffe::rng_stream());
  for (Caffe::RNG* generator : generators) {
    position->generators.push_back(generator ? CopyOf(generator) : nullptr);
  }
  return position;
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  if (!has_position_ || !is_started()) return;  // the next batch may never come
  const shared_ptr<const SourcePosition> next = prefetch_full_.peek()->before_;
  progress->set_key(next->key);
  *progress->mutable_position() = {next->position.begin(), next->position.end()};
  if (next->order) *progress->mutable_order() = {next->order->begin(), next->order->end()};
  for (const shared_ptr<Caffe::RNG>& generator : next->generators)
    progress->add_random(generator ? StateOf(generator.get()) : "");
}

template <typename Dtype>
bool BasePrefetchingDataLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  const vector<Caffe::RNG*> generators = Generators();
  bool fits = has_position_ && is_started() &&
              progress.random_size() == static_cast<int>(generators.size()) + 1;
  if (!fits) return false;
  StopInternalThread();
  prefetch_full_.fail(nullptr);
  for (Batch<Dtype>* ahead; prefetch_full_.try_pop(&ahead);) prefetch_free_.push(ahead);
  fits = RestorePosition(progress);
  for (size_t i = 0; fits && i < generators.size(); ++i) {
    const string& state = progress.random(static_cast<int>(i) + 1);
    if (generators[i]) fits = SetState(state, generators[i]);
  }
  stream_ = fits ? progress.random(0) : "";
  StartInternalThread();
  return fits;
}

template <typename Dtype>
NextFeed BasePrefetchingDataLayer<Dtype>::next_feed() {
  Batch<Dtype>* batch = nullptr;
  if (!prefetch_full_.try_peek(&batch)) return {};
  const auto values = [this](const Blob<Dtype>& blob) {
    return NextFeed::Values{blob.cpu_data() + own_->First(blob.count()),
                            static_cast<size_t>(blob.count() / own_->parts()) * sizeof(Dtype)};
  };
  NextFeed next{batch->number_, {values(batch->data_)}};
  if (this->output_labels_) next.tops.push_back(values(batch->label_));
  return next;
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                                              const vector<Blob<Dtype>*>& top) {
  const Batch<Dtype>* batch = prefetch_full_.peek();
  top[0]->Reshape(own_->Shape(batch->data_.shape()));
  if (this->output_labels_) top[1]->Reshape(own_->Shape(batch->label_.shape()));
}

template <typename Dtype>
void BasePrefetchingDataLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                                const vector<Blob<Dtype>*>& /*bottom*/,
                                                const vector<Blob<Dtype>*>& top) {
  HostFeed* const feed = this->feed();
  if (Batch<Dtype>* const last = prefetch_current_) {
    // A feed returns the batch to the thread only after the last forward's copies are done.
    const auto give_back = [this, last] { prefetch_free_.push(last); };
    feed ? feed->Then(give_back) : give_back();
  }
  prefetch_current_ = prefetch_full_.pop("Waiting for data");
  if (feed) feed->Tell(prefetch_current_->number_);
  const auto fill = [&context, feed, this](const Blob<Dtype>& from, Blob<Dtype>* to) {
    CHECK_EQ(from.count(), to->count() * own_->parts())
        << "Layer " << this->layer_param_.name() << ": forward without reshape.";
    FillTop(context, feed, from, to, own_->First(from.count()));
  };
  fill(prefetch_current_->data_, top[0]);
  if (this->output_labels_) fill(prefetch_current_->label_, top[1]);
}

INSTANTIATE_CLASS(BaseDataLayer);
INSTANTIATE_CLASS(BasePrefetchingDataLayer);

}  // namespace caffe
