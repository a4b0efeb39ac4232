#ifndef CAFFE_DATA_LAYER_HPP_
#define CAFFE_DATA_LAYER_HPP_

#include <string>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// Batches of the images (and labels) of a database, in order of key and then again. The images of
/// one batch must come out of the transformation with one size; batches may differ.
template <typename Dtype>
class DataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  /// Opens the database, at its first record.
  explicit DataLayer(const LayerParameter& param);
  virtual ~DataLayer();
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "Data"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual inline int MaxTopBlobs() const { return 2; }

 protected:
  /// The next record; the first after the last.
  void Next();
  /// Whether the current record belongs to another solver of several.
  bool Skip() const;
  virtual void load_batch(Batch<Dtype>* batch);
  /// The key of the next record, and how often Next was called.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);

  shared_ptr<db::DB> db_;
  shared_ptr<db::Cursor> cursor_;
  uint64_t offset_ = 0;

 private:
  /// "Layer data (source train_lmdb)", for messages.
  string Name() const;
  Datum Record() const;
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYER_HPP_
