#include "caffe/layers/memory_data_layer.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

#include "caffe/layer_axes.hpp"
#include "fill_top.hpp"

namespace caffe {

template <typename Dtype>
void MemoryDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const MemoryDataParameter& param = this->layer_param_.memory_data_param();
  const auto positive = [this](const char* field, uint32_t value) {
    CHECK(value >= 1 && value <= static_cast<uint32_t>(INT_MAX))
        << "Layer " << this->layer_param_.name() << ": batch_size, channels, height, and width "
        << "must be specified and positive in memory_data_param; " << field << " is " << value
        << ".";
    return static_cast<int>(value);
  };
  batch_size_ = positive("batch_size", param.batch_size());
  channels_ = positive("channels", param.channels());
  height_ = positive("height", param.height());
  width_ = positive("width", param.width());
  data_ = labels_ = nullptr;
  has_new_data_ = false;
  Reshape(bottom, top);
  size_ = top[0]->count(1);
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& /*bottom*/,
                                     const vector<Blob<Dtype>*>& top) {
  top[0]->Reshape({batch_size_, channels_, height_, width_});
  top[1]->Reshape({batch_size_});
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::Expect(size_t images, size_t labels) {
  const string& name = this->layer_param_.name();
  CHECK(!has_new_data_) << "Layer " << name
                        << ": Can't add data until current data has been consumed.";
  CHECK(images > 0 && images <= static_cast<size_t>(INT_MAX))
      << "Layer " << name << ": There is no datum to add, or too many: " << images << ".";
  CHECK_EQ(images % batch_size_, 0u) << "Layer " << name << ": The added data, " << images
                                     << ", must be a multiple of the batch size.";
  CHECK_EQ(images, labels) << "Layer " << name << ": each image needs one label.";
  const int n = static_cast<int>(images);
  added_data_.Reshape({n, channels_, height_, width_});
  added_label_.Reshape({n});
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::AddDatumVector(const vector<Datum>& datum_vector) {
  Expect(datum_vector.size(), datum_vector.size());
  this->data_transformer_->Transform(datum_vector, &added_data_);
  Dtype* label = added_label_.mutable_cpu_data();
  for (const Datum& datum : datum_vector) *label++ = datum.label();
  Restart(added_data_.mutable_cpu_data(), added_label_.mutable_cpu_data(), added_label_.count());
  has_new_data_ = true;
}

#ifdef USE_OPENCV
template <typename Dtype>
void MemoryDataLayer<Dtype>::AddMatVector(const vector<cv::Mat>& mat_vector,
                                          const vector<int>& labels) {
  Expect(mat_vector.size(), labels.size());
  this->data_transformer_->Transform(mat_vector, &added_data_);
  std::copy(labels.begin(), labels.end(), added_label_.mutable_cpu_data());
  Restart(added_data_.mutable_cpu_data(), added_label_.mutable_cpu_data(), added_label_.count());
  has_new_data_ = true;
}
#endif

template <typename Dtype>
void MemoryDataLayer<Dtype>::Reset(Dtype* data, Dtype* labels, int n) {
  const string& name = this->layer_param_.name();
  CHECK(data && labels) << "Layer " << name << ": Reset needs data and labels.";
  CHECK(n > 0 && n % batch_size_ == 0)
      << "Layer " << name << ": n must be a multiple of batch size (" << batch_size_ << "), not "
      << n << ".";
  LOG_IF(WARNING, this->layer_param_.has_transform_param())
      << "Layer " << name << ": " << type() << " does not transform array data on Reset()";
  Restart(data, labels, n);
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::Restart(Dtype* data, Dtype* labels, int n) {
  data_ = data;
  labels_ = labels;
  n_ = n;
  pos_ = 0;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::set_batch_size(int new_size) {
  const string& name = this->layer_param_.name();
  CHECK(!has_new_data_) << "Layer " << name
                        << ": Can't change batch_size until current data has been consumed.";
  CHECK_GT(new_size, 0) << "Layer " << name << ": batch_size must be positive.";
  batch_size_ = new_size;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  BaseDataLayer<Dtype>::SaveProgress(progress);
  progress->add_position(pos_);
  progress->add_position(n_);
}

template <typename Dtype>
bool MemoryDataLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  pos_ = 0;
  if (progress.position_size() != 2 || !BaseDataLayer<Dtype>::RestoreProgress(progress))
    return false;
  const uint64_t forwarded = progress.position(0), given = progress.position(1);
  if (forwarded != 0 && (given != static_cast<uint64_t>(n_) || forwarded >= given)) return false;
  pos_ = forwarded;
  return true;
}

template <typename Dtype>
void MemoryDataLayer<Dtype>::ForwardOn(const DeviceContext& context,
                                       const vector<Blob<Dtype>*>& /*bottom*/,
                                       const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK(data_) << "Layer " << name << ": MemoryDataLayer needs to be initialized by calling Reset, "
               << "AddDatumVector or AddMatVector, or from Python net.set_input_arrays.";
  CHECK_LE(pos_ + batch_size_, static_cast<size_t>(n_))
      << "Layer " << name << ": batches of " << batch_size_ << " do not fit the " << n_
      << " images that were given.";
  HostFeed* const feed = this->feed();
  FillTop(context, feed, data_ + pos_ * size_, &staged_[0], top[0]);
  FillTop(context, feed, labels_ + pos_, &staged_[1], top[1]);
  pos_ = (pos_ + batch_size_) % n_;
  if (pos_ == 0) has_new_data_ = false;
}

INSTANTIATE_CLASS(MemoryDataLayer);
REGISTER_LAYER_CLASS(MemoryData);
REGISTER_NO_LAYER_AXES(MemoryData, "every device reads the whole batch");

}  // namespace caffe
