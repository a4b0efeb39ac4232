#include "caffe/layers/annotated_data_layer.hpp"

#include <climits>
#include <cstdint>
#include <utility>

#include "caffe/data/box_samples.hpp"
#include "caffe/data/draws.hpp"
#include "caffe/data/image_transforms.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/source_shapes.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/math_functions.hpp"
#include "own_items.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#endif

namespace caffe {

namespace {

/// The options that are left to the transformer: decoding, mean and scale.
TransformationParameter DecodeMeanAndScaleOnly(const TransformationParameter& param) {
  TransformationParameter rest;
  rest.set_scale(param.scale());
  *rest.mutable_mean_value() = param.mean_value();
  if (param.has_mean_file()) rest.set_mean_file(param.mean_file());
  rest.set_force_color(param.force_color());
  rest.set_force_gray(param.force_gray());
  return rest;
}

}  // namespace

template <typename Dtype>
AnnotatedDataLayer<Dtype>::AnnotatedDataLayer(const LayerParameter& param)
    : DataLayer<Dtype>(param), changes_(param.transform_param()) {
  this->transform_param_ = DecodeMeanAndScaleOnly(changes_);
}

template <typename Dtype>
AnnotatedDataLayer<Dtype>::~AnnotatedDataLayer() {
  this->StopInternalThread();
}

template <typename Dtype>
string AnnotatedDataLayer<Dtype>::RecordName(const string& key) const {
  return this->Name() + ": the record with key '" + key + "'";
}

template <typename Dtype>
AnnotatedDatum AnnotatedDataLayer<Dtype>::Record(const string& name, const string& value) const {
  AnnotatedDatum record;
  CHECK(record.ParseFromString(value) && record.has_datum())
      << name << " is not an AnnotatedDatum.";
  // A type that is not in the enumeration is parsed as an unknown field.
  const google::protobuf::UnknownFieldSet& unknown = record.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    CHECK(unknown.field(i).number() != AnnotatedDatum::kTypeFieldNumber)
        << name << " has annotations of another type than BBOX.";
  }
  for (const AnnotationGroup& group : record.annotation_group()) {
    CHECK(labels_.empty() || labels_.count(group.group_label()) > 0)
        << name << " has an object with label " << group.group_label()
        << ", which is not in label_map_file "
        << this->layer_param_.annotated_data_param().label_map_file() << ".";
  }
  return record;
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::ReadLabelMap() {
  labels_.clear();
  const string& source = this->layer_param_.annotated_data_param().label_map_file();
  if (source.empty()) return;
  LabelMap map;
  CHECK(ReadProtoFromTextFile(source, &map))
      << this->Name() << ": label_map_file " << source << " cannot be read as a LabelMap.";
  for (const LabelMapItem& item : map.item()) {
    CHECK(labels_.insert(item.label()).second) << this->Name() << ": label_map_file " << source
                                               << " has label " << item.label() << " twice.";
  }
  CHECK(!labels_.empty()) << this->Name() << ": label_map_file " << source << " has no labels.";
}

template <typename Dtype>
int AnnotatedDataLayer<Dtype>::FirstRows() const {
  const int64_t rows = int64_t{this->layer_param_.data_param().batch_size()} * kAnnotatedBoxes;
  CHECK_LE(rows, INT_MAX / 8) << this->Name() << ": batch_size is too large.";
  return static_cast<int>(rows);
}

template <typename Dtype>
bool AnnotatedDataLayer<Dtype>::SavePosition(SourcePosition* position) const {
  if (!DataLayer<Dtype>::SavePosition(position)) return false;
  position->position.push_back(static_cast<uint64_t>(rows_));
  return true;
}

template <typename Dtype>
bool AnnotatedDataLayer<Dtype>::RestorePosition(const LayerProgress& progress) {
  LayerProgress of_records = progress;
  uint64_t rows = 0;
  if (progress.position_size() > 0) {
    rows = progress.position(progress.position_size() - 1);
    of_records.mutable_position()->RemoveLast();
  }
  rows_ = FirstRows();
  if (!DataLayer<Dtype>::RestorePosition(of_records)) return false;
  // The batch size, and with it FirstRows, may have changed.
  while (static_cast<uint64_t>(rows_) < rows && rows_ <= INT_MAX / 16) rows_ *= 2;
  return true;
}

template <typename Dtype>
vector<Caffe::RNG*> AnnotatedDataLayer<Dtype>::Generators() const {
  vector<Caffe::RNG*> generators = DataLayer<Dtype>::Generators();
  generators.push_back(random_.get());
  return generators;
}

#ifdef USE_OPENCV

namespace {

// Size of the crop; 0: none.
int CropRows(const TransformationParameter& param) {
  return static_cast<int>(param.has_crop_h() ? param.crop_h() : param.crop_size());
}
int CropColumns(const TransformationParameter& param) {
  return static_cast<int>(param.has_crop_w() ? param.crop_w() : param.crop_size());
}

/// An image and the objects in it, which are transformed together.
class TransformedImage {
 public:
  TransformedImage(const TransformationParameter& changes, Phase phase, const cv::Mat& image,
                   const vector<LabeledBox>& boxes, rng_t* random)
      : changes_(changes),
        phase_(phase),
        random_(random),
        image_(image),
        boxes_(BoxesWithin({0, 0, 1, 1}, boxes, nullptr)) {}

  void Distort() {
    if (changes_.has_distort_param()) image_ = Distorted(changes_.distort_param(), image_, random_);
  }

  void Expand() {
    if (!changes_.has_expand_param()) return;
    const vector<double> fill(changes_.mean_value().begin(), changes_.mean_value().end());
    const cv::Size before = image_.size();
    cv::Rect place;
    image_ = Expanded(changes_.expand_param(), image_, fill, random_, &place);
    Move(OuterInFractions(place, before, image_.size()), nullptr);
  }

  /// Cuts out one of the parts that `samplers` draw, if they draw any.
  void Sample(const google::protobuf::RepeatedPtrField<BatchSampler>& samplers) {
    const vector<kernels::BoundingBox> windows = SampledWindows(samplers, boxes_, random_);
    if (windows.empty()) return;
    const int chosen = DrawIndex(random_, static_cast<int>(windows.size()));
    const kernels::BoundingBox& window = windows[chosen];
    const auto pixel = [](double part, int size) {
      return std::min(static_cast<int>(std::lround(part * size)), size);
    };
    const int left = std::min(pixel(window.xmin, image_.cols), image_.cols - 1);
    const int top = std::min(pixel(window.ymin, image_.rows), image_.rows - 1);
    CutOut({left, top, std::max(1, pixel(window.xmax, image_.cols) - left),
            std::max(1, pixel(window.ymax, image_.rows) - top)});
  }

  void Resize() {
    if (!changes_.has_resize_param()) return;
    const cv::Rect place = PlaceInResized(changes_.resize_param(), image_.size());
    image_ = Resized(changes_.resize_param(), image_, random_);
    Move(OuterInFractions(place, place.size(), image_.size()), nullptr);
  }

  void AddNoise() {
    if (changes_.has_noise_param()) image_ = Noisy(changes_.noise_param(), image_, random_);
  }

  void Crop() {
    const int rows = CropRows(changes_), columns = CropColumns(changes_);
    if (rows == 0) return;
    CHECK(rows <= image_.rows && columns <= image_.cols)
        << "a crop of " << rows << " x " << columns << " is larger than an image of " << image_.rows
        << " x " << image_.cols << ".";
    const auto offset = [&](int rest) {
      return phase_ == TRAIN ? DrawIndex(random_, rest + 1) : rest / 2;
    };
    const int top = offset(image_.rows - rows), left = offset(image_.cols - columns);
    CutOut({left, top, columns, rows});
  }

  void Mirror() {
    if (!changes_.mirror() || !DrawBool(random_, 0.5)) return;
    cv::Mat mirrored;
    cv::flip(image_, mirrored, 1);
    image_ = mirrored;
    for (LabeledBox& object : boxes_) {
      const double left = 1 - object.box.xmax;
      object.box.xmax = 1 - object.box.xmin;
      object.box.xmin = left;
    }
  }

  cv::Mat image() const { return image_; }
  const vector<LabeledBox>& boxes() const { return boxes_; }

 private:
  /// An image of size `inner` lies at `place` in one of size `outer`. Returns the box of the outer
  /// image in fractions of the inner one.
  static kernels::BoundingBox OuterInFractions(const cv::Rect& place, const cv::Size& inner,
                                               const cv::Size& outer) {
    const double width = inner.width, height = inner.height;
    return {-place.x / width, -place.y / height, (outer.width - place.x) / width,
            (outer.height - place.y) / height};
  }

  void Move(const kernels::BoundingBox& window, const EmitConstraint* constraint) {
    boxes_ = BoxesWithin(window, boxes_, constraint);
  }

  void CutOut(const cv::Rect& part) {
    const double width = image_.cols, height = image_.rows;
    Move({part.x / width, part.y / height, part.br().x / width, part.br().y / height},
         changes_.has_emit_constraint() ? &changes_.emit_constraint() : nullptr);
    image_ = image_(part).clone();
  }

  const TransformationParameter& changes_;
  const Phase phase_;
  rng_t* const random_;
  cv::Mat image_;
  vector<LabeledBox> boxes_;
};

}  // namespace

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::CheckParameters() const {
  const auto& samplers = this->layer_param_.annotated_data_param().batch_sampler();
  for (const BatchSampler& sampler : samplers) CheckSampler(sampler);
  if (changes_.has_resize_param()) CheckResize(changes_.resize_param());
  if (changes_.has_distort_param()) CheckDistortion(changes_.distort_param());
  if (changes_.has_expand_param()) CheckExpansion(changes_.expand_param());
  if (changes_.has_noise_param()) CheckNoise(changes_.noise_param());
  CHECK(!changes_.has_resize_param() || changes_.resize_param().prob() >= 1)
      << this->Name() << ": resize_param.prob must be 1.";
  CHECK_EQ(changes_.has_crop_h(), changes_.has_crop_w())
      << this->Name() << ": crop_h and crop_w must be set together.";
  CHECK(!changes_.has_crop_h() || !changes_.has_crop_size())
      << this->Name() << ": either crop_size, or crop_h and crop_w; not both.";
  CHECK((CropRows(changes_) > 0) == (CropColumns(changes_) > 0))
      << this->Name() << ": crop_h and crop_w must be positive.";
  CHECK(!changes_.has_img_rand_resize_lower() && !changes_.has_img_rand_resize_upper())
      << this->Name() << ": img_rand_resize_lower and img_rand_resize_upper are for images without "
      << "boxes.";
  const bool one_size = CropRows(changes_) > 0 ||
                        (changes_.has_resize_param() &&
                         changes_.resize_param().resize_mode() != ResizeParameter::FIT_SMALL_SIZE);
  CHECK(one_size || (!changes_.has_expand_param() && samplers.empty()))
      << this->Name() << ": expand_param and batch_sampler need a resize_param that gives images "
      << "one size, or a crop.";
}

template <typename Dtype>
vector<int> AnnotatedDataLayer<Dtype>::ImageShape() {
  const string name = RecordName(this->cursor_->key());
  const cv::Mat image =
      this->data_transformer_->ImageOf(Record(name, this->cursor_->value()).datum(), name);
  cv::Size size = image.size();
  if (changes_.has_resize_param()) size = ResizedSize(changes_.resize_param(), size);
  if (CropRows(changes_) > 0) size = cv::Size(CropColumns(changes_), CropRows(changes_));
  return {1, image.channels(), size.height, size.width};
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& bottom,
                                               const vector<Blob<Dtype>*>& top) {
  CheckParameters();
  ReadLabelMap();
  random_.reset(new Caffe::RNG(caffe_rng_rand()));
  DataLayer<Dtype>::DataLayerSetUp(bottom, top);
  rows_ = FirstRows();
  if (!this->output_labels_) return;
  top[1]->Reshape({1, 1, rows_, 8});
  for (const auto& batch : this->prefetch_) batch->label_.Reshape({1, 1, rows_, 8});
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::load_batch(Batch<Dtype>* batch) {
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  vector<vector<LabeledBox>> boxes(static_cast<size_t>(batch_size));
  this->workers_->Run(batch_size, [&](int i) -> BatchWorkers::Work {
    while (this->Skip()) this->Next();
    const string key = this->cursor_->key(), value = this->cursor_->value();
    this->Next();
    return [this, i, key, value, batch, &boxes] { LoadItem(i, key, value, batch, &boxes[i]); };
  });
  if (this->output_labels_) WriteObjects(boxes, &batch->label_);
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::LoadItem(int item, const string& key, const string& value,
                                         Batch<Dtype>* batch, vector<LabeledBox>* boxes) {
  DataTransformer<Dtype>& transformer = *this->data_transformer_;
  const int batch_size = static_cast<int>(this->layer_param_.data_param().batch_size());
  const string name = RecordName(key);
  const AnnotatedDatum record = Record(name, value);
  TransformedImage changed(changes_, this->phase_, transformer.ImageOf(record.datum(), name),
                           BoxesOf(record, name), static_cast<rng_t*>(random_->generator()));
  cv::Mat image;
  typename DataTransformer<Dtype>::Window window;
  Dtype* place = nullptr;
  this->workers_->InOrder(item, [&] {
    changed.Distort();
    changed.Expand();
    changed.Sample(this->layer_param_.annotated_data_param().batch_sampler());
    changed.Resize();
    changed.AddNoise();
    changed.Crop();
    changed.Mirror();
    image = changed.image();
    *boxes = changed.boxes();
    Blob<Dtype>& data = batch->data_;
    CHECK(this->GiveShape(item == 0, batch_size, transformer.InferBlobShape(image), &data))
        << this->Name() << ": image " << key << " of " << image.rows << " x " << image.cols
        << " does not fit into a batch of shape " << data.shape_string()
        << "; images must have one size, unless resize_param or a crop gives them one.";
    window = transformer.Draw(&image);
    place = data.mutable_cpu_data() + data.offset({item});
  });
  transformer.Write(image, window, place);
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::WriteObjects(const vector<vector<LabeledBox>>& boxes,
                                             Blob<Dtype>* label) {
  size_t objects = 0;
  for (const vector<LabeledBox>& of_item : boxes) objects += of_item.size();
  while (static_cast<size_t>(rows_) < objects) {
    CHECK_LE(rows_, INT_MAX / 16) << this->Name() << ": too many objects in a batch.";
    rows_ *= 2;
  }
  label->Reshape({1, 1, rows_, 8});
  Dtype* row = label->mutable_cpu_data();
  caffe_set(label->count(), Dtype(-1), row);
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (const LabeledBox& object : boxes[i]) {
      const double values[] = {static_cast<double>(i),
                               static_cast<double>(object.label),
                               static_cast<double>(object.instance),
                               object.box.xmin,
                               object.box.ymin,
                               object.box.xmax,
                               object.box.ymax,
                               object.difficult ? 1.0 : 0.0};
      for (double value : values) *row++ = static_cast<Dtype>(value);
    }
  }
}

#else  // USE_OPENCV

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::DataLayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                               const vector<Blob<Dtype>*>& /*top*/) {
  LOG(FATAL) << this->Name() << ": AnnotatedData needs a build with USE_OPENCV.";
}

template <typename Dtype>
void AnnotatedDataLayer<Dtype>::load_batch(Batch<Dtype>* /*batch*/) {}

#endif  // USE_OPENCV

INSTANTIATE_CLASS(AnnotatedDataLayer);
REGISTER_FORK_LAYER_CLASS(AnnotatedData);
REGISTER_LAYER_AXES(AnnotatedData, SourceRule);

}  // namespace caffe
