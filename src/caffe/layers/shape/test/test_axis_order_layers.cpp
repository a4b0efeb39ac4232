// Permute, ShuffleChannel and Reorg: layers that only change the order of values.
#include <numeric>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Permute(const string& order) {
  return "name: 'order' type: 'Permute' permute_param { " + order + " }";
}

string Shuffle(int group) {
  return "name: 'order' type: 'ShuffleChannel' shuffle_channel_param { group: " +
         std::to_string(group) + " }";
}

string Reorg(int stride, bool reverse = false) {
  return "name: 'order' type: 'Reorg' reorg_param { stride: " + std::to_string(stride) +
         (reverse ? " reverse: true }" : " }");
}

/// A blob of 0, 1, 2, ...
std::unique_ptr<Blob<double>> Numbers(const vector<int>& shape) {
  auto blob = std::make_unique<Blob<double>>(shape);
  std::iota(blob->mutable_cpu_data(), blob->mutable_cpu_data() + blob->count(), 0.0);
  return blob;
}

/// The top of 0, 1, 2, ...
vector<double> TopOf(const string& layer, const vector<int>& shape, const vector<int>& top_shape) {
  auto x = Numbers(shape);
  Blob<double> y;
  auto made = MakeLayer(layer);
  made->SetUp({x.get()}, {&y});
  EXPECT_EQ(y.shape(), top_shape);
  made->Forward({x.get()}, {&y});
  return DataOf(y);
}

/// Checks the gradient, and that only declared operands are touched.
void CheckGradients(const string& layer, const vector<int>& shape) {
  CheckAllVariants(layer, {shape}, 1, 1);
  auto x = Numbers(shape);
  Blob<double> y;
  CheckVariants(MakeLayer(layer).get(), {x.get()}, {&y}, {true}, false);
  auto made = MakeLayer(layer);
  made->SetUp({x.get()}, {&y});
  made->Forward({x.get()}, {&y});
  std::copy_n(y.cpu_data(), y.count(), y.mutable_cpu_diff());
  made->Backward({&y}, {true}, {x.get()});
  EXPECT_EQ(DiffOf(*x), DataOf(*x)) << layer;
}

/// Checks that the top shares the bottom's data, and the bottom the top's gradient.
void CheckShares(const string& layer, const vector<int>& shape) {
  LayerCase one(layer, {shape}, 1);
  one.SetUp();
  EXPECT_EQ(one.Traits().data_views.size(), 1u) << layer;
  EXPECT_EQ(one.Traits().diff_views.size(), 1u) << layer;
  EXPECT_TRUE(one.Traits().backward.empty()) << layer;
  EXPECT_EQ(one.top[0]->shape(), shape) << layer;
  one.layer->Forward(one.bottom, one.top);
  EXPECT_EQ(one.top[0]->cpu_data(), one.bottom[0]->cpu_data()) << layer;
  std::fill_n(one.top[0]->mutable_cpu_diff(), one.top[0]->count(), 4.0);
  one.layer->Backward(one.top, {true}, one.bottom);
  EXPECT_EQ(DiffOf(*one.bottom[0]), vector<double>(one.bottom[0]->count(), 4.0)) << layer;
}

TEST(Permute, MovesTheAxes) {
  EXPECT_EQ(TopOf(Permute("order: 1 order: 0"), {2, 3}, {3, 2}),
            (vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(TopOf(Permute("order: 0 order: 2 order: 3 order: 1"), {1, 2, 2, 2}, {1, 2, 2, 2}),
            (vector<double>{0, 4, 1, 5, 2, 6, 3, 7}));
}

TEST(Permute, UnlistedAxesFollowInAscendingOrder) {
  EXPECT_EQ(TopOf(Permute("order: 2"), {2, 1, 3, 4}, {3, 2, 1, 4}),
            TopOf(Permute("order: 2 order: 0 order: 1 order: 3"), {2, 1, 3, 4}, {3, 2, 1, 4}));
}

TEST(Permute, GivesTheGradient) {
  CheckGradients(Permute("order: 0 order: 2 order: 3 order: 1"), {2, 3, 2, 2});
  CheckGradients(Permute("order: 3 order: 1 order: 0 order: 2"), {2, 3, 1, 4});
  CheckGradients(Permute("order: 1"), {4, 3});
  CheckGradients(Permute("order: 1 order: 4"), {2, 3, 2, 1, 2});
}

TEST(Permute, OrderThatChangesNothingSharesMemory) {
  for (const char* order : {"", "order: 0", "order: 0 order: 1 order: 2"})
    CheckShares(Permute(order), {2, 3, 4});
}

TEST(Permute, TakesAnEmptyBatch) {
  EXPECT_TRUE(TopOf(Permute("order: 1"), {0, 3, 2}, {3, 0, 2}).empty());
}

TEST(PermuteErrors, BadOrdersNameTheLayer) {
  Blob<double> x(vector<int>{2, 3}), y;
  EXPECT_ERROR(MakeLayer(Permute("order: 1 order: 1"))->SetUp({&x}, {&y}),
               "Layer order: order names axis 1 twice");
  EXPECT_ERROR(MakeLayer(Permute("order: 2"))->SetUp({&x}, {&y}),
               "Layer order: order names axis 2, the bottom has shape 2 3");
  EXPECT_ERROR(MakeLayer(Permute("order: 1"))->SetUp({&x}, {&x}),
               "Layer order: Permute cannot run in place");
}

TEST(ShuffleChannel, TakesAChannelOfEachGroupInTurn) {
  EXPECT_EQ(TopOf(Shuffle(2), {2, 6}, {2, 6}),
            (vector<double>{0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11}));
  EXPECT_EQ(TopOf(Shuffle(3), {1, 6, 1, 2}, {1, 6, 1, 2}),
            (vector<double>{0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11}));
}

TEST(ShuffleChannel, GivesTheGradient) {
  CheckGradients(Shuffle(2), {2, 4, 3, 2});
  CheckGradients(Shuffle(3), {2, 6});
}

TEST(ShuffleChannel, OneGroupSharesMemory) {
  CheckShares(Shuffle(1), {2, 6, 2});
  CheckShares("name: 'order' type: 'ShuffleChannel'", {2, 6, 2});
}

TEST(ShuffleChannelErrors, BadGroupsNameTheLayer) {
  Blob<double> x(vector<int>{2, 6, 2}), flat(vector<int>{6}), y;
  EXPECT_ERROR(MakeLayer(Shuffle(4))->SetUp({&x}, {&y}),
               "Layer order: 6 channels cannot be divided into 4 groups");
  EXPECT_ERROR(MakeLayer(Shuffle(0))->SetUp({&x}, {&y}), "Layer order: .* into 0 groups");
  EXPECT_ERROR(MakeLayer(Shuffle(2))->SetUp({&flat}, {&y}), "Layer order: .* no channels");
}

TEST(Reorg, ReadsTheBottomAsALargerMapOfFewerChannels) {
  // Of 4 channels of 2 x 2 the bottom is one map of 4 x 4: channel k of the top in darknet's order
  // has the values at (k div 2, k mod 2) of each 2 x 2 neighbours.
  EXPECT_EQ(TopOf(Reorg(2), {1, 4, 2, 2}, {1, 16, 1, 1}),
            (vector<double>{0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15}));
}

TEST(Reorg, ReverseMakesLargerMaps) {
  EXPECT_EQ(TopOf(Reorg(2, true), {1, 4, 1, 2}, {1, 1, 2, 4}),
            (vector<double>{0, 2, 1, 3, 4, 6, 5, 7}));
}

TEST(Reorg, GivesTheGradient) {
  CheckGradients(Reorg(2), {2, 8, 2, 4});
  CheckGradients(Reorg(2, true), {2, 8, 2, 3});
  CheckGradients(Reorg(3), {1, 9, 3, 3});
}

TEST(Reorg, StrideOfOneSharesMemory) {
  CheckShares(Reorg(1), {2, 3, 2, 2});
  CheckShares(Reorg(1, true), {2, 3, 2, 2});
}

TEST(ReorgErrors, BadShapesNameTheLayer) {
  Blob<double> few(vector<int>{1, 6, 2, 2}), odd(vector<int>{1, 4, 3, 2}), flat(vector<int>{4}), y;
  EXPECT_ERROR(MakeLayer(Reorg(2))->SetUp({&few}, {&y}), "Layer order: 6 channels cannot be");
  EXPECT_ERROR(MakeLayer(Reorg(2, true))->SetUp({&few}, {&y}), "Layer order: 6 channels cannot be");
  EXPECT_ERROR(MakeLayer(Reorg(2))->SetUp({&odd}, {&y}), "Layer order: height and width");
  EXPECT_ERROR(MakeLayer(Reorg(2))->SetUp({&flat}, {&y}), "Layer order: .*four axes");
  EXPECT_ERROR(MakeLayer(Reorg(0))->SetUp({&odd}, {&y}), "Layer order: reorg_param.stride");
}

}  // namespace
}  // namespace caffe
