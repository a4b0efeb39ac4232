#ifndef CAFFE_IMAGE_DATA_LAYER_HPP_
#define CAFFE_IMAGE_DATA_LAYER_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/image_list.hpp"

namespace caffe {

/// Reads batches of the images in a text file, "path label" on each line
/// (caffe/util/image_list.hpp), in order or shuffled, over and over. Paths are relative to
/// root_folder. Images are read in colour or gray, resized if new_height and new_width are set,
/// then transformed. The images of one batch must have one size after that.
///
/// Needs USE_OPENCV.
template <typename Dtype>
class ImageDataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit ImageDataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  virtual ~ImageDataLayer();
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "ImageData"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  /// Reads the list; aborts if that fails.
  virtual vector<ListedImage> List() const;
  /// Shuffles lines_ with prefetch_rng_.
  virtual void ShuffleImages();
  virtual void load_batch(Batch<Dtype>* batch);
  /// Saves the path of the next image, its index in lines_, the number of calls of Next and, with
  /// shuffling, the index in the list of each of lines_.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;

  shared_ptr<Caffe::RNG> prefetch_rng_;
  vector<std::pair<std::string, int>> lines_;  ///< paths without the root folder, and labels
  int lines_id_ = 0;                           ///< index of the next image

  /// Moves to the next image; after the last, to the first, shuffled anew.
  void Next();
  /// Whether the next image belongs to another of several solvers. With shuffling it never does,
  /// since each solver has its own order of all images.
  bool Skip() const;
  /// Reads an image, `path` as in the list. If that fails, aborts and names list and line.
  cv::Mat Image(const string& path) const;
  /// "Layer data: image cat.png (list:3)", for messages.
  string Name(const string& path) const;

 private:
  void LoadItem(int item, const string& path, Batch<Dtype>* batch);

  uint64_t offset_ = 0;  ///< how often Next was called
  /// For each of lines_ its index in the list; null: the same. Shared, since batches that were read
  /// ahead may hold an earlier order.
  shared_ptr<const vector<uint32_t>> order_;
};

}  // namespace caffe

#endif  // CAFFE_IMAGE_DATA_LAYER_HPP_
