#include "caffe/layers/detection_evaluate_layer.hpp"

#include <algorithm>
#include <climits>
#include <map>
#include <utility>

#include "box_inputs.hpp"

namespace caffe {
namespace {

/// A box of an item and a label.
struct Claim {
  double score;
  kernels::Box box;
};

using ItemAndLabel = std::pair<int, int>;

/// For each claim, from the best down, whether it is one of `objects` (1), none (-1), or one that
/// does not count (0).
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
  CHECK(!param.has_name_size_file() && !param.has_resize_param())
      << "Layer " << name << ": overlaps in pixels (name_size_file, resize_param) are not "
      << "supported; without these fields they are in parts of the image.";
  found_ = 0;
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
  const int64_t rows = classes - 1 + found_;
  CHECK_LE(rows, INT_MAX / 5) << "Layer " << name << ": too many detections.";
  top[0]->Reshape({1, 1, static_cast<int>(rows), 5});
}

template <typename Dtype>
MemoryTraits DetectionEvaluateLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                                   const vector<Blob<Dtype>*>& /*top*/,
                                                   const vector<bool>& /*propagate_down*/) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.varying = true;
  traits.forward.reads = {BottomData(0), BottomData(1)};
  traits.forward.writes = {TopData(0)};
  return traits;
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
  found_ = 0;
  const Dtype* row = bottom[0]->cpu_data();
  for (int i = 0; i < bottom[0]->count() / 7; ++i, row += 7) {
    if (row[1] == Dtype(-1)) continue;
    CHECK(row[0] >= 0 && row[0] < Dtype(1 << 30) && row[1] >= 0 &&
          row[1] < static_cast<Dtype>(classes) && static_cast<int>(row[1]) != background)
        << "Layer " << name << ": detection " << i << " has item " << row[0] << " and label "
        << row[1] << ", which is none of an object.";
    claims[{static_cast<int>(row[0]), static_cast<int>(row[1])}].push_back(
        {static_cast<double>(row[2]), kernels::BoxAt(row + 3)});
    ++found_;
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
REGISTER_LAYER_CLASS(DetectionEvaluate);

}  // namespace caffe
