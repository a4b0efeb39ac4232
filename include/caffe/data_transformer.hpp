#ifndef CAFFE_DATA_TRANSFORMER_HPP
#define CAFFE_DATA_TRANSFORMER_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Turns images into blobs as a TransformationParameter says: distort, expand, resize,
/// noise (fields of Caffe's forks, for images of bytes in builds with OpenCV), crop (at a random
/// place in the TRAIN phase, else in the middle), mirror (at random), subtract a mean image or a
/// mean per channel, multiply by `scale`.
///
/// Sizes that do not fit, and parameters that make no sense, abort with a message. Not thread safe:
/// it draws from a generator of its own.
template <typename Dtype>
class DataTransformer {
 public:
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
  /// 1 or 3 channels.
  cv::Mat ImageOf(const Datum& datum) const;
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
  /// What the random draws and the sizes come to.
  struct Window {
    int h_off, w_off, height, width;
    bool mirror;
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
  void TransformPixels(const Datum& datum, Dtype* target);
#ifdef USE_OPENCV
  cv::Mat Decode(const Datum& datum) const;
  cv::Mat Changed(const cv::Mat& image);
  void TransformPixels(const cv::Mat& original, Dtype* target);
#endif

  int crop_height_, crop_width_;  ///< 0: no crop
};

}  // namespace caffe

#endif  // CAFFE_DATA_TRANSFORMER_HPP
