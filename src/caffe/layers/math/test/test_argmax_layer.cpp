#include <limits>

#include "caffe/layers/test/every_variant.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string ArgMax(const string& param) {
  return "name: 'max' type: 'ArgMax' argmax_param { " + param + " }";
}

/// The top's values; its shape is checked.
vector<double> TopOf(const string& param, const vector<int>& shape, const vector<double>& x,
                     const vector<int>& top_shape) {
  LayerCase max(ArgMax(param), {shape}, 1);
  Assign(x, max.bottom[0]);
  max.SetUp();
  EXPECT_EQ(max.top[0]->shape(), top_shape) << param;
  max.layer->Forward(max.bottom, max.top);
  return Values(max.top[0]->cpu_data(), max.top[0]->count());
}

const vector<double> kTwo = {3, 1, 4, 1.5, 9, 2, 6, 5};

TEST(ArgMax, FindsTheHighestOfEachSample) {
  EXPECT_EQ(TopOf("", {2, 4}, kTwo, {2, 1, 1}), (vector<double>{2, 0}));
  EXPECT_EQ(TopOf("top_k: 3", {2, 4}, kTwo, {2, 1, 3}), (vector<double>{2, 0, 3, 0, 2, 3}));
  EXPECT_EQ(TopOf("top_k: 4", {2, 2, 2, 1}, kTwo, {2, 1, 4, 1}),
            (vector<double>{2, 0, 3, 1, 0, 2, 3, 1}));
}

TEST(ArgMax, GivesIndicesAndThenValuesOfEachSample) {
  EXPECT_EQ(TopOf("out_max_val: true top_k: 2", {2, 4}, kTwo, {2, 2, 2}),
            (vector<double>{2, 0, 4, 3, 0, 2, 9, 6}));
  EXPECT_EQ(TopOf("out_max_val: true", {2, 2, 2, 1, 1}, kTwo, {2, 2, 1, 1, 1}),
            (vector<double>{2, 4, 0, 9}));
}

TEST(ArgMax, GivesIndicesOrValuesAlongAnAxis) {
  EXPECT_EQ(TopOf("axis: 1", {2, 2, 2}, kTwo, {2, 1, 2}), (vector<double>{1, 1, 0, 1}));
  EXPECT_EQ(TopOf("axis: -3 top_k: 2", {2, 2, 2}, kTwo, {2, 2, 2}),
            (vector<double>{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(TopOf("axis: 1 out_max_val: true", {2, 2, 2}, kTwo, {2, 1, 2}),
            (vector<double>{4, 1.5, 9, 5}));
  EXPECT_EQ(TopOf("axis: 0 top_k: 2 out_max_val: true", {8}, kTwo, {2}), (vector<double>{9, 6}));
}

TEST(ArgMax, PutsTheHigherIndexOfEqualValuesFirst) {
  EXPECT_EQ(TopOf("top_k: 3", {1, 4}, {2, 5, 5, 2}, {1, 1, 3}), (vector<double>{2, 1, 3}));
}

TEST(ArgMax, TreatsNaNAsTheHighestValue) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(TopOf("top_k: 4", {1, 4}, {2, nan, 7, nan}, {1, 1, 4}), (vector<double>{3, 1, 2, 0}));
}

TEST(ArgMax, DeclaresNoBackwardAndNoAlgorithms) {
  LayerCase max(ArgMax("top_k: 2"), {{3, 5}}, 1);
  max.SetUp();
  const MemoryTraits traits = max.Traits();
  EXPECT_TRUE(traits.declared);
  EXPECT_TRUE(traits.backward.empty());
  EXPECT_TRUE(Algorithms(traits.forward).empty());
}

TEST(ArgMaxErrors, NamesTheLayerOfBadParameters) {
  LayerCase none(ArgMax("top_k: 0"), {{3, 5}}, 1);
  EXPECT_ERROR(none.SetUp(), "Layer max: top_k must not be less than 1");
  LayerCase sample(ArgMax("top_k: 6"), {{3, 5}}, 1);
  EXPECT_ERROR(sample.SetUp(), "Layer max: top_k must be less than or equal to .*of a sample");
  LayerCase axis(ArgMax("top_k: 4 axis: 0"), {{3, 5}}, 1);
  EXPECT_ERROR(axis.SetUp(), "Layer max: top_k must be less than or equal to .*along the axis");
  LayerCase backward(ArgMax(""), {{3, 5}}, 1);
  backward.SetUp();
  EXPECT_ERROR(backward.layer->Backward(backward.top, {true}, backward.bottom),
               "Layer max: ArgMax has no gradient");
}

}  // namespace
}  // namespace caffe
