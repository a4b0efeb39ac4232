#ifndef CAFFE_DATA_BOX_SAMPLES_HPP_
#define CAFFE_DATA_BOX_SAMPLES_HPP_

#include <string>
#include <vector>

#include "caffe/kernels/detection/boxes.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/rng.hpp"

namespace caffe {

// Objects in images, and random parts of images sampled around them: Liu et al., SSD, 2016,
// sections 2.2 and 3.6. Boxes are in fractions of the image's width and height.

/// An object in an image.
struct LabeledBox {
  int label = 0;
  int instance = 0;
  bool difficult = false;
  kernels::BoundingBox box;
};

/// Returns the objects of a record, by group. Aborts if a maximum is below its minimum; the message
/// starts with `what`, which names the record.
std::vector<LabeledBox> BoxesOf(const AnnotatedDatum& record, const std::string& what);

/// Returns the boxes that `constraint` keeps (null: all) and that have some area in `window`, a
/// part of the image which may extend beyond it. The boxes are clipped to the window and in
/// fractions of it.
std::vector<LabeledBox> BoxesWithin(const kernels::BoundingBox& window,
                                    const std::vector<LabeledBox>& boxes,
                                    const EmitConstraint* constraint);

/// Aborts if `sampler` is invalid.
void CheckSampler(const BatchSampler& sampler);

/// Returns whether one of `boxes` meets all bounds of `constraint` for `window`; true if it has no
/// bounds.
bool Satisfies(const SampleConstraint& constraint, const kernels::BoundingBox& window,
               const std::vector<LabeledBox>& boxes);

/// Returns the parts of the image that the samplers draw, in order. Each sampler makes up to
/// max_trials trials and keeps at most max_sample parts (if unset, all) that meet its
/// sample_constraint. The scale s and the ratio r of width to height are drawn uniformly from their
/// bounds; r is limited to [s^2, 1 / s^2], so that the part fits. A part is s * sqrt(r) wide and s
/// / sqrt(r) high and placed uniformly. A sampler without use_original_image draws nothing.
std::vector<kernels::BoundingBox> SampledWindows(
    const google::protobuf::RepeatedPtrField<BatchSampler>& samplers,
    const std::vector<LabeledBox>& boxes, rng_t* random);

}  // namespace caffe

#endif  // CAFFE_DATA_BOX_SAMPLES_HPP_
