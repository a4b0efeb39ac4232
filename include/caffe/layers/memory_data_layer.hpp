#ifndef CAFFE_MEMORY_DATA_LAYER_HPP_
#define CAFFE_MEMORY_DATA_LAYER_HPP_

#include <vector>

#include "caffe/layers/base_data_layer.hpp"

namespace caffe {

/// Batches of images and labels from memory: arrays of the caller's (Reset), or images that are
/// transformed into memory of the layer's own (AddDatumVector, AddMatVector). Each forward copies
/// the next batch into the tops; after the last comes the first again. memory_data_param gives the
/// shape of an image as it leaves the layer.
///
/// Not thread safe; nothing may be added or reset while a forward runs.
template <typename Dtype>
class MemoryDataLayer : public BaseDataLayer<Dtype> {
 public:
  explicit MemoryDataLayer(const LayerParameter& param) : BaseDataLayer<Dtype>(param) {}
  void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;
  /// A batch size that was set since shows here.
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override;

  /// How many of how many images were forwarded, and the transformer's generator. A program that
  /// gives the same data before the state is restored goes on in the middle of them.
  void SaveProgress(LayerProgress* progress) const override;
  bool RestoreProgress(const LayerProgress& progress) override;

  const char* type() const override { return "MemoryData"; }
  int ExactNumBottomBlobs() const override { return 0; }
  int ExactNumTopBlobs() const override { return 2; }

  /// Transformed copies of the images, whose number is a multiple of the batch size. What was added
  /// before must have been forwarded.
  virtual void AddDatumVector(const vector<Datum>& datum_vector);
#ifdef USE_OPENCV
  virtual void AddMatVector(const vector<cv::Mat>& mat_vector, const vector<int>& labels);
#endif
  /// `n` images, a multiple of the batch size, at `data` and their labels at `labels`, read by
  /// later forwards and not transformed. The caller keeps them until others take their place.
  void Reset(Dtype* data, Dtype* labels, int n);
  /// For the data that come next; the tops change with the next forward.
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
  size_t pos_ = 0;  ///< of them, the first of the next batch
  Blob<Dtype> added_data_;
  Blob<Dtype> added_label_;
  bool has_new_data_ = false;  ///< added, and not yet forwarded to the end

 private:
  /// Makes room for `images` more, with `labels` labels; aborts where they do not come in batches.
  void Expect(size_t images, size_t labels);
  /// Forwards go on with the first of the `n` images at `data`.
  void Restart(Dtype* data, Dtype* labels, int n);

  Blob<Dtype> staged_[2];  ///< the batch, for a feed: what users gave may change
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_DATA_LAYER_HPP_
