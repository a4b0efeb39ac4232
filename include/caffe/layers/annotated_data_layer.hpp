#ifndef CAFFE_ANNOTATED_DATA_LAYER_HPP_
#define CAFFE_ANNOTATED_DATA_LAYER_HPP_

#include <set>
#include <vector>

#include "caffe/layers/data_layer.hpp"

namespace caffe {

struct LabeledBox;

inline namespace library_layers {

/// Batches of the images of a database, records of AnnotatedDatum, with the boxes of the objects in
/// them (SSD, Liu et al. 2016). Tops: images, N x C x H x W; and, where there is a second top,
/// objects, 1 x 1 x G x 8, in rows of item, label, instance, xmin, ymin, xmax, ymax, difficult, in
/// parts of the image that comes out.
///
/// G is 8 N at first, and doubles when a batch has more objects than rows: plans are for steady
/// shapes. Rows without an object are -1.
///
/// An image is changed as transform_param and annotated_data_param say, and the boxes with it, in
/// this order: distort, expand; a part of it, one of all that the batch_samplers draw (section 2.2;
/// without any, or where they draw none, the whole); resize, noise; crop, at a random place in the
/// TRAIN phase, else in the middle; mirror; mean and scale. A part, and a crop, keeps the objects
/// of which some area is in it and that emit_constraint, where it is given, keeps: those whose
/// centre it has (CENTER), or more than emit_overlap of whose area (MIN_OVERLAP). Boxes are cut off
/// at the image's sides, and an object without area there is left out.
///
/// Where there is a label_map_file, every label of a record must be in it.
///
/// Needs USE_OPENCV.
template <typename Dtype>
class AnnotatedDataLayer : public DataLayer<Dtype> {
 public:
  explicit AnnotatedDataLayer(const LayerParameter& param);
  virtual ~AnnotatedDataLayer();
  virtual void DataLayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual const char* type() const { return "AnnotatedData"; }

 protected:
  virtual void load_batch(Batch<Dtype>* batch);
  virtual vector<int> ImageShape();
  /// That of DataLayer, and how many rows the objects' top has.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;

 private:
  void CheckParameters() const;
  void ReadLabelMap();
  /// Rows of the objects' top before a batch has more objects.
  int FirstRows() const;
  /// "Layer data (source train_lmdb): the record with key '1'", for messages.
  string RecordName(const string& key) const;
  /// The record of which that is the name.
  AnnotatedDatum Record(const string& name, const string& value) const;
  void LoadItem(int item, const string& key, const string& value, Batch<Dtype>* batch,
                vector<LabeledBox>* boxes);
  /// `boxes`: by item.
  void WriteObjects(const vector<vector<LabeledBox>>& boxes, Blob<Dtype>* label);

  const TransformationParameter changes_;  ///< what is done before mean and scale
  shared_ptr<Caffe::RNG> random_;          ///< of all changes
  int rows_ = 0;                           ///< of the objects' top
  std::set<int> labels_;                   ///< of label_map_file; empty: any
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_ANNOTATED_DATA_LAYER_HPP_
