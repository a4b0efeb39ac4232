#include "caffe/layers/image_data_layer.hpp"

#include <numeric>

#include "caffe/layers/shape/permutation.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "dealing.hpp"
#include "own_items.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

namespace caffe {

template <typename Dtype>
ImageDataLayer<Dtype>::~ImageDataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
vector<ListedImage> ImageDataLayer<Dtype>::List() const {
  return ReadImageList(this->layer_param_.image_data_param().source(),
                       "Layer " + this->layer_param_.name() + ": ");
}

template <typename Dtype>
void ImageDataLayer<Dtype>::ShuffleImages() {
  const shared_ptr<vector<uint32_t>> order(new vector<uint32_t>(lines_.size()));
  if (order_) {
    *order = *order_;
  } else {
    std::iota(order->begin(), order->end(), 0);
  }
  const shared_ptr<Caffe::RNG> same = CopyOf(prefetch_rng_.get());
  shuffle(order->begin(), order->end(), static_cast<rng_t*>(same->generator()));
  shuffle(lines_.begin(), lines_.end(), static_cast<rng_t*>(prefetch_rng_->generator()));
  order_ = order;
}

template <typename Dtype>
void ImageDataLayer<Dtype>::Next() {
  ++offset_;
  if (++lines_id_ < static_cast<int>(lines_.size())) return;
  LOG_IF(INFO, Caffe::root_solver()) << "Restarting data prefetching from start.";
  lines_id_ = 0;
  if (this->layer_param_.image_data_param().shuffle()) ShuffleImages();
}

template <typename Dtype>
bool ImageDataLayer<Dtype>::Skip() const {
  return !this->layer_param_.image_data_param().shuffle() &&
         BelongsToAnotherSolver(this->phase_, offset_);
}

template <typename Dtype>
string ImageDataLayer<Dtype>::Name(const string& path) const {
  const string& source = this->layer_param_.image_data_param().source();
  const string what = "Layer " + this->layer_param_.name() + ": ";
  for (const ListedImage& image : List()) {
    if (image.path != path) continue;
    return what + "image " + path + " (" + source + ":" + std::to_string(image.line) + ")";
  }
  return what + "image " + path;
}

#ifdef USE_OPENCV

template <typename Dtype>
cv::Mat ImageDataLayer<Dtype>::Image(const string& path) const {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const cv::Mat image =
      ReadImageToCVMat(param.root_folder() + path, static_cast<int>(param.new_height()),
                       static_cast<int>(param.new_width()), param.is_color());
  CHECK(!image.empty()) << Name(path) << " cannot be read.";
  const auto [rows, columns] = this->data_transformer_->SmallestImage();
  CHECK(image.rows >= rows && image.cols >= columns)
      << Name(path) << " of " << image.rows << " x " << image.cols << " is smaller than crop_size, "
      << rows << (columns == rows ? "" : " x " + std::to_string(columns)) << ".";
  return image;
}

template <typename Dtype>
void ImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& top) {
  const ImageDataParameter& param = this->layer_param_.image_data_param();
  const string what = "Layer " + this->layer_param_.name() + ": ";
  CHECK_EQ(param.new_height() == 0, param.new_width() == 0)
      << what << "new_height and new_width must be set together.";
  const int batch_size = static_cast<int>(param.batch_size());
  CHECK_GT(batch_size, 0) << what << "batch_size must be 1 to 2147483647.";
  LOG(INFO) << "Opening file " << param.source();
  lines_.clear();
  order_.reset();
  for (const ListedImage& image : List()) {
    lines_.emplace_back(image.path, image.label);
  }
  if (param.shuffle()) {
    LOG(INFO) << "Shuffling data";
    prefetch_rng_.reset(new Caffe::RNG(caffe_rng_rand()));
    ShuffleImages();
  }
  LOG(INFO) << "A total of " << lines_.size() << " images.";
  lines_id_ = 0;
  if (param.rand_skip() > 0) {
    const unsigned int skip = caffe_rng_rand() % param.rand_skip();
    LOG(INFO) << "Skipping first " << skip << " data points.";
    CHECK_LT(skip, lines_.size()) << what << "rand_skip passes the end of " << param.source()
                                  << ", which lists fewer images.";
    lines_id_ = static_cast<int>(skip);
  }
  vector<int> shape = this->data_transformer_->InferBlobShape(Image(lines_[lines_id_].first));
  shape[0] = batch_size;
  top[0]->Reshape(shape);
  top[1]->Reshape({batch_size});
  for (const auto& batch : this->prefetch_) {
    batch->data_.Reshape(shape);
    batch->label_.Reshape({batch_size});
  }
  LOG_IF(INFO, Caffe::root_solver()) << "output data size: " << top[0]->shape_string();
}

template <typename Dtype>
void ImageDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.image_data_param().batch_size());
  Dtype* const labels = batch->label_.mutable_cpu_data();
  this->workers_->Run(batch_size, [=, this](int i) -> BatchWorkers::Work {
    while (Skip()) Next();
    labels[i] = static_cast<Dtype>(lines_[lines_id_].second);
    const string path = lines_[lines_id_].first;
    Next();
    if (this->IsElsewhere(i, batch_size)) return this->SkipItem(i);
    return [this, batch, i, path] { LoadItem(i, path, batch); };
  });
}

template <typename Dtype>
void ImageDataLayer<Dtype>::LoadItem(int item, const string& path, Batch<Dtype>* batch) {
  DataTransformer<Dtype>& transformer = *this->data_transformer_;
  const int batch_size = static_cast<int>(this->layer_param_.image_data_param().batch_size());
  cv::Mat image = Image(path);
  typename DataTransformer<Dtype>::Window window;
  Dtype* place = nullptr;
  const bool first = item == 0 || this->IsElsewhere(item - 1, batch_size);
  this->workers_->InOrder(item, [&] {
    Blob<Dtype>& data = batch->data_;
    CHECK(this->GiveShape(first, batch_size, transformer.InferBlobShape(image), &data))
        << Name(path) << " of " << image.rows << " x " << image.cols
        << " does not fit into a batch of shape " << data.shape_string()
        << "; images must have one size, unless new_height and new_width or crop_size give them "
           "one.";
    window = transformer.Draw(&image);
    place = data.mutable_cpu_data() + data.offset({item});
  });
  transformer.Write(image, window, place);
}

template <typename Dtype>
bool ImageDataLayer<Dtype>::SavePosition(SourcePosition* position) const {
  position->key = lines_[lines_id_].first;
  position->position = {static_cast<uint64_t>(lines_id_), offset_};
  position->order = order_;
  return true;
}

template <typename Dtype>
bool ImageDataLayer<Dtype>::RestorePosition(const LayerProgress& progress) {
  const auto& order = progress.order();
  const size_t shuffled = this->layer_param_.image_data_param().shuffle() ? lines_.size() : 0;
  lines_id_ = 0;
  offset_ = 0;
  if (progress.position_size() != 2 || progress.position(0) >= lines_.size() ||
      order.size() != static_cast<int>(shuffled) || !IsPermutation(order.begin(), order.end()))
    return false;
  if (shuffled > 0) {
    const auto now = lines_;
    auto listed = now;
    for (size_t i = 0; order_ && i < now.size(); ++i) listed[(*order_)[i]] = now[i];
    for (size_t i = 0; i < now.size(); ++i) lines_[i] = listed[order[static_cast<int>(i)]];
    order_.reset(new vector<uint32_t>(order.begin(), order.end()));
  }
  if (lines_[progress.position(0)].first != progress.key()) {
    LOG(WARNING) << "Layer " << this->layer_param_.name() << ": the image list "
                 << this->layer_param_.image_data_param().source() << " has changed: image "
                 << progress.key()
                 << ", where the resumed training continues, is not at its place.";
    return false;
  }
  lines_id_ = static_cast<int>(progress.position(0));
  offset_ = progress.position(1);
  return true;
}

template <typename Dtype>
vector<Caffe::RNG*> ImageDataLayer<Dtype>::Generators() const {
  vector<Caffe::RNG*> generators = BasePrefetchingDataLayer<Dtype>::Generators();
  generators.push_back(prefetch_rng_.get());
  return generators;
}

#else  // USE_OPENCV

template <typename Dtype>
void ImageDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                           const vector<Blob<Dtype>*>& /*top*/) {
  LOG(FATAL) << "Layer " << this->layer_param_.name() << ": " << type()
             << " reads images, which needs a build with USE_OPENCV.";
}

template <typename Dtype>
void ImageDataLayer<Dtype>::load_batch(Batch<Dtype>* /*batch*/) {}

template <typename Dtype>
bool ImageDataLayer<Dtype>::SavePosition(SourcePosition* /*position*/) const {
  return false;
}

template <typename Dtype>
bool ImageDataLayer<Dtype>::RestorePosition(const LayerProgress& /*progress*/) {
  return false;
}

template <typename Dtype>
vector<Caffe::RNG*> ImageDataLayer<Dtype>::Generators() const {
  return {};
}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(ImageDataLayer);
REGISTER_LAYER_CLASS(ImageData);
REGISTER_LAYER_AXES(ImageData, SourceRule);

}  // namespace caffe
