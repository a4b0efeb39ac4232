#ifndef CAFFE_WINDOW_DATA_LAYER_HPP_
#define CAFFE_WINDOW_DATA_LAYER_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Reads batches of windows of images, drawn at random as in R-CNN: first background windows (label
/// 0), then foreground windows, which are fg_fraction of the batch. window_data_param.source lists
/// images and their windows (src/caffe/layers/data/window_file.hpp). A window is foreground if its
/// overlap with an object is at least fg_threshold, and background if it is below bg_threshold.
///
/// A window is warped to crop_size x crop_size (transform_param). With crop_mode "square" it is
/// first grown to the smallest square around it. With context_pad it is grown until the crop has
/// that many pixels of context on each side. Pixels beyond the image are 0 in the top. The middle
/// of the mean image, or the mean value of each channel, is subtracted, and the result multiplied
/// by `scale`.
///
/// Needs USE_OPENCV.
template <typename Dtype>
class WindowDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  /// The numbers that describe a window.
  enum WindowField { IMAGE_INDEX, LABEL, OVERLAP, X1, Y1, X2, Y2, NUM };

  explicit WindowDataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  virtual ~WindowDataLayer();
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "WindowData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  virtual unsigned int PrefetchRand();
  virtual void load_batch(Batch<Dtype>* batch);
  /// Windows are drawn at random, so the position is only the state of the generator.
  virtual bool SavePosition(SourcePosition* /*position*/) const { return true; }
  virtual bool RestorePosition(const LayerProgress& progress) {
    return progress.key().empty() && progress.position_size() == 0;
  }
  virtual vector<Caffe::RNG*> Generators() const;

  shared_ptr<Caffe::RNG> prefetch_rng_;
  /// Each image's path, with the root folder, and its channels, height and width.
  vector<std::pair<std::string, vector<int>>> image_database_;
  vector<vector<float>> fg_windows_;  ///< NUM numbers each
  vector<vector<float>> bg_windows_;  ///< NUM numbers each; label and overlap are 0
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;  ///< empty, or one per channel
  bool has_mean_file_ = false;
  bool has_mean_values_ = false;
  bool cache_images_ = false;
  /// With cache_images_, the path and the encoded file of each image.
  vector<std::pair<std::string, Datum>> image_database_cache_;

 private:
  void ReadWindows();
  void ReadMean();
  /// The number of foreground windows in a batch.
  int Foreground() const;
  cv::Mat Image(int index) const;
  /// Writes the crop of `window` to `item`, in CHW order; `item` must be zero.
  void Crop(const vector<float>& window, bool mirror, Dtype* item) const;
  /// "Layer data (source windows.txt)", for messages.
  string Name() const;
};

}  // namespace caffe

#endif  // CAFFE_WINDOW_DATA_LAYER_HPP_
