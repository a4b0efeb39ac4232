#include "caffe/layers/detection_evaluate_layer.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <map>
#include <sstream>
#include <utility>

#include "box_inputs.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"
#include "caffe/layers/fork_type.hpp"
#include "caffe/util/io.hpp"

namespace caffe {
namespace {

/// A detection of one item and label.
struct Claim {
  double score;
  kernels::BoundingBox box;
};

using ItemAndLabel = std::pair<int, int>;

/// Converts a coordinate in fractions of a padded image to fractions of the original image, which
/// is in the middle. `along` and `target_along` are the sizes of original and result along this
/// axis, `across` and `target_across` those along the other.
double UnpaddedFraction(double part, double along, double across, double target_along,
                        double target_across) {
  const double scale = std::min(target_along / along, target_across / across);
  const double inner = std::max(1.0, std::round(along * scale));
  return (part * target_along - std::floor((target_along - inner) / 2)) / inner;
}

/// Converts `box`, in fractions of an image that was resized as `resize` says, to pixels of the
/// original image.
kernels::BoundingBox InPixels(kernels::BoundingBox box, const ResizeParameter& resize,
                              const std::pair<double, double>& height_and_width) {
  const auto [height, width] = height_and_width;
  if (resize.resize_mode() == ResizeParameter::FIT_LARGE_SIZE_AND_PAD) {
    for (double* x : {&box.xmin, &box.xmax})
      *x = UnpaddedFraction(*x, width, height, resize.width(), resize.height());
    for (double* y : {&box.ymin, &box.ymax})
      *y = UnpaddedFraction(*y, height, width, resize.height(), resize.width());
  }
  const auto within = [](double part) { return std::min(std::max(part, 0.0), 1.0); };
  return {within(box.xmin) * width, within(box.ymin) * height, within(box.xmax) * width + 1,
          within(box.ymax) * height + 1};
}

/// Returns for each claim, which are sorted from the best down, whether it is right (1), wrong
/// (-1), or does not count (0).
vector<int> Judge(const vector<Claim>& claims, const vector<TrueObject>& objects, double threshold,
                  bool difficult_count) {
  vector<bool> taken(objects.size());
  vector<int> verdicts;
  for (const Claim& claim : claims) {
    size_t best = 0;
    double overlap = -1;
    for (size_t i = 0; i < objects.size(); ++i) {
      const double this_overlap = kernels::Overlap(claim.box, objects[i].box);
      if (this_overlap > overlap) {
        best = i;
        overlap = this_overlap;
      }
    }
    int verdict = -1;
    if (!objects.empty() && overlap >= threshold) {
      if (objects[best].difficult && !difficult_count) {
        verdict = 0;
      } else if (!taken[best]) {
        taken[best] = true;
        verdict = 1;
      }
    }
    verdicts.push_back(verdict);
  }
  return verdicts;
}

}  // namespace

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::LayerSetUp(const vector<Blob<Dtype>*>& /*bottom*/,
                                               const vector<Blob<Dtype>*>& /*top*/) {
  const DetectionEvaluateParameter& param = this->layer_param_.detection_evaluate_param();
  const string& name = this->layer_param_.name();
  CHECK_GT(param.num_classes(), 0u) << "Layer " << name << ": num_classes must be set.";
  CHECK_LT(param.num_classes(), uint32_t{INT_MAX / 5})
      << "Layer " << name << ": num_classes is too large.";
  CHECK_LT(param.background_label_id(), param.num_classes())
      << "Layer " << name << ": background_label_id must be one of num_classes.";
  CHECK_GT(param.overlap_threshold(), 0)
      << "Layer " << name << ": overlap_threshold must be positive.";
  const ResizeParameter& resize = param.resize_param();
  CHECK(resize.resize_mode() != ResizeParameter::FIT_LARGE_SIZE_AND_PAD ||
        (resize.height() > 0 && resize.width() > 0))
      << "Layer " << name << ": resize_param needs a height and a width.";
  found_ = -1;
  sizes_.clear();
  next_image_ = 0;
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                                            const vector<Blob<Dtype>*>& top) {
  const string& name = this->layer_param_.name();
  CHECK(bottom[0]->num_axes() >= 1 && bottom[0]->shape(-1) == 7)
      << "Layer " << name << ": bottom 0, the detections, must have rows of 7 (item, label, score, "
      << "xmin, ymin, xmax, ymax), not shape " << bottom[0]->shape_string() << ".";
  CheckTruthShape(name, 1, *bottom[1]);
  const int64_t classes = this->layer_param_.detection_evaluate_param().num_classes();
  const int64_t rows = classes - 1 + (found_ < 0 ? bottom[0]->count() / 7 : found_);
  CHECK_LE(rows, INT_MAX / 5) << "Layer " << name << ": too many detections.";
  top[0]->Reshape({1, 1, static_cast<int>(rows), 5});
}

template <typename Dtype>
MemoryTraits DetectionEvaluateLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                                   const vector<Blob<Dtype>*>& /*top*/,
                                                   const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.repeatable = this->layer_param_.detection_evaluate_param().name_size_file().empty();
  traits.varying = true;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  return traits;
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::SaveProgress(LayerProgress* progress) const {
  if (!this->layer_param_.detection_evaluate_param().name_size_file().empty())
    progress->add_position(next_image_);
}

template <typename Dtype>
bool DetectionEvaluateLayer<Dtype>::RestoreProgress(const LayerProgress& progress) {
  if (progress.position_size() != 1) return false;
  next_image_ = progress.position(0);
  return true;
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::ReadSizes() {
  const string& source = this->layer_param_.detection_evaluate_param().name_size_file();
  const string what = "Layer " + this->layer_param_.name() + ": ";
  string text, line;
  CHECK(ReadFileToString(source, &text)) << what << "cannot open name_size_file " << source << ".";
  std::istringstream file(text);
  for (int number = 1; std::getline(file, line); ++number) {
    std::istringstream words(line);
    string name;
    double height = 0, width = 0;
    if (!(words >> name)) continue;
    CHECK((words >> height >> width) && height > 0 && width > 0)
        << what << source << ":" << number << ": a line must be \"name height width\".";
    sizes_.emplace_back(height, width);
  }
  CHECK(!sizes_.empty()) << what << "name_size_file " << source << " names no image.";
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Forward_cpu(const vector<Blob<Dtype>*>& bottom,
                                                const vector<Blob<Dtype>*>& top) {
  const DetectionEvaluateParameter& param = this->layer_param_.detection_evaluate_param();
  const string& name = this->layer_param_.name();
  const int classes = static_cast<int>(param.num_classes());
  const int background = static_cast<int>(param.background_label_id());
  std::map<ItemAndLabel, vector<TrueObject>> objects;
  vector<int> counts(classes);
  for (const TrueObject& object : ReadTruth(name, *bottom[1], classes, background)) {
    objects[{object.item, object.label}].push_back(object);
    if (param.evaluate_difficult_gt() || !object.difficult) ++counts[object.label];
  }
  std::map<ItemAndLabel, vector<Claim>> claims;
  int images = 0;
  found_ = 0;
  const Dtype* row = bottom[0]->cpu_data();
  for (int i = 0; i < bottom[0]->count() / 7; ++i, row += 7) {
    CHECK(row[0] >= -1 && row[0] < Dtype(1 << 30))
        << "Layer " << name << ": detection " << i << " has item " << row[0] << ".";
    images = std::max(images, static_cast<int>(row[0]) + 1);
    if (row[1] == Dtype(-1)) continue;
    CHECK(row[0] >= 0 && row[1] >= 0 && row[1] < static_cast<Dtype>(classes) &&
          static_cast<int>(row[1]) != background)
        << "Layer " << name << ": detection " << i << " has item " << row[0] << " and label "
        << row[1] << ", which is not a class of objects.";
    claims[{static_cast<int>(row[0]), static_cast<int>(row[1])}].push_back(
        {static_cast<double>(row[2]), kernels::BoxAt(row + 3)});
    ++found_;
  }
  if (!param.name_size_file().empty()) {
    if (sizes_.empty()) ReadSizes();
    const auto size_of = [this](int item) {
      return sizes_[(next_image_ + static_cast<uint64_t>(item)) % sizes_.size()];
    };
    for (auto& [key, list] : objects) {
      images = std::max(images, key.first + 1);
      for (TrueObject& object : list)
        object.box = InPixels(object.box, param.resize_param(), size_of(key.first));
    }
    for (auto& [key, list] : claims) {
      for (Claim& claim : list)
        claim.box = InPixels(claim.box, param.resize_param(), size_of(key.first));
    }
    next_image_ = (next_image_ + static_cast<uint64_t>(images)) % sizes_.size();
  }
  Reshape(bottom, top);
  Dtype* to = top[0]->mutable_cpu_data();
  const auto put = [&to](int item, int label, double score, int is_object, int is_none) {
    for (const double value : {static_cast<double>(item), static_cast<double>(label), score,
                               static_cast<double>(is_object), static_cast<double>(is_none)})
      *to++ = static_cast<Dtype>(value);
  };
  for (int label = 0; label < classes; ++label) {
    if (label != background) put(-1, label, counts[label], -1, -1);
  }
  for (auto& [key, list] : claims) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Claim& a, const Claim& b) { return a.score > b.score; });
    const auto true_ones = objects.find(key);
    const vector<int> verdicts =
        Judge(list, true_ones == objects.end() ? vector<TrueObject>() : true_ones->second,
              param.overlap_threshold(), param.evaluate_difficult_gt());
    for (size_t i = 0; i < list.size(); ++i)
      put(key.first, key.second, list[i].score, verdicts[i] == 1, verdicts[i] == -1);
  }
}

template <typename Dtype>
void DetectionEvaluateLayer<Dtype>::Backward_cpu(const vector<Blob<Dtype>*>& /*top*/,
                                                 const vector<bool>& propagate_down,
                                                 const vector<Blob<Dtype>*>& /*bottom*/) {
  CHECK(std::find(propagate_down.begin(), propagate_down.end(), true) == propagate_down.end())
      << "Layer " << this->layer_param_.name() << ": DetectionEvaluate has no gradient.";
}

INSTANTIATE_CLASS(DetectionEvaluateLayer);
REGISTER_FORK_LAYER_CLASS(DetectionEvaluate);
REGISTER_NO_LAYER_AXES(DetectionEvaluate, "it counts over the whole batch");

}  // namespace caffe
