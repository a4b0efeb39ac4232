#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Crop(const string& param) {
  return "name: 'crop' type: 'Crop' crop_param { " + param + " }";
}

/// The top's shape and values for a bottom of 0, 1, 2, ...
struct Cropped {
  Cropped(const string& param, const vector<int>& from, const vector<int>& to)
      : crop(Crop(param), {from, to}, 1) {
    crop.SetUp();
    for (int i = 0; i < crop.bottom[0]->count(); ++i) crop.bottom[0]->mutable_cpu_data()[i] = i;
    crop.layer->Forward(crop.bottom, crop.top);
  }
  vector<int> shape() const { return crop.top[0]->shape(); }
  vector<double> values() const { return DataOf(*crop.top[0]); }

  LayerCase crop;
};

TEST(Crop, CropsTheAxesFromItsAxisOn) {
  const Cropped spatial("", {1, 2, 3, 4}, {9, 9, 2, 2});
  EXPECT_EQ(spatial.shape(), (vector<int>{1, 2, 2, 2}));
  EXPECT_EQ(spatial.values(), (vector<double>{0, 1, 4, 5, 12, 13, 16, 17}));
  const Cropped last("axis: -1 offset: 1", {2, 3}, {1, 2});
  EXPECT_EQ(last.values(), (vector<double>{1, 2, 4, 5}));
  const Cropped all("axis: 0", {2, 3}, {1, 2});
  EXPECT_EQ(all.values(), (vector<double>{0, 1}));
}

TEST(Crop, BeginsAtItsOffsets) {
  const vector<int> from = {1, 2, 3, 4}, to = {1, 1, 2, 2};
  EXPECT_EQ(Cropped("offset: 1", from, to).values(), (vector<double>{5, 6, 9, 10, 17, 18, 21, 22}));
  EXPECT_EQ(Cropped("offset: 1 offset: 2", from, to).values(),
            (vector<double>{6, 7, 10, 11, 18, 19, 22, 23}));
  EXPECT_EQ(Cropped("axis: 1 offset: 1 offset: 0 offset: 2", from, to).values(),
            (vector<double>{14, 15, 18, 19}));
}

TEST(Crop, WorksOnAnyNumberOfAxes) {
  EXPECT_EQ(Cropped("axis: 0 offset: 2", {5}, {2}).values(), (vector<double>{2, 3}));
  EXPECT_EQ(Cropped("axis: 1 offset: 1", {1, 2, 2, 2, 2}, {1, 1, 1, 1, 1}).values(),
            (vector<double>{15}));
}

TEST(Crop, GivesTheGradientOfItsFirstBottom) {
  CheckAllVariants(Crop("offset: 1 offset: 0"), {{2, 2, 3, 4}, {1, 1, 2, 2}}, 1, 1, 0);
  CheckAllVariants(Crop("axis: 1 offset: 1"), {{2, 3, 3}, {2, 2, 2}}, 1, 1, 0);
}

TEST(Crop, TouchesOnlyDeclaredOperands) {
  auto x = RandomBlob({2, 2, 3, 4}, 1), like = RandomBlob({1, 1, 2, 3}, 2);
  Blob<double> y;
  CheckVariants(MakeLayer(Crop("offset: 1")).get(), {x.get(), like.get()}, {&y}, {true, false},
                false);
}

TEST(CropErrors, NamesTheLayerOfBadSizes) {
  const auto set_up = [](const string& param, const vector<int>& to) {
    LayerCase(Crop(param), {{1, 1, 3, 4}, to}, 1).SetUp();
  };
  EXPECT_ERROR(set_up("", {1, 1, 4, 4}), "Layer crop: the crop for dimension 2 is out-of-bounds");
  EXPECT_ERROR(set_up("offset: 4294967295", {1, 1, 2, 2}), "Layer crop: .*offset 4294967295");
  EXPECT_ERROR(set_up("axis: 1 offset: 0 offset: 0", {1, 1, 2, 2}),
               "Layer crop: number of offset values");
  EXPECT_ERROR(set_up("", {2, 2}), "Layer crop: the bottoms.*same number of axes");
}

}  // namespace
}  // namespace caffe
