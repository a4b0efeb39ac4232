#ifndef CAFFE_DATA_LAYER_HPP_
#define CAFFE_DATA_LAYER_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/util/db.hpp"

namespace caffe {

/// Reads batches of images (and labels) from a database, in the order of the keys, over and over.
/// With data_param.shuffle each round has a new random order, and each solver its own. The images
/// of one batch must have one size after the transformation; batches may differ.
template <typename Dtype>
class DataLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit DataLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  virtual ~DataLayer();
  /// Opens the database at its first record, then does as the base class.
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual inline const char* type() const { return "Data"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }
  virtual inline int MaxTopBlobs() const { return 2; }

 protected:
  /// Moves to the next record; after the last, to the first of a new round.
  void Next();
  /// Whether the current record belongs to another of several solvers.
  bool Skip() const;
  virtual void load_batch(Batch<Dtype>* batch);
  /// The shape of the current record's image after the transformation: 1 x C x H x W.
  virtual vector<int> ImageShape();
  /// Saves the key of the next record and the number of calls of Next; with shuffling also the
  /// order, and the place in it.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;
  /// Moves to the first record: that with the least key or, with shuffling, the first of a new
  /// order.
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

  // Used only with shuffling:
  vector<string> keys_;  ///< keys of all records, ascending
  shared_ptr<Caffe::RNG> order_random_;
  shared_ptr<const vector<uint32_t>> order_;  ///< for each place, an index into keys_
  size_t place_ = 0;                          ///< place of the current record in order_
};

}  // namespace caffe

#endif  // CAFFE_DATA_LAYER_HPP_
