#ifndef CAFFE_DATA_TRANSFORMER_HPP
#define CAFFE_DATA_TRANSFORMER_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A mean image of three axes (channels, height, width) gets the four of one in Caffe's own files.
template <typename Dtype>
void AsOneImage(Blob<Dtype>* mean);

/// Turns images into blobs as a TransformationParameter says: distort, expand, resize,
/// noise (fields of Caffe's forks, for images of bytes in builds with OpenCV), crop (at a random
/// place in the TRAIN phase, else in the middle), mirror (at random), subtract a mean image or a
/// mean per channel, multiply by `scale`.
///
/// Sizes that do not fit, and parameters that make no sense, abort with a message. Not thread safe,
/// as it draws from a generator of its own; but const methods may be called beside any other.
template <typename Dtype>
class DataTransformer {
 public:
  /// The part of an image that goes into a blob, and whether it is mirrored.
  struct Window {
    int h_off, w_off, height, width;
    bool mirror;
  };

  explicit DataTransformer(const TransformationParameter& param, Phase phase);
  virtual ~DataTransformer() {}

  /// Seeds the generator by one draw from the calling thread's stream, if anything is random.
  void InitRand();
  /// The generator; null where nothing is random, or before InitRand.
  Caffe::RNG* random() const { return rng_.get(); }

  /// Writes the transformed image into the first item of a blob that has its shape
  /// (InferBlobShape).
  void Transform(const Datum& datum, Blob<Dtype>* transformed_blob);
  /// Item i of the blob, whose num() is the vector's size, becomes image i.
  void Transform(const vector<Datum>& datum_vector, Blob<Dtype>* transformed_blob);
#ifdef USE_OPENCV
  void Transform(const vector<cv::Mat>& mat_vector, Blob<Dtype>* transformed_blob);
  /// 8-bit pixels.
  void Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob);
  /// The pixels that a datum holds, encoded (then with force_color or force_gray) or in bytes with
  /// 1 or 3 channels. `name`: of the datum, for messages.
  cv::Mat ImageOf(const Datum& datum, const string& name = "A datum") const;
#endif

  // Transform in two steps, of which the second may run beside others.

  /// Whether it is ImageOf(datum) that is to be drawn for and written, not the datum.
  bool IsPicture(const Datum& datum) const { return datum.encoded() || ChangesImages(); }
  /// All random draws for an image, which are made to its pixels, too.
  Window Draw(const Datum* datum);
  /// Writes the window of the image, mean and scale applied, to an item of the transformed shape.
  void Write(const Datum& datum, const Window& window, Dtype* target) const;
#ifdef USE_OPENCV
  Window Draw(cv::Mat* cv_img);
  void Write(const cv::Mat& cv_img, const Window& window, Dtype* target) const;
#endif

  /// Transforms every item alike: one draw serves them all. An empty target is reshaped.
  void Transform(Blob<Dtype>* input_blob, Blob<Dtype>* transformed_blob);

  /// Rows and columns that an image has to have at least.
  std::pair<int, int> SmallestImage() const;

  /// The shape of the transformed image, or of the batch of them.
  vector<int> InferBlobShape(const Datum& datum);
  vector<int> InferBlobShape(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  vector<int> InferBlobShape(const vector<cv::Mat>& mat_vector);
  vector<int> InferBlobShape(const cv::Mat& cv_img);
#endif

 protected:
  /// A number in 0..n-1.
  virtual int Rand(int n);

  void Transform(const Datum& datum, Dtype* transformed_data);

  TransformationParameter param_;
  shared_ptr<Caffe::RNG> rng_;
  Phase phase_;
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;

 private:
  /// Pixels of any element type, anywhere in memory: (c, h, w) is at data[c * c_step + h * h_step +
  /// w * w_step].
  template <typename Pixel>
  struct Image {
    const Pixel* data;
    int channels, height, width;
    int64_t c_step, h_step, w_step;
  };
  /// Whether images are distorted, expanded, resized or damaged.
  bool ChangesImages() const;
  bool ResizesRandomly() const;
  void CheckRandomResize() const;
  /// Rows and columns that an image of this size has when it is copied.
  std::pair<int, int> ChangedSize(int height, int width) const;
  void CheckParameter() const;
  void CheckCrop(int height, int width) const;
  Window DrawWindow(int height, int width);
  void CheckMean(int channels, int height, int width) const;
  void CheckTarget(int channels, int height, int width, const Blob<Dtype>& target) const;
  vector<int> TransformedShape(int channels, int height, int width) const;
  template <typename Pixel>
  void Copy(const Image<Pixel>& image, const Window& window, Dtype* target) const;
#ifdef USE_OPENCV
  cv::Mat Decode(const Datum& datum, const string& name) const;
  cv::Mat Changed(const cv::Mat& image);
  void TransformPixels(cv::Mat image, Dtype* target);
#endif

  int crop_height_, crop_width_;  ///< 0: no crop
};

}  // namespace caffe

#endif  // CAFFE_DATA_TRANSFORMER_HPP
