#ifndef CAFFE_DATA_TRANSFORMER_HPP
#define CAFFE_DATA_TRANSFORMER_HPP

#include <cstdint>
#include <utility>
#include <vector>

#include "caffe/blob.hpp"
#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Reshapes a mean image with three axes (channels, height, width) to the four axes that Caffe's
/// own files have.
template <typename Dtype>
void ReshapeToImage(Blob<Dtype>* mean);

/// Turns images into blobs as a TransformationParameter says, in this order: distort, expand,
/// resize, noise (fields of Caffe's forks, only for 8-bit images in builds with OpenCV), crop (at a
/// random place in the TRAIN phase, else in the middle), mirror (at random), subtract a mean image
/// or a mean per channel, multiply by `scale`.
///
/// Sizes that do not fit and invalid parameters abort with a message. Not thread safe, because each
/// object draws from its own random generator. Const methods may run at the same time as any other
/// method.
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

  /// Seeds the generator with one draw from the calling thread's stream, if anything is random.
  void InitRand();
  /// The generator, or null if nothing is random or InitRand was not called.
  Caffe::RNG* random() const { return rng_.get(); }

  /// Writes the transformed image into the first item of a blob that has its shape
  /// (InferBlobShape).
  void Transform(const Datum& datum, Blob<Dtype>* transformed_blob);
  /// Writes transformed image i into item i of the blob, whose num() must be the vector's size.
  void Transform(const vector<Datum>& datum_vector, Blob<Dtype>* transformed_blob);
#ifdef USE_OPENCV
  void Transform(const vector<cv::Mat>& mat_vector, Blob<Dtype>* transformed_blob);
  /// 8-bit pixels.
  void Transform(const cv::Mat& cv_img, Blob<Dtype>* transformed_blob);
  /// Returns the pixels of a datum, which is either encoded (force_color and force_gray apply) or
  /// holds bytes with 1 or 3 channels. `name` is the name of the datum in messages.
  cv::Mat ImageOf(const Datum& datum, const string& name = "A datum") const;
#endif

  // Transform in two steps. The second may run in several threads at the same time.

  /// Whether Draw and Write must be given ImageOf(datum) instead of the datum.
  bool UsesImage(const Datum& datum) const { return datum.encoded() || ChangesImages(); }
  /// Makes all random draws for an image and applies those that change its pixels.
  Window Draw(const Datum* datum);
  /// Writes the window of the image, mean and scale applied, to an item of the transformed shape.
  void Write(const Datum& datum, const Window& window, Dtype* target) const;
#ifdef USE_OPENCV
  Window Draw(cv::Mat* cv_img);
  void Write(const cv::Mat& cv_img, const Window& window, Dtype* target) const;
#endif
  /// Whether Draw draws as many numbers for each image.
  bool DrawsAlike() const { return !ChangesImages(); }
  /// Draws the numbers that Draw would, without the image. Needs DrawsAlike.
  void SkipDraw();

  /// Transforms every item with the same random draws. Reshapes an empty target.
  void Transform(Blob<Dtype>* input_blob, Blob<Dtype>* transformed_blob);

  /// The smallest number of rows and columns that an image may have.
  std::pair<int, int> SmallestImage() const;

  /// The shape of the transformed image or batch of images.
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
  /// Pixels of any element type with any strides: (c, h, w) is at data[c * c_step + h * h_step + w
  /// * w_step].
  template <typename Pixel>
  struct Image {
    const Pixel* data;
    int channels, height, width;
    int64_t c_step, h_step, w_step;
  };
  /// Whether images are distorted, expanded or resized, or get noise.
  bool ChangesImages() const;
  bool ResizesRandomly() const;
  void CheckRandomResize() const;
  /// The size that an image of this size has after distort, expand and resize.
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
