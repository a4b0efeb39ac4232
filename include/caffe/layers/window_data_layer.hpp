#ifndef CAFFE_WINDOW_DATA_LAYER_HPP_
#define CAFFE_WINDOW_DATA_LAYER_HPP_

#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Batches of windows of images, drawn at random as R-CNN does: background first (label 0), then
/// fg_fraction of the batch from the foreground. window_data_param.source lists images and their
/// windows (src/caffe/layers/data/window_file.hpp); a window is foreground where its overlap with
/// an object is at least fg_threshold, background where it is below bg_threshold.
///
/// A window is warped to crop_size x crop_size (transform_param). With crop_mode "square" it is
/// first grown to the smallest square around it, with context_pad so far that the crop has so many
/// pixels of context on each side; what is beyond the image is 0 in the top. The mean image's
/// middle or the mean value of each channel is subtracted, the rest multiplied by `scale`.
///
/// Needs USE_OPENCV.
template <typename Dtype>
class WindowDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  /// What a window's numbers are.
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
  /// Windows are drawn: all of the position is that of the generator.
  virtual bool SavePosition(SourcePosition* /*position*/) const { return true; }
  virtual bool RestorePosition(const LayerProgress& progress) {
    return progress.key().empty() && progress.position_size() == 0;
  }
  virtual vector<Caffe::RNG*> Generators() const;

  shared_ptr<Caffe::RNG> prefetch_rng_;
  /// Paths with the root folder; channels, height and width.
  vector<std::pair<std::string, vector<int>>> image_database_;
  vector<vector<float>> fg_windows_;  ///< NUM numbers each
  vector<vector<float>> bg_windows_;  ///< NUM numbers each; label and overlap are 0
  Blob<Dtype> data_mean_;
  vector<Dtype> mean_values_;  ///< none, or one for each channel
  bool has_mean_file_ = false;
  bool has_mean_values_ = false;
  bool cache_images_ = false;
  /// Paths and files, still encoded: all images where cache_images_.
  vector<std::pair<std::string, Datum>> image_database_cache_;

 private:
  void ReadWindows();
  void ReadMean();
  /// How many windows of a batch are foreground.
  int Foreground() const;
  cv::Mat Image(int index) const;
  /// The crop of `window` for `item`, CHW and zero.
  void Crop(const vector<float>& window, bool mirror, Dtype* item) const;
  /// "Layer data (source windows.txt)", for messages.
  string Name() const;
};

}  // namespace caffe

#endif  // CAFFE_WINDOW_DATA_LAYER_HPP_
