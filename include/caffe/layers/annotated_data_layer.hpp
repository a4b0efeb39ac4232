#ifndef CAFFE_ANNOTATED_DATA_LAYER_HPP_
#define CAFFE_ANNOTATED_DATA_LAYER_HPP_

#include <set>
#include <vector>

#include "caffe/layers/data_layer.hpp"

namespace caffe {

struct LabeledBox;

inline namespace library_layers {

/// Reads batches of images, with the boxes of the objects in them, from a database of
/// AnnotatedDatum records (SSD, Liu et al. 2016). Tops: the images, N x C x H x W, and optionally
/// the objects, 1 x 1 x G x 8. A row of the second top is (item, label, instance, xmin, ymin, xmax,
/// ymax, difficult), with coordinates as fractions of the image in the top.
///
/// G starts as 8 N and doubles whenever a batch has more objects than rows; it does not shrink,
/// since plans need steady shapes. Unused rows are filled with -1.
///
/// transform_param and annotated_data_param say how an image changes, and its boxes change with it.
/// The order is: distort; expand; cut out a part, chosen at random among those that the
/// batch_samplers draw (section 2.2 of the paper; the whole image if there are none); resize; add
/// noise; crop, at a random place in the TRAIN phase and in the middle otherwise; mirror; subtract
/// the mean and scale.
///
/// Cutting out a part and cropping drop every object that has no area left in the result. An
/// emit_constraint, if given, drops more: CENTER keeps objects whose centre is inside, MIN_OVERLAP
/// those with more than emit_overlap of their area inside. Boxes are clipped to the image, and a
/// box whose area becomes zero is dropped.
///
/// If there is a label_map_file, it must contain every label of the records.
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
  /// The position of DataLayer, and the number of rows of the objects' top.
  virtual bool SavePosition(SourcePosition* position) const;
  virtual bool RestorePosition(const LayerProgress& progress);
  virtual vector<Caffe::RNG*> Generators() const;

 private:
  void CheckParameters() const;
  void ReadLabelMap();
  /// The initial number of rows of the objects' top.
  int FirstRows() const;
  /// "Layer data (source train_lmdb): the record with key '1'", for messages.
  string RecordName(const string& key) const;
  /// Parses and checks a record; `name` is for messages.
  AnnotatedDatum Record(const string& name, const string& value) const;
  void LoadItem(int item, const string& key, const string& value, Batch<Dtype>* batch,
                vector<LabeledBox>* boxes);
  /// Writes boxes[i], the objects of item i, into `label`; adds rows as needed.
  void WriteObjects(const vector<vector<LabeledBox>>& boxes, Blob<Dtype>* label);

  const TransformationParameter changes_;  ///< all that precedes mean and scale
  shared_ptr<Caffe::RNG> random_;          ///< draws all random changes
  int rows_ = 0;                           ///< rows of the objects' top
  std::set<int> labels_;                   ///< from label_map_file; empty: any label
};

}  // namespace library_layers
}  // namespace caffe

#endif  // CAFFE_ANNOTATED_DATA_LAYER_HPP_
