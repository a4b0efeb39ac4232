#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Layer(const string& type, const string& param = "") {
  return "name: 'copy' type: '" + type + "' " + param;
}

void Count(Blob<double>* blob, int from) {
  for (int i = 0; i < blob->count(); ++i) blob->mutable_cpu_data()[i] = from + i;
}

TEST(Concat, JoinsAlongItsAxis) {
  LayerCase concat(Layer("Concat"), {{2, 1, 2}, {2, 2, 2}}, 1);
  concat.SetUp();
  Count(concat.bottom[0], 0);
  Count(concat.bottom[1], 10);
  EXPECT_EQ(concat.top[0]->shape(), (vector<int>{2, 3, 2}));
  concat.DiffsOfVariant(0);
  EXPECT_EQ(concat.outputs, (vector<double>{0, 1, 10, 11, 12, 13, 2, 3, 14, 15, 16, 17}));
}

TEST(Concat, GivesTheGradient) {
  for (const char* axis : {"", "axis: 0", "axis: -1", "concat_dim: 1"}) {
    const string param = string("concat_param { ") + axis + " }";
    CheckAllVariants(Layer("Concat", param), {{2, 2, 2}, {2, 2, 2}, {2, 2, 2}}, 1, 1);
  }
  CheckAllVariants(Layer("Concat"), {{2, 1, 3}, {2, 3, 3}}, 1, 1, 1);
}

TEST(Concat, WithOneBottomIsAView) {
  LayerCase concat(Layer("Concat"), {{2, 3}}, 1);
  concat.SetUp();
  EXPECT_EQ(concat.Traits().data_views.size(), 1u);
  EXPECT_EQ(concat.Traits().diff_views.size(), 1u);
  EXPECT_TRUE(concat.Traits().backward.empty());
  concat.layer->Forward(concat.bottom, concat.top);
  EXPECT_EQ(concat.top[0]->cpu_data(), concat.bottom[0]->cpu_data());
  Count(concat.top[0], 5);
  concat.top[0]->mutable_cpu_diff()[5] = 4;
  concat.layer->Backward(concat.top, {true}, concat.bottom);
  EXPECT_EQ(concat.bottom[0]->cpu_diff()[5], 4);
}

TEST(ConcatErrors, NamesTheLayerOfBadShapes) {
  LayerCase shapes(Layer("Concat"), {{2, 3, 4}, {2, 3, 5}}, 1);
  EXPECT_ERROR(shapes.SetUp(), "Layer copy.*same shape except at axis 1");
  LayerCase axes(Layer("Concat"), {{2, 3, 4}, {2, 3}}, 1);
  EXPECT_ERROR(axes.SetUp(), "Layer copy.*same number of axes");
  LayerCase both(Layer("Concat", "concat_param { axis: 1 concat_dim: 1 }"), {{2, 3}}, 1);
  EXPECT_ERROR(both.SetUp(), "Layer copy.*not both");
  LayerCase range(Layer("Concat", "concat_param { concat_dim: 2 }"), {{2, 3}}, 1);
  EXPECT_ERROR(range.SetUp(), "Layer copy.*out of range");
}

TEST(Slice, CutsAtItsPoints) {
  LayerCase slice(Layer("Slice", "slice_param { slice_point: 1 slice_point: 3 }"), {{2, 4}}, 3);
  slice.SetUp();
  Count(slice.bottom[0], 0);
  slice.layer->Forward(slice.bottom, slice.top);
  EXPECT_EQ(slice.top[1]->shape(), (vector<int>{2, 2}));
  const double* y = slice.top[1]->cpu_data();
  EXPECT_EQ(vector<double>(y, y + 4), (vector<double>{1, 2, 5, 6}));
}

TEST(Slice, GivesTheGradient) {
  for (const char* axis : {"", "axis: 0", "axis: -1", "slice_dim: 1"}) {
    const string param = string("slice_param { ") + axis + " }";
    CheckAllVariants(Layer("Slice", param), {{2, 4, 2}}, 2, 1);
  }
}

TEST(Slice, WithOneTopIsAView) {
  LayerCase slice(Layer("Slice"), {{2, 3}}, 1);
  slice.SetUp();
  EXPECT_EQ(slice.Traits().data_views.size(), 1u);
  EXPECT_EQ(slice.top[0]->data(), slice.bottom[0]->data());  // from Reshape on
  EXPECT_EQ(slice.top[0]->diff(), slice.bottom[0]->diff());
  slice.layer->Forward(slice.bottom, slice.top);
  EXPECT_EQ(slice.top[0]->cpu_data(), slice.bottom[0]->cpu_data());
  slice.top[0]->mutable_cpu_diff()[1] = 7;
  slice.layer->Backward(slice.top, {true}, slice.bottom);
  EXPECT_EQ(slice.bottom[0]->cpu_diff()[1], 7);
}

TEST(SliceErrors, NamesTheLayerOfBadPoints) {
  LayerCase uneven(Layer("Slice"), {{2, 3}}, 2);
  EXPECT_ERROR(uneven.SetUp(), "Layer copy.*2 equal parts");
  LayerCase order(Layer("Slice", "slice_param { slice_point: 2 slice_point: 1 }"), {{2, 3}}, 3);
  EXPECT_ERROR(order.SetUp(), "Layer copy.*must rise");
  LayerCase outside(Layer("Slice", "slice_param { slice_point: 3 }"), {{2, 3}}, 2);
  EXPECT_ERROR(outside.SetUp(), "Layer copy.*inside axis 1");
  LayerCase number(Layer("Slice", "slice_param { slice_point: 1 }"), {{2, 3}}, 3);
  EXPECT_ERROR(number.SetUp(), "Layer copy.*3 tops");
}

TEST(Split, SharesDataAndAddsDiffsInOrder) {
  LayerCase split(Layer("Split"), {{2, 3}}, 3);
  split.SetUp();
  split.layer->Forward(split.bottom, split.top);
  const double diffs[] = {1e16, -1e16, 1};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(split.top[i]->cpu_data(), split.bottom[0]->cpu_data());
    split.top[i]->mutable_cpu_diff()[0] = diffs[i];
  }
  split.layer->Backward(split.top, {true}, split.bottom);
  EXPECT_EQ(split.bottom[0]->cpu_diff()[0], 1);  // 0 if the last two were added first
}

TEST(Split, GivesTheGradient) {
  for (int tops = 1; tops <= 3; ++tops) CheckAllVariants(Layer("Split"), {{2, 3}}, tops, 1);
}

TEST(Tile, RepeatsItsBottomAlongTheAxis) {
  LayerCase tile(Layer("Tile", "tile_param { tiles: 2 }"), {{2, 2, 2}}, 1);
  tile.SetUp();
  Count(tile.bottom[0], 0);
  EXPECT_EQ(tile.top[0]->shape(), (vector<int>{2, 4, 2}));
  tile.DiffsOfVariant(0);
  EXPECT_EQ(tile.outputs, (vector<double>{0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7}));
}

TEST(Tile, GivesTheGradient) {
  for (const char* param : {"tiles: 1", "tiles: 3", "axis: 0 tiles: 2", "axis: -1 tiles: 3"})
    CheckAllVariants(Layer("Tile", string("tile_param { ") + param + " }"), {{2, 3, 2}}, 1, 1);
}

TEST(TileErrors, NamesTheLayerOfBadSizes) {
  LayerCase none(Layer("Tile"), {{2, 3}}, 1);
  EXPECT_ERROR(none.SetUp(), "Layer copy: Number of tiles must be positive");
  LayerCase huge(Layer("Tile", "tile_param { tiles: 2000000000 }"), {{2, 3}}, 1);
  EXPECT_ERROR(huge.SetUp(), "Layer copy: axis 1 is too large");
}

TEST(SplitErrors, DoesNotRunInPlace) {
  LayerCase split(Layer("Split"), {{2, 3}}, 0);
  split.top = {split.bottom[0]};
  EXPECT_ERROR(split.SetUp(), "Layer copy.*in place");
}

}  // namespace
}  // namespace caffe
