#include "caffe/data_transformer.hpp"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caffe/data/image_transforms.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "caffe/util/rng.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

namespace caffe {

namespace {

constexpr char kChanges[] =
    "resize_param, img_rand_resize, distort_param, expand_param and noise_param";

/// Aborts unless the datum, which must not be encoded, has as many values as its sizes say.
void CheckValues(const Datum& datum) {
  CHECK_GT(datum.channels(), 0) << "A datum without channels";
  const int64_t given =
      datum.data().empty() ? datum.float_data_size() : static_cast<int64_t>(datum.data().size());
  const int64_t plane = static_cast<int64_t>(datum.height()) * datum.width();
  CHECK(datum.height() > 0 && datum.width() > 0 && plane <= INT_MAX &&
        given == plane * datum.channels())
      << "A datum of " << datum.channels() << " x " << datum.height() << " x " << datum.width()
      << " holds another number of values: " << given;
}

}  // namespace

template <typename Dtype>
void ReshapeToImage(Blob<Dtype>* mean) {
  vector<int> shape = mean->shape();
  if (shape.size() != 3) return;
  shape.insert(shape.begin(), 1);
  mean->Reshape(shape);
}
template void ReshapeToImage(Blob<float>*);
template void ReshapeToImage(Blob<double>*);

template <typename Dtype>
DataTransformer<Dtype>::DataTransformer(const TransformationParameter& param, Phase phase)
    : param_(param),
      phase_(phase),
      crop_height_(static_cast<int>(param.has_crop_h() ? param.crop_h() : param.crop_size())),
      crop_width_(static_cast<int>(param.has_crop_w() ? param.crop_w() : param.crop_size())) {
  CheckParameter();
  if (param_.has_mean_file()) {
    CHECK_EQ(param_.mean_value_size(), 0)
        << "Cannot specify mean_file and mean_value at the same time";
    LOG_IF(INFO, Caffe::root_solver()) << "Loading mean file from: " << param_.mean_file();
    BlobProto mean;
    ReadProtoFromBinaryFileOrDie(param_.mean_file(), &mean);
    const FailureScope scope{CurrentFile{param_.mean_file()}};
    data_mean_.FromProto(mean);
    ReshapeToImage(&data_mean_);
  }
  mean_values_.assign(param_.mean_value().begin(), param_.mean_value().end());
}

template <typename Dtype>
void DataTransformer<Dtype>::InitRand() {
  const bool random = param_.mirror() || (phase_ == TRAIN && crop_height_ > 0) || ChangesImages();
  rng_.reset(random ? new Caffe::RNG(caffe_rng_rand()) : NULL);
}

template <typename Dtype>
int DataTransformer<Dtype>::Rand(int n) {
  CHECK(rng_) << "DataTransformer::InitRand was not called";
  CHECK_GT(n, 0);
  return (*static_cast<rng_t*>(rng_->generator()))() % n;
}

// Aborts unless the fields of the parameter are consistent.
template <typename Dtype>
void DataTransformer<Dtype>::CheckParameter() const {
  CHECK_EQ(param_.has_crop_h(), param_.has_crop_w())
      << "transform_param: crop_h and crop_w must be set together";
  CHECK(!param_.has_crop_h() || (!param_.has_crop_size() && crop_height_ > 0 && crop_width_ > 0))
      << "transform_param: crop_h and crop_w must be 1 to 2147483647, without a crop_size";
  CHECK(!param_.has_emit_constraint())
      << "transform_param: emit_constraint is for the boxes of AnnotatedData";
  if (!ChangesImages()) return;
#ifdef USE_OPENCV
  const bool resize = param_.has_resize_param();
  if (resize) CheckResize(param_.resize_param());
  if (param_.has_distort_param()) CheckDistortion(param_.distort_param());
  if (param_.has_expand_param()) CheckExpansion(param_.expand_param());
  if (param_.has_noise_param()) CheckNoise(param_.noise_param());
  CheckRandomResize();
  CHECK(crop_height_ > 0 || !resize || param_.resize_param().prob() >= 1)
      << "transform_param: a resize_param with prob below 1 needs a crop, as images would differ "
         "in size";
  CHECK(crop_height_ > 0 || !param_.has_expand_param() ||
        (resize && param_.resize_param().resize_mode() != ResizeParameter::FIT_SMALL_SIZE))
      << "transform_param: expand_param needs a resize_param that gives images one size, or a crop";
#else
  LOG(FATAL) << "transform_param: " << kChanges << " need a build with USE_OPENCV";
#endif
}

template <typename Dtype>
bool DataTransformer<Dtype>::ResizesRandomly() const {
  return param_.has_img_rand_resize_lower() || param_.has_img_rand_resize_upper();
}

// Aborts unless randomly resized images all end up in the size of the crop.
template <typename Dtype>
void DataTransformer<Dtype>::CheckRandomResize() const {
  if (!ResizesRandomly()) return;
  const uint32_t lower = param_.img_rand_resize_lower(), upper = param_.img_rand_resize_upper();
  CHECK(lower > 0 && lower <= upper && upper <= 65535)
      << "transform_param needs 1 <= img_rand_resize_lower <= img_rand_resize_upper <= 65535; they "
      << "are " << lower << " and " << upper;
  CHECK(crop_height_ > 0 && std::max(crop_height_, crop_width_) <= static_cast<int>(lower))
      << "transform_param: img_rand_resize_lower and img_rand_resize_upper need a crop of at most "
      << lower << " pixels";
  CHECK(!param_.has_resize_param())
      << "transform_param: set either resize_param or img_rand_resize_lower, not both";
}

template <typename Dtype>
bool DataTransformer<Dtype>::ChangesImages() const {
  return param_.has_resize_param() || param_.has_distort_param() || param_.has_expand_param() ||
         param_.has_noise_param() || ResizesRandomly();
}

// With a crop, changed images have the size of the crop, whatever their own size.
template <typename Dtype>
std::pair<int, int> DataTransformer<Dtype>::ChangedSize(int height, int width) const {
#ifdef USE_OPENCV
  if (ChangesImages() && crop_height_ > 0) return {crop_height_, crop_width_};
  if (param_.has_resize_param()) {
    const cv::Size size = ResizedSize(param_.resize_param(), cv::Size(width, height));
    return {size.height, size.width};
  }
#endif
  return {height, width};
}

template <typename Dtype>
std::pair<int, int> DataTransformer<Dtype>::SmallestImage() const {
  if (ChangesImages()) return {1, 1};
  return {crop_height_, crop_width_};
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckCrop(int height, int width) const {
  const char* const name = param_.has_crop_h() ? "crop_h" : "crop_size";
  CHECK_GE(height, crop_height_) << name << " is larger than an image of " << height << " rows";
  CHECK_GE(width, crop_width_) << (param_.has_crop_w() ? "crop_w" : name)
                               << " is larger than an image of " << width << " columns";
}

// The order of the draws, mirror, row, column, is Caffe's.
template <typename Dtype>
typename DataTransformer<Dtype>::Window DataTransformer<Dtype>::DrawWindow(int height, int width) {
  Window window = {0, 0, height, width, false};
  window.mirror = param_.mirror() && Rand(2);
  if (crop_height_ == 0) return window;
  CheckCrop(height, width);
  window.height = crop_height_;
  window.width = crop_width_;
  if (phase_ == TRAIN) {
    window.h_off = Rand(height - window.height + 1);
    window.w_off = Rand(width - window.width + 1);
  } else {
    window.h_off = (height - window.height) / 2;
    window.w_off = (width - window.width) / 2;
  }
  return window;
}

template <typename Dtype>
void DataTransformer<Dtype>::SkipDraw() {
  CHECK(DrawsAlike()) << "what is drawn depends on the image";
  if (param_.mirror()) Rand(2);
  if (crop_height_ == 0 || phase_ != TRAIN) return;
  Rand(1);
  Rand(1);
}

// Aborts unless the mean, if there is one, fits an image of this size.
template <typename Dtype>
void DataTransformer<Dtype>::CheckMean(int channels, int height, int width) const {
  if (param_.has_mean_file()) {
    CHECK(channels == data_mean_.channels() && height == data_mean_.height() &&
          width == data_mean_.width())
        << "The mean image in " << param_.mean_file() << " has shape " << data_mean_.shape_string()
        << "; the image is " << channels << " x " << height << " x " << width;
  } else if (mean_values_.size() > 1) {
    CHECK_EQ(mean_values_.size(), channels)
        << "Specify either 1 mean_value or as many as channels: " << channels;
  }
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::TransformedShape(int channels, int height, int width) const {
  CHECK_GT(channels, 0) << "An image without channels";
  CheckCrop(height, width);
  CheckMean(channels, height, width);
  return {1, channels, crop_height_ ? crop_height_ : height, crop_width_ ? crop_width_ : width};
}

template <typename Dtype>
void DataTransformer<Dtype>::CheckTarget(int channels, int height, int width,
                                         const Blob<Dtype>& target) const {
  const vector<int> shape = TransformedShape(channels, height, width);
  CHECK(target.num() >= 1 && target.channels() == shape[1] && target.height() == shape[2] &&
        target.width() == shape[3])
      << "An image of " << channels << " x " << height << " x " << width << " becomes " << shape[1]
      << " x " << shape[2] << " x " << shape[3] << ", which does not fit a blob of shape "
      << target.shape_string();
}

template <typename Dtype>
template <typename Pixel>
void DataTransformer<Dtype>::Copy(const Image<Pixel>& image, const Window& window,
                                  Dtype* target) const {
  const Dtype scale = param_.scale();
  const Dtype* mean_image = param_.has_mean_file() ? data_mean_.cpu_data() : NULL;
  for (int c = 0; c < image.channels; ++c) {
    const Dtype mean_value =
        mean_values_.empty() ? Dtype(0) : mean_values_[mean_values_.size() == 1 ? 0 : c];
    for (int h = 0; h < window.height; ++h) {
      const Pixel* row = image.data + c * image.c_step + (h + window.h_off) * image.h_step +
                         window.w_off * image.w_step;
      const Dtype* mean_row =
          mean_image == NULL
              ? NULL
              : mean_image +
                    (static_cast<int64_t>(c) * image.height + h + window.h_off) * image.width +
                    window.w_off;
      for (int w = 0; w < window.width; ++w) {
        const Dtype mean = mean_row == NULL ? mean_value : mean_row[w];
        target[window.mirror ? window.width - 1 - w : w] =
            (static_cast<Dtype>(row[w * image.w_step]) - mean) * scale;
      }
      target += window.width;
    }
  }
}

template <typename Dtype>
typename DataTransformer<Dtype>::Window DataTransformer<Dtype>::Draw(const Datum* datum) {
  CHECK(!datum->encoded()) << "Encoded datum requires OpenCV; compile with USE_OPENCV.";
  if (param_.force_color() || param_.force_gray()) {
    LOG_FIRST_N(ERROR, 1) << "force_color and force_gray only for encoded datum";
  }
  CheckValues(*datum);
  CheckMean(datum->channels(), datum->height(), datum->width());
  return DrawWindow(datum->height(), datum->width());
}

template <typename Dtype>
void DataTransformer<Dtype>::Write(const Datum& datum, const Window& window, Dtype* target) const {
  const int64_t plane = static_cast<int64_t>(datum.height()) * datum.width();
  if (!datum.data().empty()) {
    const uint8_t* pixels = reinterpret_cast<const uint8_t*>(datum.data().data());
    Copy(Image<uint8_t>{pixels, datum.channels(), datum.height(), datum.width(), plane,
                        datum.width(), 1},
         window, target);
  } else {
    const float* pixels = datum.float_data().data();
    Copy(Image<float>{pixels, datum.channels(), datum.height(), datum.width(), plane, datum.width(),
                      1},
         window, target);
  }
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const Datum& datum, Dtype* transformed_data) {
#ifdef USE_OPENCV
  if (UsesImage(datum)) return TransformPixels(ImageOf(datum), transformed_data);
#endif
  Write(datum, Draw(&datum), transformed_data);
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const Datum& datum, Blob<Dtype>* transformed_blob) {
#ifdef USE_OPENCV
  if (UsesImage(datum)) return Transform(ImageOf(datum), transformed_blob);
#endif
  CheckValues(datum);  // before the blob allocates memory
  CheckTarget(datum.channels(), datum.height(), datum.width(), *transformed_blob);
  Transform(datum, transformed_blob->mutable_cpu_data());
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const vector<Datum>& datum_vector,
                                       Blob<Dtype>* transformed_blob) {
  CHECK(!datum_vector.empty()) << "There is no datum to add";
  CHECK_EQ(static_cast<int>(datum_vector.size()), transformed_blob->num())
      << "The number of images and the blob's num() must be equal";
  Blob<Dtype> item(1, transformed_blob->channels(), transformed_blob->height(),
                   transformed_blob->width());
  for (size_t i = 0; i < datum_vector.size(); ++i) {
    item.set_cpu_data(transformed_blob->mutable_cpu_data() +
                      transformed_blob->offset(static_cast<int>(i)));
    Transform(datum_vector[i], &item);
  }
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(Blob<Dtype>* input_blob, Blob<Dtype>* transformed_blob) {
  CHECK(!ChangesImages()) << kChanges << " are for images, not for blobs";
  const int channels = input_blob->channels(), height = input_blob->height(),
            width = input_blob->width();
  if (transformed_blob->count() == 0) {
    vector<int> shape = TransformedShape(channels, height, width);
    shape[0] = input_blob->num();
    transformed_blob->Reshape(shape);
  }
  CheckTarget(channels, height, width, *transformed_blob);
  CHECK_LE(input_blob->num(), transformed_blob->num());
  const Window window = DrawWindow(height, width);
  const int64_t plane = static_cast<int64_t>(height) * width;
  for (int n = 0; n < input_blob->num(); ++n) {
    const Dtype* pixels = input_blob->cpu_data() + input_blob->offset(n);
    Copy(Image<Dtype>{pixels, channels, height, width, plane, width, 1}, window,
         transformed_blob->mutable_cpu_data() + transformed_blob->offset(n));
  }
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const Datum& datum) {
#ifdef USE_OPENCV
  if (datum.encoded()) return InferBlobShape(ImageOf(datum));
#endif
  CHECK(!datum.encoded()) << "Encoded datum requires OpenCV; compile with USE_OPENCV.";
  CheckValues(datum);
  const auto [rows, columns] = ChangedSize(datum.height(), datum.width());
  return TransformedShape(datum.channels(), rows, columns);
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<Datum>& datum_vector) {
  CHECK(!datum_vector.empty()) << "There is no datum to take the shape of";
  vector<int> shape = InferBlobShape(datum_vector[0]);
  shape[0] = static_cast<int>(datum_vector.size());
  return shape;
}

#ifdef USE_OPENCV
template <typename Dtype>
cv::Mat DataTransformer<Dtype>::Decode(const Datum& datum, const string& name) const {
  CHECK(!(param_.force_color() && param_.force_gray()))
      << "cannot set both force_color and force_gray";
  const bool forced = param_.force_color() || param_.force_gray();
  const cv::Mat image =
      forced ? DecodeDatumToCVMat(datum, param_.force_color()) : DecodeDatumToCVMatNative(datum);
  CHECK(!image.empty()) << name << " holds an image that cannot be decoded.";
  return image;
}

// The image in the datum, which is encoded or in bytes, channel by channel.
template <typename Dtype>
cv::Mat DataTransformer<Dtype>::ImageOf(const Datum& datum, const string& name) const {
  if (datum.encoded()) return Decode(datum, name);
  CheckValues(datum);
  CHECK(!datum.data().empty() && (datum.channels() == 1 || datum.channels() == 3))
      << "only images of bytes with 1 or 3 channels can be transformed in this way";
  vector<cv::Mat> channels;
  const int64_t plane = static_cast<int64_t>(datum.height()) * datum.width();
  for (int c = 0; c < datum.channels(); ++c) {
    channels.emplace_back(datum.height(), datum.width(), CV_8U,
                          const_cast<char*>(datum.data().data()) + c * plane);
  }
  cv::Mat image;
  cv::merge(channels, image);
  return image;
}

template <typename Dtype>
cv::Mat DataTransformer<Dtype>::Changed(const cv::Mat& image) {
  if (!ChangesImages()) return image;
  CHECK(rng_) << "DataTransformer::InitRand was not called";
  rng_t* const random = static_cast<rng_t*>(rng_->generator());
  cv::Mat changed = image;
  if (param_.has_distort_param()) changed = Distorted(param_.distort_param(), changed, random);
  if (param_.has_expand_param()) {
    const vector<double> fill(mean_values_.begin(), mean_values_.end());
    changed = Expanded(param_.expand_param(), changed, fill, random);
  }
  if (param_.has_resize_param()) changed = Resized(param_.resize_param(), changed, random);
  if (ResizesRandomly()) {
    changed = RandomlyResized(static_cast<int>(param_.img_rand_resize_lower()),
                              static_cast<int>(param_.img_rand_resize_upper()), changed, random);
  }
  if (param_.has_noise_param()) changed = Noisy(param_.noise_param(), changed, random);
  return changed;
}

template <typename Dtype>
typename DataTransformer<Dtype>::Window DataTransformer<Dtype>::Draw(cv::Mat* cv_img) {
  CHECK_EQ(cv_img->depth(), CV_8U) << "Image data type must be unsigned byte";
  *cv_img = Changed(*cv_img);
  CheckMean(cv_img->channels(), cv_img->rows, cv_img->cols);
  return DrawWindow(cv_img->rows, cv_img->cols);
}

template <typename Dtype>
void DataTransformer<Dtype>::Write(const cv::Mat& cv_img, const Window& window,
                                   Dtype* target) const {
  const int64_t row = static_cast<int64_t>(cv_img.step[0]);
  Copy(Image<uint8_t>{cv_img.data, cv_img.channels(), cv_img.rows, cv_img.cols, 1, row,
                      cv_img.channels()},
       window, target);
}

template <typename Dtype>
void DataTransformer<Dtype>::TransformPixels(cv::Mat image, Dtype* target) {
  const Window window = Draw(&image);
  Write(image, window, target);
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob) {
  const auto [rows, columns] = ChangedSize(cv_img.rows, cv_img.cols);
  CheckTarget(cv_img.channels(), rows, columns, *transformed_blob);
  TransformPixels(cv_img, transformed_blob->mutable_cpu_data());
}

template <typename Dtype>
void DataTransformer<Dtype>::Transform(const vector<cv::Mat>& mat_vector,
                                       Blob<Dtype>* transformed_blob) {
  CHECK(!mat_vector.empty()) << "There is no image to add";
  CHECK_EQ(static_cast<int>(mat_vector.size()), transformed_blob->num())
      << "The number of images and the blob's num() must be equal";
  for (size_t i = 0; i < mat_vector.size(); ++i) {
    const cv::Mat& image = mat_vector[i];
    const auto [rows, columns] = ChangedSize(image.rows, image.cols);
    CheckTarget(image.channels(), rows, columns, *transformed_blob);
    TransformPixels(image, transformed_blob->mutable_cpu_data() +
                               transformed_blob->offset(static_cast<int>(i)));
  }
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const cv::Mat& cv_img) {
  const auto [rows, columns] = ChangedSize(cv_img.rows, cv_img.cols);
  return TransformedShape(cv_img.channels(), rows, columns);
}

template <typename Dtype>
vector<int> DataTransformer<Dtype>::InferBlobShape(const vector<cv::Mat>& mat_vector) {
  CHECK(!mat_vector.empty()) << "There is no image to take the shape of";
  vector<int> shape = InferBlobShape(mat_vector[0]);
  shape[0] = static_cast<int>(mat_vector.size());
  return shape;
}
#endif  // USE_OPENCV

INSTANTIATE_CLASS(DataTransformer);

}  // namespace caffe
