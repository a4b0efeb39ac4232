#ifndef CAFFE_MEMORY_DATA_LAYER_HPP_
#define CAFFE_MEMORY_DATA_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Gives batches of images and labels from memory: arrays of the caller (Reset), or images that are
/// transformed and copied into the layer's own memory (AddDatumVector, AddMatVector). Each forward
/// copies the next batch into the tops; after the last batch comes the first. memory_data_param
/// gives the shape of an image in the top.
///
/// Not thread safe: do not add data or reset while a forward runs.
template <typename Dtype>
class MemoryDataLayer : public BaseDataLayer<Dtype> {
 public:
  explicit MemoryDataLayer(const LayerParameter& param) : BaseDataLayer<Dtype>(param) {}
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// Applies a batch size that was set since.
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  /// Saves how many of how many images were forwarded, and the state of the transformer's
  /// generator. A program that gives the same data before it restores the state continues in the
  /// middle of them.
  void SaveProgress(LayerProgress* progress) const override;
  bool RestoreProgress(const LayerProgress& progress) override;

  const char* type() const override { return "MemoryData"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int ExactNumTopBlobs() const override { return 2; }

  /// Adds transformed copies of the images, whose number must be a multiple of the batch size. All
  /// images added before must have been forwarded.
  virtual void AddDatumVector(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  virtual void AddMatVector(const vector<cv::Mat>& mat_vector, const vector<int>& labels);
#endif
  /// Uses the `n` images at `data`, a multiple of the batch size, and their labels at `labels` in
  /// the following forwards, without transformation. They are not copied: the caller keeps both
  /// arrays until others replace them.
  void Reset(Dtype* data, Dtype* labels, int n);
  /// Sets the batch size of the data to come. The tops change with the next forward.
  void set_batch_size(int new_size);

  int batch_size() { return batch_size_; }
  int channels() { return channels_; }
  int height() { return height_; }
  int width() { return width_; }

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                 const vector<Blob<Dtype>*>& top) override;

  int batch_size_ = 0, channels_ = 0, height_ = 0, width_ = 0;
  int size_ = 0;  ///< values of an image
  Dtype* data_ = nullptr;
  Dtype* labels_ = nullptr;
  int n_ = 0;       ///< images at data_
  size_t pos_ = 0;  ///< index of the first image of the next batch
  Blob<Dtype> added_data_;
  Blob<Dtype> added_label_;
  bool has_new_data_ = false;  ///< images were added and not all are forwarded

 private:
  /// Allocates space for `images` more images with `labels` labels. Aborts if they are not whole
  /// batches, or if their numbers differ.
  void Expect(size_t images, size_t labels);
  /// The next forward begins with the first of the `n` images at `data`.
  void Restart(Dtype* data, Dtype* labels, int n);

  Blob<Dtype> staged_[2];  ///< the batch, for a feed, since the user may change the data
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_DATA_LAYER_HPP_
