#include "caffe/layers/window_data_layer.hpp"

#include <climits>

#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"
#include "own_items.hpp"
#include "window_crop.hpp"
#include "window_file.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgproc.hpp>
#endif

namespace caffe {

template <typename Dtype>
WindowDataLayer<Dtype>::~WindowDataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
string WindowDataLayer<Dtype>::Name() const {
  return "Layer " + this->layer_param_.name() + " (source " +
         this->layer_param_.window_data_param().source() + ")";
}

template <typename Dtype>
unsigned int WindowDataLayer<Dtype>::PrefetchRand() {
  CHECK(prefetch_rng_);
  return (*static_cast<rng_t*>(prefetch_rng_->generator()))();
}

template <typename Dtype>
vector<Caffe::RNG*> WindowDataLayer<Dtype>::Generators() const {
  vector<Caffe::RNG*> generators = BasePrefetchingDataLayer<Dtype>::Generators();
  generators.push_back(prefetch_rng_.get());
  return generators;
}

template <typename Dtype>
int WindowDataLayer<Dtype>::Foreground() const {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  return static_cast<int>(static_cast<float>(param.batch_size()) * param.fg_fraction());
}

template <typename Dtype>
void WindowDataLayer<Dtype>::ReadWindows() {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const string what = "Layer " + this->layer_param_.name() + ": ";
  for (const WindowedImage& image : ReadWindowFile(param.source(), what)) {
    const string path = param.root_folder() + image.path;
    const string where = what + param.source() + ":" + std::to_string(image.line) + ": " + path;
    CHECK_EQ(image.channels, 3) << where << ": windows are cut from images of 3 channels.";
    const float index = static_cast<float>(image_database_.size());
    image_database_.push_back({path, {image.channels, image.height, image.width}});
    if (cache_images_) {
      image_database_cache_.push_back({path, Datum()});
      CHECK(ReadFileToDatum(path, &image_database_cache_.back().second))
          << where << " cannot be read.";
    }
    for (const FileWindow& window : image.windows) {
      const bool foreground = window.overlap >= param.fg_threshold();
      if (!foreground && window.overlap >= param.bg_threshold()) continue;
      CHECK(!foreground || window.label > 0)
          << where << ": a foreground window has label " << window.label
          << ", which is that of the background; labels count from 1.";
      vector<float> numbers(NUM);
      numbers[IMAGE_INDEX] = index;
      numbers[LABEL] = foreground ? static_cast<float>(window.label) : 0;
      numbers[OVERLAP] = foreground ? window.overlap : 0;
      numbers[X1] = static_cast<float>(window.x1);
      numbers[Y1] = static_cast<float>(window.y1);
      numbers[X2] = static_cast<float>(window.x2);
      numbers[Y2] = static_cast<float>(window.y2);
      (foreground ? fg_windows_ : bg_windows_).push_back(numbers);
    }
  }
  LOG(INFO) << "Number of images: " << image_database_.size();
  LOG(INFO) << "Foreground windows: " << fg_windows_.size()
            << ", background windows: " << bg_windows_.size();
}

template <typename Dtype>
void WindowDataLayer<Dtype>::ReadMean() {
  const TransformationParameter& param = this->transform_param_;
  has_mean_file_ = param.has_mean_file();
  has_mean_values_ = param.mean_value_size() > 0;
  if (has_mean_file_) {
    BlobProto mean;
    ReadProtoFromBinaryFileOrDie(param.mean_file(), &mean);
    data_mean_.FromProto(mean);
    ReshapeToImage(&data_mean_);
    const int crop = static_cast<int>(param.crop_size());
    CHECK(data_mean_.channels() == 3 && data_mean_.height() >= crop && data_mean_.width() >= crop)
        << Name() << ": the mean image in " << param.mean_file() << " has shape "
        << data_mean_.shape_string() << "; a crop has 3 channels of " << crop << " x " << crop
        << ".";
  }
  if (has_mean_values_) {
    const int given = param.mean_value_size();
    CHECK(given == 1 || given == 3)
        << Name() << ": specify 1 mean_value or 3, one for each channel, not " << given << ".";
    for (int c = 0; c < 3; ++c) mean_values_.push_back(param.mean_value(given == 1 ? 0 : c));
  }
}

#ifdef USE_OPENCV

template <typename Dtype>
void WindowDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                            const vector<Blob<Dtype>*>& top) {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const int batch_size = static_cast<int>(param.batch_size());
  CHECK_GT(batch_size, 0) << Name() << ": batch_size must be 1 to 2147483647.";
  const int crop = static_cast<int>(this->transform_param_.crop_size());
  CHECK_GT(crop, 0) << Name() << ": crop_size of transform_param must be 1 to 2147483647.";
  CHECK(!this->transform_param_.has_resize_param() && !this->transform_param_.has_distort_param() &&
        !this->transform_param_.has_expand_param())
      << Name() << ": windows take no resize_param, distort_param and expand_param.";
  CHECK_LT(int64_t{2} * param.context_pad(), crop)
      << Name() << ": context_pad on both sides leaves nothing of crop_size.";
  CHECK(param.crop_mode() == "warp" || param.crop_mode() == "square")
      << Name() << ": crop_mode is warp or square, not " << param.crop_mode() << ".";
  CHECK(param.fg_fraction() >= 0 && param.fg_fraction() <= 1)
      << Name() << ": fg_fraction must be from 0 to 1, not " << param.fg_fraction() << ".";
  cache_images_ = param.cache_images();
  LOG(INFO) << "Window data layer: fg_threshold " << param.fg_threshold() << ", bg_threshold "
            << param.bg_threshold() << ", fg_fraction " << param.fg_fraction() << ", cache_images "
            << cache_images_ << ", root_folder '" << param.root_folder() << "'";
  LOG(INFO) << "Amount of context padding: " << param.context_pad();
  LOG(INFO) << "Crop mode: " << param.crop_mode();
  prefetch_rng_.reset(new Caffe::RNG(caffe_rng_rand()));
  ReadWindows();
  ReadMean();
  CHECK(Foreground() == 0 || !fg_windows_.empty())
      << Name() << ": no window is foreground (fg_threshold " << param.fg_threshold() << "), but "
      << Foreground() << " of each batch must be.";
  CHECK(Foreground() == batch_size || !bg_windows_.empty())
      << Name() << ": no window is background (bg_threshold " << param.bg_threshold() << "), but "
      << batch_size - Foreground() << " of each batch must be.";
  top[0]->Reshape({batch_size, 3, crop, crop});
  top[1]->Reshape({batch_size});
  for (const auto& batch : this->prefetch_) {
    batch->data_.ReshapeLike(*top[0]);
    batch->label_.ReshapeLike(*top[1]);
  }
  LOG(INFO) << "output data size: " << top[0]->shape_string();
}

template <typename Dtype>
cv::Mat WindowDataLayer<Dtype>::Image(int index) const {
  const string& path = image_database_[index].first;
  const cv::Mat image = cache_images_
                            ? DecodeDatumToCVMat(image_database_cache_[index].second, true)
                            : ReadImageToCVMat(path, true);
  CHECK(!image.empty()) << Name() << ": image # " << index << ", " << path << ", cannot be read.";
  return image;
}

template <typename Dtype>
void WindowDataLayer<Dtype>::Crop(const vector<float>& window, bool mirror, Dtype* item) const {
  const WindowDataParameter& param = this->layer_param_.window_data_param();
  const int crop = static_cast<int>(this->transform_param_.crop_size());
  const int context = static_cast<int>(param.context_pad());
  const bool square = param.crop_mode() == "square";
  const cv::Mat image = Image(static_cast<int>(window[IMAGE_INDEX]));
  int x1 = static_cast<int>(window[X1]), x2 = static_cast<int>(window[X2]);
  int y1 = static_cast<int>(window[Y1]), y2 = static_cast<int>(window[Y2]);
  const bool grows = context > 0 || square;
  bool fits = grows || (x1 >= 0 && y1 >= 0 && x2 < image.cols && y2 < image.rows);
  if (grows) {
    // The crop without its context shows the window.
    const Dtype growth = static_cast<Dtype>(crop) / static_cast<Dtype>(crop - 2 * context);
    WindowReach<Dtype> across(x1, x2), down(y1, y2);
    if (square) across.half = down.half = std::max(across.half, down.half);
    x1 = across.First(growth), x2 = across.Last(growth);
    y1 = down.First(growth), y2 = down.Last(growth);
  }
  const WindowSpan x = SpanOf<Dtype>(x1, x2, image.cols, crop);
  const WindowSpan y = SpanOf<Dtype>(y1, y2, image.rows, crop);
  fits &= x.length > 0 && y.length > 0;
  CHECK(fits) << Name() << ": the window " << window[X1] << " " << window[Y1] << " " << window[X2]
              << " " << window[Y2] << " does not lie in image # " << window[IMAGE_INDEX] << ", "
              << image_database_[static_cast<int>(window[IMAGE_INDEX])].first << " of "
              << image.rows << " x " << image.cols << ".";
  const int left = mirror ? x.after : x.before, top = y.before;
  const int width = std::min(x.warped, crop - left), height = std::min(y.warped, crop - top);
  if (width <= 0 || height <= 0) return;  // a sliver that rounds to nothing
  cv::Mat warped;
  cv::resize(image(cv::Rect(x.begin, y.begin, x.length, y.length)), warped, cv::Size(width, height),
             0, 0, cv::INTER_LINEAR);
  const Dtype scale = this->transform_param_.scale();
  const int mean_row = (data_mean_.height() - crop) / 2 + top;
  const int mean_column = (data_mean_.width() - crop) / 2 + left;
  for (int c = 0; c < 3; ++c) {
    for (int h = 0; h < height; ++h) {
      const uchar* const pixels = warped.ptr<uchar>(h);
      Dtype* const to = item + (static_cast<int64_t>(c) * crop + top + h) * crop + left;
      const Dtype* const mean =
          has_mean_file_
              ? data_mean_.cpu_data() + data_mean_.offset(0, c, mean_row + h, mean_column)
              : nullptr;
      const Dtype mean_value = has_mean_values_ ? mean_values_[c] : Dtype(0);
      for (int w = 0; w < width; ++w) {
        const Dtype pixel = pixels[3 * (mirror ? width - 1 - w : w) + c];
        to[w] = (pixel - (mean ? mean[w] : mean_value)) * scale;
      }
    }
  }
}

template <typename Dtype>
void WindowDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.window_data_param().batch_size());
  const int background = batch_size - Foreground();
  const bool mirrors = this->transform_param_.mirror();
  Dtype* const data = batch->data_.mutable_cpu_data();
  caffe_set(batch->data_.count(), Dtype(0), data);
  Dtype* const labels = batch->label_.mutable_cpu_data();
  this->workers_->Run(batch_size, [&](int i) -> BatchWorkers::Work {
    const vector<vector<float>>& windows = i < background ? bg_windows_ : fg_windows_;
    const vector<float>& window = windows[PrefetchRand() % windows.size()];
    const bool mirror = mirrors && PrefetchRand() % 2 == 1;
    labels[i] = window[LABEL];
    Dtype* const item = data + batch->data_.offset({i});
    return [this, &window, mirror, item] { Crop(window, mirror, item); };
  });
}

#else  // USE_OPENCV

template <typename Dtype>
void WindowDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                            const vector<Blob<Dtype>*>& /*top*/) {
  LOG(FATAL) << "Layer " << this->layer_param_.name() << ": " << type()
             << " reads images, which needs a build with USE_OPENCV.";
}

template <typename Dtype>
void WindowDataLayer<Dtype>::load_batch(Batch<Dtype>* /*batch*/) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(WindowDataLayer);
REGISTER_LAYER_CLASS(WindowData);
REGISTER_LAYER_AXES(WindowData, SourceRule);

}  // namespace caffe
