#include "caffe/layers/data_layer.hpp"

#include <filesystem>
#include <numeric>
#include <utility>

#include "caffe/layers/shape/permutation.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "dealing.hpp"
#include "layrub/base/input.hpp"
#include "own_items.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

namespace caffe {

namespace {

/// Size of a record, in bytes, from which it is worth handing it to another thread.
constexpr size_t kMinBytesToHandOver = 4096;

string SizeOf(int channels, int height, int width) {
  return std::to_string(channels) + " x " + std::to_string(height) + " x " + std::to_string(width);
}
string SizeOf(const Datum& datum) {
  return SizeOf(datum.channels(), datum.height(), datum.width());
}
#ifdef USE_OPENCV
string SizeOf(const cv::Mat& image) { return SizeOf(image.channels(), image.rows, image.cols); }
#endif

}  // namespace

template <typename Dtype>
DataLayer<Dtype>::~DataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
void DataLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  std::error_code unknown;
  CHECK(std::filesystem::exists(param.source(), unknown))
      << Name() << ": the source does not exist" << layrub::LookedIn(param.source()) << ".";
  cursor_.reset();
  db_.reset(db::GetDB(param.backend()));
  db_->Open(param.source(), db::READ);
  cursor_.reset(db_->NewCursor());
  CHECK(cursor_->valid()) << Name() << ": the database is empty.";
  BasePrefetchingDataLayer<Dtype>::LayerSetUp(bottom, top);
}

template <typename Dtype>
string DataLayer<Dtype>::Name() const {
  return "Layer " + this->layer_param_.name() + " (source " +
         this->layer_param_.data_param().source() + ")";
}

template <typename Dtype>
Datum DataLayer<Dtype>::Record(const string& key, const string& value) const {
  Datum datum;
  CHECK(datum.ParseFromString(value))
      << Name() << ": the record with key '" << key << "' is not a Datum.";
  return datum;
}

template <typename Dtype>
vector<int> DataLayer<Dtype>::ImageShape() {
  return this->data_transformer_->InferBlobShape(Record(cursor_->key(), cursor_->value()));
}

template <typename Dtype>
void DataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  const int batch_size = static_cast<int>(param.batch_size());
  CHECK_GT(batch_size, 0) << Name() << ": batch_size must be 1 to 2147483647.";
  if (Shuffles()) ReadKeys();
  if (param.rand_skip() > 0) {
    unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    for (; skip > 0; --skip) Next();
  }
  vector<int> shape = ImageShape();
  shape[0] = batch_size;
  top[0]->Reshape(shape);
  for (const auto& batch : this->prefetch_) batch->data_.Reshape(shape);
  LOG_IF(INFO, Caffe::root_solver()) << "output data size: " << top[0]->shape_string();
  if (this->output_labels_) {
    top[1]->Reshape({batch_size});
    for (const auto& batch : this->prefetch_) batch->label_.Reshape({batch_size});
  }
}

template <typename Dtype>
bool DataLayer<Dtype>::Skip() const {
  return !Shuffles() && BelongsToAnotherSolver(this->phase_, offset_);
}

template <typename Dtype>
void DataLayer<Dtype>::ReadKeys() {
  LOG(INFO) << "Shuffling data";
  keys_.clear();
  for (cursor_->SeekToFirst(); cursor_->valid(); cursor_->Next()) keys_.push_back(cursor_->key());
  CHECK_LE(keys_.size(), UINT32_MAX) << Name() << ": too many records to shuffle.";
  order_random_.reset(new Caffe::RNG(caffe_rng_rand()));
  order_.reset();
  Begin();
}

template <typename Dtype>
void DataLayer<Dtype>::ShuffleRecords() {
  const shared_ptr<vector<uint32_t>> order(new vector<uint32_t>(keys_.size()));
  if (order_) {
    *order = *order_;
  } else {
    std::iota(order->begin(), order->end(), 0);
  }
  shuffle(order->begin(), order->end(), static_cast<rng_t*>(order_random_->generator()));
  order_ = order;
}

template <typename Dtype>
void DataLayer<Dtype>::Begin() {
  if (!Shuffles()) return cursor_->SeekToFirst();
  ShuffleRecords();
  place_ = 0;
  cursor_->Seek(keys_[(*order_)[place_]]);
}

template <typename Dtype>
void DataLayer<Dtype>::Next() {
  ++offset_;
  bool ended;
  if (Shuffles()) {
    ended = ++place_ >= keys_.size();
    if (!ended) cursor_->Seek(keys_[(*order_)[place_]]);
  } else {
    cursor_->Next();
    ended = !cursor_->valid();
  }
  if (!ended) return;
  LOG_IF(INFO, Caffe::root_solver()) << "Restarting data prefetching from start.";
  Begin();
}

template <typename Dtype>
void DataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  Dtype* const labels = this->output_labels_ ? batch->label_.mutable_cpu_data() : nullptr;
  this->workers_->Run(batch_size, [this, batch, batch_size, labels](int i) {
    while (Skip()) Next();
    if (this->IsElsewhere(i, batch_size)) {
      Next();
      return this->SkipItem(i);
    }
    string value = cursor_->value();
    const bool worth_handing = value.size() >= kMinBytesToHandOver;
    BatchWorkers::Work work = [this, batch, labels, i, key = cursor_->key(),
                               value = std::move(value)] {
      Datum datum = Record(key, value);
      if (labels) labels[i] = static_cast<Dtype>(datum.label());
#ifdef USE_OPENCV
      if (this->data_transformer_->UsesImage(datum)) {
        const string name = Name() + ": the record with key '" + key + "'";
        return LoadItem(i, key, this->data_transformer_->ImageOf(datum, name), batch);
      }
#endif
      LoadItem(i, key, std::move(datum), batch);
    };
    Next();
    if (worth_handing) return work;
    work();
    return BatchWorkers::Work();
  });
}

/// `image`: the record's Datum, or its pixels.
template <typename Dtype>
template <typename Image>
void DataLayer<Dtype>::LoadItem(int item, const string& key, Image image, Batch<Dtype>* batch) {
  DataTransformer<Dtype>& transformer = *this->data_transformer_;
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  typename DataTransformer<Dtype>::Window window;
  Dtype* place = nullptr;
  const bool first = item == 0 || this->IsElsewhere(item - 1, batch_size);
  this->workers_->InOrder(item, [&] {
    Blob<Dtype>& data = batch->data_;
    CHECK(this->GiveShape(first, batch_size, transformer.InferBlobShape(image), &data))
        << Name() << ": image " << key << " of " << SizeOf(image)
        << " does not fit into a batch of shape " << data.shape_string()
        << "; images must have one size, unless crop_size gives them one.";
    window = transformer.Draw(&image);
    place = data.mutable_cpu_data() + data.offset({item});
  });
  transformer.Write(image, window, place);
}

template <typename Dtype>
bool DataLayer<Dtype>::SavePosition(SourcePosition* position) const {
  position->key = cursor_->key();
  position->position = {offset_};
  if (!Shuffles()) return true;
  position->position.push_back(place_);
  position->order = order_;
  return true;
}

template <typename Dtype>
bool DataLayer<Dtype>::RestorePosition(const LayerProgress& progress) {
  const auto& order = progress.order();
  const bool same_kind = progress.position_size() == (Shuffles() ? 2 : 1) &&
                         order.size() == static_cast<int>(keys_.size()) &&
                         IsPermutation(order.begin(), order.end());
  if (same_kind) {
    cursor_->Seek(progress.key());
    offset_ = progress.position(0);
    bool found = cursor_->valid() && cursor_->key() == progress.key();
    if (found && Shuffles()) {
      place_ = progress.position(1);
      found = place_ < keys_.size() && keys_[order[static_cast<int>(place_)]] == progress.key();
      if (found) order_.reset(new vector<uint32_t>(order.begin(), order.end()));
    }
    if (found) return true;
    LOG(WARNING) << Name() << ": the record with key '" << progress.key()
                 << "', where the resumed training continues, does not exist.";
  }
  Begin();
  offset_ = 0;
  return false;
}

template <typename Dtype>
vector<Caffe::RNG*> DataLayer<Dtype>::Generators() const {
  vector<Caffe::RNG*> generators = BasePrefetchingDataLayer<Dtype>::Generators();
  if (Shuffles()) generators.push_back(order_random_.get());
  return generators;
}

INSTANTIATE_CLASS(DataLayer);
REGISTER_LAYER_CLASS(Data);
REGISTER_LAYER_AXES(Data, SourceRule);

}  // namespace caffe
