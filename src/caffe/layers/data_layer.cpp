#include "caffe/layers/data_layer.hpp"

#include <filesystem>

#include "caffe/util/math_functions.hpp"
#include "dealing.hpp"

namespace caffe {

template <typename Dtype>
DataLayer<Dtype>::DataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {
  const string& source = param.data_param().source();
  std::error_code unknown;
  CHECK(std::filesystem::exists(source, unknown)) << Name() << ": the source does not exist.";
  db_.reset(db::GetDB(param.data_param().backend()));
  db_->Open(source, db::READ);
  cursor_.reset(db_->NewCursor());
  CHECK(cursor_->valid()) << Name() << ": the database is empty.";
}

template <typename Dtype>
DataLayer<Dtype>::~DataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
string DataLayer<Dtype>::Name() const {
  return "Layer " + this->layer_param_.name() + " (source " +
         this->layer_param_.data_param().source() + ")";
}

template <typename Dtype>
Datum DataLayer<Dtype>::Record() const {
  Datum datum;
  CHECK(datum.ParseFromString(cursor_->value()))
      << Name() << ": the record with key '" << cursor_->key() << "' is no Datum.";
  return datum;
}

template <typename Dtype>
void DataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& top) {
  const DataParameter& param = this->layer_param_.data_param();
  const int batch_size = static_cast<int>(param.batch_size());
  CHECK_GT(batch_size, 0) << Name() << ": batch_size must be 1 to 2147483647.";
  if (param.rand_skip() > 0) {
    unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    for (; skip > 0; --skip) Next();
  }
  vector<int> shape = this->data_transformer_->InferBlobShape(Record());
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
  return BelongsToAnotherSolver(this->phase_, offset_);
}

template <typename Dtype>
void DataLayer<Dtype>::Next() {
  cursor_->Next();
  if (!cursor_->valid()) {
    LOG_IF(INFO, Caffe::root_solver()) << "Restarting data prefetching from start.";
    cursor_->SeekToFirst();
  }
  ++offset_;
}

template <typename Dtype>
void DataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  Blob<Dtype>& item = this->transformed_data_;
  for (int i = 0; i < batch_size; ++i) {
    while (Skip()) Next();
    const Datum datum = Record();
    // The size of an encoded image is known only after decoding: the transformer checks it then.
    if (i == 0 || !datum.encoded()) {
      vector<int> shape = this->data_transformer_->InferBlobShape(datum);
      if (i == 0) {
        item.Reshape(shape);
        shape[0] = batch_size;
        batch->data_.Reshape(shape);
      } else {
        CHECK(shape == item.shape())
            << Name() << ": image " << cursor_->key() << " of " << datum.channels() << " x "
            << datum.height() << " x " << datum.width()
            << " does not fit into a batch whose first image has shape " << item.shape_string()
            << "; images must have one size, unless crop_size gives them one.";
      }
    }
    item.set_cpu_data(batch->data_.mutable_cpu_data() + batch->data_.offset({i}));
    this->data_transformer_->Transform(datum, &item);
    if (this->output_labels_) batch->label_.mutable_cpu_data()[i] = datum.label();
    Next();
  }
}

template <typename Dtype>
bool DataLayer<Dtype>::SavePosition(SourcePosition* position) const {
  position->key = cursor_->key();
  position->position = {offset_};
  return true;
}

template <typename Dtype>
bool DataLayer<Dtype>::RestorePosition(const LayerProgress& progress) {
  if (progress.position_size() == 1) {
    cursor_->Seek(progress.key());
    offset_ = progress.position(0);
    if (cursor_->valid() && cursor_->key() == progress.key()) return true;
    LOG(WARNING) << Name() << ": the record with key '" << progress.key()
                 << "', with which a resumed training goes on, is not there.";
  }
  cursor_->SeekToFirst();
  offset_ = 0;
  return false;
}

INSTANTIATE_CLASS(DataLayer);
REGISTER_LAYER_CLASS(Data);

}  // namespace caffe
