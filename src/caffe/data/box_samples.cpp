#include "caffe/data/box_samples.hpp"

#include <algorithm>
#include <cmath>

#include "caffe/common.hpp"
#include "caffe/data/draws.hpp"

namespace caffe {
namespace {

using kernels::BoundingBox;

BoundingBox Common(const BoundingBox& a, const BoundingBox& b) {
  return {std::max(a.xmin, b.xmin), std::max(a.ymin, b.ymin), std::min(a.xmax, b.xmax),
          std::min(a.ymax, b.ymax)};
}

double Part(double part, double whole) { return whole > 0 ? part / whole : 0; }

/// Converts `box` from fractions of the image to fractions of `window`.
BoundingBox Seen(const BoundingBox& window, const BoundingBox& box) {
  const double width = window.xmax - window.xmin, height = window.ymax - window.ymin;
  return {(box.xmin - window.xmin) / width, (box.ymin - window.ymin) / height,
          (box.xmax - window.xmin) / width, (box.ymax - window.ymin) / height};
}

bool Emits(const EmitConstraint& constraint, const BoundingBox& window, const BoundingBox& box) {
  if (constraint.emit_type() == EmitConstraint::MIN_OVERLAP) {
    return Part(kernels::Area(Common(window, box)), kernels::Area(box)) > constraint.emit_overlap();
  }
  const double x = (box.xmin + box.xmax) / 2, y = (box.ymin + box.ymax) / 2;
  return x >= window.xmin && x <= window.xmax && y >= window.ymin && y <= window.ymax;
}

BoundingBox DrawWindow(const Sampler& sampler, rng_t* random) {
  const double scale = DrawUniform(random, sampler.min_scale(), sampler.max_scale());
  const double least = std::max<double>(sampler.min_aspect_ratio(), scale * scale);
  const double most = std::min<double>(sampler.max_aspect_ratio(), 1 / (scale * scale));
  // If no ratio within the bounds fits this scale, uses the nearest one that fits.
  const double ratio = least <= most ? DrawUniform(random, least, most)
                                     : std::clamp(least, scale * scale, 1 / (scale * scale));
  const double width = std::min(1.0, scale * std::sqrt(ratio));
  const double height = std::min(1.0, scale / std::sqrt(ratio));
  const double x = DrawUniform(random, 0, 1 - width), y = DrawUniform(random, 0, 1 - height);
  return {x, y, x + width, y + height};
}

}  // namespace

std::vector<LabeledBox> BoxesOf(const AnnotatedDatum& record, const std::string& what) {
  std::vector<LabeledBox> boxes;
  for (const AnnotationGroup& group : record.annotation_group()) {
    for (const Annotation& annotation : group.annotation()) {
      const NormalizedBBox& box = annotation.bbox();
      CHECK(box.xmin() <= box.xmax() && box.ymin() <= box.ymax())
          << what << " has an object with label " << group.group_label() << " and a box from ("
          << box.xmin() << ", " << box.ymin() << ") to (" << box.xmax() << ", " << box.ymax()
          << ").";
      if (box.xmin() >= 1 || box.ymin() >= 1 || box.xmax() <= 0 || box.ymax() <= 0) {
        LOG_FIRST_N(WARNING, 1) << what << " has an object with a box from (" << box.xmin() << ", "
                                << box.ymin() << ") to (" << box.xmax() << ", " << box.ymax()
                                << "), outside of the image: boxes are in parts of it, 0 to 1.";
      }
      boxes.push_back({group.group_label(),
                       annotation.instance_id(),
                       box.difficult(),
                       {box.xmin(), box.ymin(), box.xmax(), box.ymax()}});
    }
  }
  return boxes;
}

std::vector<LabeledBox> BoxesWithin(const BoundingBox& window, const std::vector<LabeledBox>& boxes,
                                    const EmitConstraint* constraint) {
  std::vector<LabeledBox> seen;
  for (LabeledBox box : boxes) {
    if (constraint != nullptr && !Emits(*constraint, window, box.box)) continue;
    box.box = Common({0, 0, 1, 1}, Seen(window, box.box));
    if (kernels::Area(box.box) > 0) seen.push_back(box);
  }
  return seen;
}

void CheckSampler(const BatchSampler& sampler) {
  const Sampler& s = sampler.sampler();
  CHECK(s.min_scale() > 0 && s.min_scale() <= s.max_scale() && s.max_scale() <= 1)
      << "batch_sampler needs 0 < min_scale <= max_scale <= 1; they are " << s.min_scale()
      << " and " << s.max_scale();
  CHECK(s.min_aspect_ratio() > 0 && s.min_aspect_ratio() <= s.max_aspect_ratio())
      << "batch_sampler needs 0 < min_aspect_ratio <= max_aspect_ratio; they are "
      << s.min_aspect_ratio() << " and " << s.max_aspect_ratio();
}

bool Satisfies(const SampleConstraint& constraint, const BoundingBox& window,
               const std::vector<LabeledBox>& boxes) {
  const auto within = [](bool has_least, double least, bool has_most, double most, double value) {
    return (!has_least || value >= least) && (!has_most || value <= most);
  };
  const SampleConstraint& c = constraint;
  if (!c.has_min_jaccard_overlap() && !c.has_max_jaccard_overlap() &&
      !c.has_min_sample_coverage() && !c.has_max_sample_coverage() &&
      !c.has_min_object_coverage() && !c.has_max_object_coverage())
    return true;
  return std::any_of(boxes.begin(), boxes.end(), [&](const LabeledBox& object) {
    const double common = kernels::Area(Common(window, object.box));
    return within(c.has_min_jaccard_overlap(), c.min_jaccard_overlap(), c.has_max_jaccard_overlap(),
                  c.max_jaccard_overlap(), kernels::Overlap(window, object.box)) &&
           within(c.has_min_sample_coverage(), c.min_sample_coverage(), c.has_max_sample_coverage(),
                  c.max_sample_coverage(), Part(common, kernels::Area(window))) &&
           within(c.has_min_object_coverage(), c.min_object_coverage(), c.has_max_object_coverage(),
                  c.max_object_coverage(), Part(common, kernels::Area(object.box)));
  });
}

std::vector<BoundingBox> SampledWindows(
    const google::protobuf::RepeatedPtrField<BatchSampler>& samplers,
    const std::vector<LabeledBox>& boxes, rng_t* random) {
  std::vector<BoundingBox> windows;
  for (const BatchSampler& sampler : samplers) {
    if (!sampler.use_original_image()) continue;
    uint32_t found = 0;
    for (uint32_t trial = 0; trial < sampler.max_trials(); ++trial) {
      if (sampler.has_max_sample() && found >= sampler.max_sample()) break;
      const BoundingBox window = DrawWindow(sampler.sampler(), random);
      if (!Satisfies(sampler.sample_constraint(), window, boxes)) continue;
      windows.push_back(window);
      ++found;
    }
  }
  return windows;
}

}  // namespace caffe
