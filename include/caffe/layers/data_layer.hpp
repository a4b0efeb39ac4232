#ifndef CAFFE_DATA_LAYER_HPP_
#define CAFFE_DATA_LAYER_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// Batches of the images (and labels) of a database, in order of key and then again; with
/// data_param.shuffle in another order each time, of which every solver draws its own. The images
/// of one batch must come out of the transformation with one size; batches may differ.
template <typename Dtype>
class DataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit DataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  virtual ~DataLayer();
  /// Opens the database, at its first record; then as the base.
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "Data"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual inline int MaxTopBlobs() const { return 2; }

 protected:
  /// The next record; the first after the last, shuffled anew.
  void Next();
  /// Whether the current record belongs to another solver of several.
  bool Skip() const;
  virtual void load_batch(Batch<Dtype>* batch);
  /// Of the current record's image, as it comes out of the transformation: 1 x C x H x W.
  virtual vector<int> ImageShape();
  /// The key of the next record, and how often Next was called; where records are shuffled, also
  /// its place in the order, and the order.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;
  /// To the record that comes first: that with the least key, or the first of a new order.
  void Begin();
  /// "Layer data (source train_lmdb)", for messages.
  string Name() const;

  shared_ptr<db::DB> db_;
  shared_ptr<db::Cursor> cursor_;
  uint64_t offset_ = 0;

 private:
  bool Shuffles() const { return this->layer_param_.data_param().shuffle(); }
  void ReadKeys();
  void ShuffleRecords();
  Datum Record(const string& key, const string& value) const;
  template <typename Image>
  void LoadItem(int item, const string& key, Image image, Batch<Dtype>* batch);

  // Where records are shuffled:
  vector<string> keys_;  ///< of all records, in order
  shared_ptr<Caffe::RNG> order_random_;
  shared_ptr<const vector<uint32_t>> order_;  ///< by place, which of keys_
  size_t place_ = 0;                          ///< of the current record in order_
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYER_HPP_
