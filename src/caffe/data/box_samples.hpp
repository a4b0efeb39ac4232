#ifndef CAFFE_DATA_BOX_SAMPLES_HPP_
#define CAFFE_DATA_BOX_SAMPLES_HPP_

#include <string>
#include <vector>

#include "caffe/kernels/detection/boxes.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/rng.hpp"

namespace caffe {

// Objects in images, and parts of images that are drawn for their sake: Liu et al., SSD, 2016,
// sections 2.2 and 3.6. Boxes are in parts of the image's width and height.

/// An object in an image.
struct LabeledBox {
  int label = 0;
  int instance = 0;
  bool difficult = false;
  kernels::BoundingBox box;
};

/// The objects of a record, by group. Aborts with one sentence, which begins with `what`, the
/// record, where a maximum is below its minimum.
std::vector<LabeledBox> BoxesOf(const AnnotatedDatum& record, const std::string& what);

/// What stays of `boxes` in the part `window` of the image, which may reach beyond it: those that
/// `constraint` keeps (null: all) and that have some area there, cut off at the window's sides, in
/// parts of the window.
std::vector<LabeledBox> BoxesWithin(const kernels::BoundingBox& window,
                                    const std::vector<LabeledBox>& boxes,
                                    const EmitConstraint* constraint);

/// Aborts with one sentence where `sampler` makes no sense.
void CheckSampler(const BatchSampler& sampler);

/// Whether some of `boxes` meets all that `constraint` asks of the part `window`; true where it
/// asks nothing.
bool Satisfies(const SampleConstraint& constraint, const kernels::BoundingBox& window,
               const std::vector<LabeledBox>& boxes);

/// Parts of the image that the samplers, one after the other, draw: each in up to max_trials
/// trials, at most max_sample (all, where it is not set) whose sample_constraint holds. A part's
/// scale s and its ratio r of width to height are drawn evenly from their bounds, r within [s^2, 1
/// / s^2], so that it fits; it is s * sqrt(r) wide and s / sqrt(r) high, and placed evenly. A
/// sampler without use_original_image draws nothing.
std::vector<kernels::BoundingBox> SampledWindows(
    const google::protobuf::RepeatedPtrField<BatchSampler>& samplers,
    const std::vector<LabeledBox>& boxes, rng_t* random);

}  // namespace caffe

#endif  // CAFFE_DATA_BOX_SAMPLES_HPP_
