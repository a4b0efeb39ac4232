#ifndef CAFFE_IMAGE_DATA_LAYER_HPP_
#define CAFFE_IMAGE_DATA_LAYER_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/image_list.hpp"

namespace caffe {

/// Batches of the images that a text file lists, "path label" a line (caffe/util/image_list.hpp),
/// in order or shuffled, and then again. Paths are relative to root_folder. Images are read in
/// colour or gray, resized where new_height and new_width say so, then transformed; those of one
/// batch must come out with one size.
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
  /// What the file lists; aborts where it cannot be read.
  virtual vector<ListedImage> List() const;
  /// Shuffles lines_ by prefetch_rng_.
  virtual void ShuffleImages();
  virtual void load_batch(Batch<Dtype>* batch);
  /// The path of the next image, its place in lines_, how often Next was called, and, where images
  /// are shuffled, for each of lines_ its place in the list.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;

  shared_ptr<Caffe::RNG> prefetch_rng_;
  vector<std::pair<std::string, int>> lines_;  ///< paths without the root folder, and labels
  int lines_id_ = 0;                           ///< of the next image

  /// The next image; the first after the last, shuffled anew.
  void Next();
  /// Whether the next image belongs to another solver of several. Each shuffles an order of its
  /// own: there is nothing to deal out then.
  bool Skip() const;
  /// Reads an image; aborts, naming list and line, where that fails. `path`: as listed.
  cv::Mat Image(const string& path) const;
  /// "Layer data: image cat.png (list:3)", for messages.
  string Name(const string& path) const;

 private:
  void LoadItem(int item, const string& path, Batch<Dtype>* batch);

  uint64_t offset_ = 0;  ///< how often Next was called
  /// By place in lines_, which of the list it is; null: lines_ is as the list. Batches that were
  /// read ahead may have one from before.
  shared_ptr<const vector<uint32_t>> order_;
};

}  // namespace caffe

#endif  // CAFFE_IMAGE_DATA_LAYER_HPP_
