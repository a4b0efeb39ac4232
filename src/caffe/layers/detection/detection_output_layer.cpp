#include "caffe/layers/detection_output_layer.hpp"

#include <algorithm>
#include <climits>
#include <iterator>

#include "box_inputs.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

/// A box that was found in one item.
struct Detected {
  int64_t label;
  double score;
  kernels::BoundingBox box;
};

kernels::Suppression SuppressionOf(const DetectionOutputParameter& param) {
  kernels::Suppression how;
  how.threshold = param.nms_param().nms_threshold();
  how.eta = param.nms_param().eta();
  if (param.nms_param().has_top_k()) how.top_k = param.nms_param().top_k();
  if (param.has_confidence_threshold()) how.least_score = param.confidence_threshold();
  return how;
}

/// The greatest number of rows that the top can have.
int64_t MostRows(const kernels::MultiBoxShape& shape, const DetectionOutputParameter& param) {
  const int64_t background = param.background_label_id();
  const bool has_background = background >= 0 && background < shape.classes;
  const int64_t top_k = SuppressionOf(param).top_k, keep_top_k = param.keep_top_k();
  int64_t most = top_k < 0 ? shape.priors : std::min(shape.priors, top_k);
  most *= shape.classes - (has_background ? 1 : 0);
  if (keep_top_k >= 0) most = std::min(most, keep_top_k);
  return shape.items * std::max<int64_t>(most, 1);
}

/// Keeps the `most` best boxes, ordered by label.
void KeepBest(size_t most, vector<Detected>* found) {
  if (found->size() <= most) return;
  std::stable_sort(found->begin(), found->end(),
                   [](const Detected& a, const Detected& b) { return a.score > b.score; });
  found->resize(most);
  std::stable_sort(found->begin(), found->end(),
                   [](const Detected& a, const Detected& b) { return a.label < b.label; });
}

}  // namespace

template <typename Dtype>
void DetectionOutputLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                             const vector<Blob<Dtype>*>& /*top*/) {
  const DetectionOutputParameter& param = this->layer_param_.detection_output_param();
  const string& name = this->layer_param_.name();
  LOG_IF(WARNING, Caffe::root_solver() && !param.save_output_param().output_directory().empty())
      << "Layer " << name
      << ": save_output_param has no effect here: the detections are in the top, "
      << "and no files are written.";
  LOG_IF(WARNING, Caffe::root_solver() && param.visualize())
      << "Layer " << name << ": visualize has no effect here: nothing is shown.";
  CHECK_GE(param.nms_param().nms_threshold(), 0)
      << "Layer " << name << ": nms_threshold must not be negative.";
  CHECK(param.nms_param().eta() > 0 && param.nms_param().eta() <= 1)
      << "Layer " << name << ": eta must be above 0 and at most 1.";
  rows_ = 0;
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                          const vector<Blob<Dtype>*>& top) {
  const DetectionOutputParameter& param = this->layer_param_.detection_output_param();
  const string& name = this->layer_param_.name();
  const int64_t most =
      MostRows(CheckBoxInputs(name, bottom, param.num_classes(), param.share_location()), param);
  CHECK_LE(most, INT_MAX / 7) << "Layer " << name << ": up to " << most << " boxes are too many.";
  top[0]->Reshape({1, 1, rows_ > 0 ? rows_ : static_cast<int>(most), 7});
}

template <typename Dtype>
MemoryTraits DetectionOutputLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                                 const vector<Blob<Dtype>*>& /*top*/,
                                                 const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.varying = true;
  traits.forward.reads = {BottomData(0), BottomData(1), BottomData(2)};
  traits.forward.writes = {TopData(0)};
  return traits;
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                              const vector<Blob<Dtype>*>& top) {
  const DetectionOutputParameter& param = this->layer_param_.detection_output_param();
  const kernels::MultiBoxShape shape = CheckBoxInputs(this->layer_param_.name(), bottom,
                                                      param.num_classes(), param.share_location());
  const kernels::Suppression how = SuppressionOf(param);
  const kernels::BoxCode code = CodeOf(param.code_type());
  const Dtype *offsets = bottom[0]->cpu_data(), *scores = bottom[1]->cpu_data(),
              *priors = bottom[2]->cpu_data();
  vector<vector<Detected>> found(shape.items);
  CpuFor(shape.items, true, [&](int64_t item) {
    vector<kernels::BoundingBox> boxes(shape.priors);
    vector<double> class_scores(shape.priors);
    for (int64_t label = 0; label < shape.classes; ++label) {
      const int64_t first = item * shape.priors, set = shape.sets == 1 ? 0 : label;
      for (int64_t p = 0; p < shape.priors; ++p) {
        class_scores[p] = scores[(first + p) * shape.classes + label];
        if (label > 0 && shape.sets == 1) continue;
        boxes[p] = kernels::DecodeBox(
            code, kernels::PriorAt(priors, shape.priors, p, !param.variance_encoded_in_target()),
            offsets + ((first + p) * shape.sets + set) * 4);
      }
      if (label == param.background_label_id()) continue;
      for (const int p : kernels::Suppress(boxes, class_scores, how))
        found[item].push_back({label, class_scores[p], boxes[p]});
    }
    if (param.keep_top_k() >= 0) KeepBest(param.keep_top_k(), &found[item]);
  });
  int64_t rows = 0;
  for (const vector<Detected>& of_item : found) rows += static_cast<int64_t>(of_item.size());
  const bool none = rows == 0;
  if (none) rows = shape.items;
  rows_ = static_cast<int>(rows);
  top[0]->Reshape({1, 1, rows_, 7});
  Dtype* row = top[0]->mutable_cpu_data();
  for (int64_t item = 0; item < shape.items; ++item) {
    for (const Detected& one : found[item]) {
      const double values[] = {static_cast<double>(item),
                               static_cast<double>(one.label),
                               one.score,
                               one.box.xmin,
                               one.box.ymin,
                               one.box.xmax,
                               one.box.ymax};
      row = std::transform(std::begin(values), std::end(values), row,
                           [](double value) { return static_cast<Dtype>(value); });
    }
    if (!none) continue;
    row[0] = static_cast<Dtype>(item);
    std::fill_n(row + 1, 6, Dtype(-1));
    row += 7;
  }
}

template <typename Dtype>
void DetectionOutputLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& /*top*/,
                                               const vector<bool>& propagate_down,
                                               const vector<Blob<Dtype>*>& /*bottom*/) {
  CHECK(std::find(propagate_down.begin(), propagate_down.end(), true) == propagate_down.end())
      << "Layer " << this->layer_param_.name() << ": DetectionOutput has no gradient.";
}

INSTANTIATE_CLASS(DetectionOutputLayer);
REGISTER_FORK_LAYER_CLASS(DetectionOutput);
REGISTER_NO_LAYER_AXES(DetectionOutput, "how many boxes it finds depends on values");

}  // namespace caffe
