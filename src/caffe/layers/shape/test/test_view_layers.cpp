// Flatten and Reshape.
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Flatten(const string& param) {
  return "name: 'view' type: 'Flatten' flatten_param { " + param + " }";
}
string Reshape(const string& param) {
  return "name: 'view' type: 'Reshape' reshape_param { " + param + " }";
}

vector<int> TopShape(const string& layer, const vector<int>& bottom_shape) {
  LayerCase view(layer, {bottom_shape}, 1);
  view.SetUp();
  return view.top[0]->shape();
}

TEST(Flatten, JoinsTheRequestedAxes) {
  const vector<int> shape = {2, 3, 4, 5};
  EXPECT_EQ(TopShape(Flatten(""), shape), (vector<int>{2, 60}));
  EXPECT_EQ(TopShape(Flatten("axis: 2"), shape), (vector<int>{2, 3, 20}));
  EXPECT_EQ(TopShape(Flatten("end_axis: -2"), shape), (vector<int>{2, 12, 5}));
  EXPECT_EQ(TopShape(Flatten("axis: 0 end_axis: -3"), shape), (vector<int>{6, 4, 5}));
  EXPECT_EQ(TopShape(Flatten("axis: -1"), shape), shape);
}

TEST(Reshape, CopiesInfersAndReplacesDimensions) {
  const vector<int> shape = {2, 3, 4, 5};
  EXPECT_EQ(TopShape(Reshape("shape { dim: 0 dim: -1 dim: 2 }"), shape), (vector<int>{2, 30, 2}));
  EXPECT_EQ(TopShape(Reshape("shape { dim: 6 dim: 20 }"), shape), (vector<int>{6, 20}));
  EXPECT_EQ(TopShape(Reshape("shape { dim: -1 } axis: 1 num_axes: 2"), shape),
            (vector<int>{2, 12, 5}));
  EXPECT_EQ(TopShape(Reshape("shape { dim: 2 dim: 2 } axis: -2 num_axes: 1"), {2, 3, 4}),
            (vector<int>{2, 3, 2, 2}));
  EXPECT_EQ(TopShape(Reshape("shape { dim: 0 dim: 1 } axis: 1 num_axes: 1"), shape),
            (vector<int>{2, 3, 1, 4, 5}));
  // Axes may be inserted anywhere, also behind the last.
  EXPECT_EQ(TopShape(Reshape("shape { dim: 1 dim: -1 } axis: -1 num_axes: 0"), {2, 3}),
            (vector<int>{2, 3, 1, 1}));
  EXPECT_EQ(TopShape(Reshape("shape { dim: 1 } num_axes: 0"), {2, 3}), (vector<int>{1, 2, 3}));
  EXPECT_EQ(TopShape(Reshape("shape { }"), {1, 1}), vector<int>{});
}

TEST(Reshape, FollowsItsBottom) {
  LayerCase view(Reshape("shape { dim: 0 dim: -1 }"), {{2, 3, 4}}, 1);
  view.SetUp();
  view.bottom[0]->Reshape({5, 2, 2});
  view.layer->Forward(view.bottom, view.top);
  EXPECT_EQ(view.top[0]->shape(), (vector<int>{5, 4}));
}

class Views : public testing::TestWithParam<string> {};

TEST_P(Views, ShareDataAndDiff) {
  LayerCase view(GetParam(), {{2, 3, 4}}, 1);
  view.SetUp();
  const MemoryTraits traits = view.Traits();
  EXPECT_EQ(traits.data_views.size(), 1u);
  EXPECT_EQ(traits.diff_views.size(), 1u);
  EXPECT_TRUE(traits.backward.empty());
  EXPECT_TRUE(view.layer->Traits(view.bottom, view.top, {false}).diff_views.empty());
  view.layer->Forward(view.bottom, view.top);
  EXPECT_EQ(view.top[0]->cpu_data(), view.bottom[0]->cpu_data());
  view.top[0]->mutable_cpu_diff()[7] = 4;
  view.layer->Backward(view.top, {true}, view.bottom);
  EXPECT_EQ(view.bottom[0]->cpu_diff(), view.top[0]->cpu_diff());
}

TEST_P(Views, GiveTheGradient) {
  LayerCase view(GetParam(), {{2, 3, 4}}, 1);
  GradientChecker<double>(1e-4, 1e-6).CheckGradientEltwise(view.layer.get(), view.bottom, view.top);
}

INSTANTIATE_TEST_SUITE_P(FlattenAndReshape, Views,
                         testing::Values(Flatten(""), Reshape("shape { dim: -1 dim: 2 }")));

TEST(ViewsErrors, NameTheLayerOfABadShape) {
  const auto set_up = [](const string& layer) { TopShape(layer, {2, 3, 4}); };
  EXPECT_ERROR(set_up(Flatten("axis: 2 end_axis: 1")), "Layer view: axis 2 comes after end_axis 1");
  EXPECT_ERROR(set_up(Reshape("shape { dim: 5 }")),
               "Layer view: output count must match input count.*5 .5..*2 3 4 .24.");
  EXPECT_ERROR(set_up(Reshape("shape { dim: -1 dim: -1 }")), "Layer view: .*multiple -1");
  EXPECT_ERROR(set_up(Reshape("shape { dim: -1 dim: 5 }")), "Layer view: .*must be divisible");
  EXPECT_ERROR(set_up(Reshape("shape { dim: -2 }")), "Layer view: a dimension cannot be -2");
  EXPECT_ERROR(set_up(Reshape("shape { dim: 1 dim: 0 } axis: 2")), "Layer view: .*contains a 0");
  EXPECT_ERROR(set_up(Reshape("axis: 4")), "Layer view: axis 4 out of range");
  EXPECT_ERROR(set_up(Reshape("axis: 2 num_axes: 2")), "Layer view: axis . num_axes exceeds");
  EXPECT_ERROR(set_up(Reshape("num_axes: -2")), "Layer view: num_axes must be");
  LayerCase in_place(Flatten(""), {{2, 3}}, 0);
  in_place.top = {in_place.bottom[0]};
  EXPECT_ERROR(in_place.SetUp(), "Layer view: Flatten does not allow in-place");
}

}  // namespace
}  // namespace caffe
