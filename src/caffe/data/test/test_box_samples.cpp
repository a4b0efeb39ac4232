#include "caffe/data/box_samples.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "caffe/common.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

using kernels::BoundingBox;

template <typename Message>
Message Parsed(const string& text) {
  Message message;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

LabeledBox Object(double xmin, double ymin, double xmax, double ymax, int label = 1) {
  return {label, 0, false, {xmin, ymin, xmax, ymax}};
}

void ExpectBox(const BoundingBox& expected, const BoundingBox& box) {
  EXPECT_NEAR(expected.xmin, box.xmin, 1e-9);
  EXPECT_NEAR(expected.ymin, box.ymin, 1e-9);
  EXPECT_NEAR(expected.xmax, box.xmax, 1e-9);
  EXPECT_NEAR(expected.ymax, box.ymax, 1e-9);
}

TEST(BoxSamples, ReadObjectsFromAllGroups) {
  const auto boxes = BoxesOf(Parsed<AnnotatedDatum>(R"(
      annotation_group { group_label: 3
        annotation { instance_id: 7 bbox { xmin: 0.125 ymin: 0.25 xmax: 0.5 ymax: 0.75 } }
        annotation { bbox { xmax: 1 ymax: 1 difficult: true } } }
      annotation_group { group_label: 2 annotation { bbox { xmax: 0.5 ymax: 0.5 } } })"),
                             "");
  ASSERT_EQ(3u, boxes.size());
  EXPECT_EQ(3, boxes[0].label);
  EXPECT_EQ(7, boxes[0].instance);
  EXPECT_FALSE(boxes[0].difficult);
  ExpectBox({0.125, 0.25, 0.5, 0.75}, boxes[0].box);
  EXPECT_TRUE(boxes[1].difficult);
  EXPECT_EQ(2, boxes[2].label);
}

TEST(BoxSamples, ClipBoxesToTheWindow) {
  const std::vector<LabeledBox> boxes = {Object(0.1, 0.3, 0.45, 0.5), Object(0.3, 0.3, 0.4, 0.4, 2),
                                         Object(0.8, 0.8, 0.9, 0.9)};
  const auto seen = BoxesWithin({0.2, 0.2, 0.6, 0.7}, boxes, nullptr);
  ASSERT_EQ(2u, seen.size());  // the third is outside
  ExpectBox({0, 0.2, 0.625, 0.6}, seen[0].box);
  ExpectBox({0.25, 0.2, 0.5, 0.4}, seen[1].box);
  EXPECT_EQ(2, seen[1].label);
  // A window that extends beyond the image, as after an expansion.
  ExpectBox({0.25 + 0.05, 0.25 + 0.15, 0.25 + 0.225, 0.5},
            BoxesWithin({-0.5, -0.5, 1.5, 1.5}, boxes, nullptr)[0].box);
}

TEST(BoxSamples, KeepBoxesByCentreOrOverlap) {
  const BoundingBox window = {0, 0, 0.5, 1};
  const std::vector<LabeledBox> boxes = {Object(0.3, 0, 0.6, 1), Object(0.4, 0, 0.7, 1)};
  const auto kept = [&](const string& constraint) {
    const auto parsed = Parsed<EmitConstraint>(constraint);
    return BoxesWithin(window, boxes, &parsed).size();
  };
  EXPECT_EQ(1u, kept(""));  // centres at 0.45 and 0.55
  EXPECT_EQ(2u, kept("emit_type: MIN_OVERLAP emit_overlap: 0.3"));
  EXPECT_EQ(1u, kept("emit_type: MIN_OVERLAP emit_overlap: 0.5"));  // shares of 2/3 and 1/3
  EXPECT_EQ(0u, kept("emit_type: MIN_OVERLAP emit_overlap: 0.7"));
}

TEST(BoxSamples, RequireOneObjectToMeetAllConstraints) {
  const BoundingBox window = {0, 0, 0.5, 0.5};
  const std::vector<LabeledBox> boxes = {Object(0, 0, 0.5, 0.25), Object(0, 0, 1, 1)};
  const auto met = [&](const string& constraint) {
    return Satisfies(Parsed<SampleConstraint>(constraint), window, boxes);
  };
  EXPECT_TRUE(Satisfies({}, window, {}));
  EXPECT_FALSE(Satisfies(Parsed<SampleConstraint>("min_jaccard_overlap: 0.1"), window, {}));
  EXPECT_TRUE(met("min_jaccard_overlap: 0.5"));  // the first: 0.5, the second: 0.25
  EXPECT_FALSE(met("min_jaccard_overlap: 0.51"));
  EXPECT_TRUE(met("max_jaccard_overlap: 0.25"));
  EXPECT_FALSE(met("max_jaccard_overlap: 0.24"));
  EXPECT_TRUE(met("min_sample_coverage: 1"));  // the second fills the window
  EXPECT_TRUE(met("min_object_coverage: 1"));  // the first is in it
  EXPECT_FALSE(met("min_sample_coverage: 1 min_object_coverage: 1"));
}

RC_GTEST_PROP(BoxSamples, WindowsAreWithinTheImageAndMeetTheirConstraint, (unsigned seed)) {
  const auto part = [] { return *rc::gen::inRange(1, 101) / 100.0; };
  const double scale = part(), other_scale = part(), ratio = 2 * part();
  const double overlap = *rc::gen::inRange(0, 60) / 100.0;
  BatchSampler sampler;
  sampler.mutable_sampler()->set_min_scale(static_cast<float>(std::min(scale, other_scale)));
  sampler.mutable_sampler()->set_max_scale(static_cast<float>(std::max(scale, other_scale)));
  sampler.mutable_sampler()->set_min_aspect_ratio(static_cast<float>(ratio));
  sampler.mutable_sampler()->set_max_aspect_ratio(static_cast<float>(2 * ratio));
  sampler.mutable_sample_constraint()->set_min_jaccard_overlap(static_cast<float>(overlap));
  sampler.set_max_sample(3);
  google::protobuf::RepeatedPtrField<BatchSampler> samplers;
  *samplers.Add() = sampler;
  *samplers.Add() = sampler;
  const std::vector<LabeledBox> boxes = {Object(0.1, 0.1, 0.6, 0.5), Object(0, 0, 1, 1)};
  rng_t random(seed), again(seed);
  const auto windows = SampledWindows(samplers, boxes, &random);
  RC_ASSERT(windows.size() <= 6u);
  for (const BoundingBox& window : windows) {
    RC_ASSERT(window.xmin >= 0 && window.ymin >= 0 && window.xmax <= 1 + 1e-12 &&
              window.ymax <= 1 + 1e-12);
    RC_ASSERT(kernels::Area(window) > 0);
    RC_ASSERT(kernels::Overlap(window, boxes[0].box) >=
                  sampler.sample_constraint().min_jaccard_overlap() ||
              kernels::Overlap(window, boxes[1].box) >=
                  sampler.sample_constraint().min_jaccard_overlap());
  }
  RC_ASSERT(SampledWindows(samplers, boxes, &again).size() == windows.size());
}

TEST(BoxSamples, UseTheSamplersScalesAndRatios) {
  google::protobuf::RepeatedPtrField<BatchSampler> samplers;
  *samplers.Add() = Parsed<BatchSampler>(
      "sampler { min_scale: 0.5 max_scale: 0.5 min_aspect_ratio: 2 max_aspect_ratio: 2 }"
      "max_trials: 4");
  rng_t random(1);
  const auto windows = SampledWindows(samplers, {}, &random);
  ASSERT_EQ(4u, windows.size());
  for (const BoundingBox& window : windows) {
    EXPECT_NEAR(0.25, kernels::Area(window), 1e-6);
    EXPECT_NEAR(2, (window.xmax - window.xmin) / (window.ymax - window.ymin), 1e-6);
  }
}

TEST(BoxSamplesErrors, RejectInvalidSamplers) {
  EXPECT_ERROR(
      BoxesOf(Parsed<AnnotatedDatum>(
                  "annotation_group { group_label: 3 annotation { bbox { xmin: 1 ymax: 1 } } }"),
              "image 7"),
      "image 7 has an object with label 3 and a box from \\(1, 0\\) to \\(0, 1\\)");
  const auto fails = [](const string& sampler, const char* why) {
    EXPECT_ERROR(CheckSampler(Parsed<BatchSampler>(sampler)), why);
  };
  fails("sampler { min_scale: 0.5 max_scale: 0.4 }", "they are 0.5 and 0.4");
  fails("sampler { min_scale: 0 }", "0 < min_scale");
  fails("sampler { max_scale: 2 }", "max_scale <= 1; they are 1 and 2");
  fails("sampler { min_aspect_ratio: 2 }", "max_aspect_ratio; they are 2 and 1");
}

}  // namespace
}  // namespace caffe
