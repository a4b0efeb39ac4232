#include "caffe/layer.hpp"

#include <gtest/gtest.h>

#include "caffe/test/body_memory.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

/// y = x * x. Backward needs x, from the bottom or from a saved copy.
class SquareLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "Square"; }
  int ExactNumBottomBlobs() const override { return 1; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  MemoryTraits Traits(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>&,
                      const vector<bool>&) const override {
    MemoryTraits traits;
    traits.declared = true;
    traits.saved.push_back({"x", int64_t{bottom[0]->count()} * 4});
    traits.forward = {"only", {BottomData(0)}, {TopData(0)}, {{TopData(0), BottomData(0)}}, 0, 0};
    traits.backward.push_back({"x", {BottomData(0), TopDiff(0)}, {BottomDiff(0)}, {}, 0, 0});
    traits.backward.push_back({"saved", {Saved(0), TopDiff(0)}, {BottomDiff(0)}, {}, 128, 0});
    return traits;
  }
  int used_variant = -1;
  void* used_workspace = nullptr;

 protected:
  void ForwardOn(const DeviceContext& context, const vector<Blob<float>*>& bottom,
                 const vector<Blob<float>*>& top) override {
    vector<float> values = Get<float>(Data(context, *bottom[0]), bottom[0]->count());
    if (void* saved = SavedBytes<void>(0)) Put(values, saved);
    for (float& value : values) value *= value;
    Put(values, MutableData(context, top[0]));
  }
  void BackwardOn(const DeviceContext& context, const vector<Blob<float>*>& top,
                  const vector<bool>&, const vector<Blob<float>*>& bottom) override {
    used_variant = variant();
    used_workspace = WorkspaceBytes<void>();
    const size_t count = bottom[0]->count();
    const float* source = variant() == 0 ? Data(context, *bottom[0]) : SavedBytes<float>(0);
    const vector<float> x = Get<float>(source, count);
    vector<float> diff = Get<float>(Diff(context, *top[0]), count);
    for (size_t i = 0; i < count; ++i) diff[i] *= 2 * x[i];
    Put(diff, MutableDiff(context, bottom[0]));
  }
};

/// A user's layer without traits.
class PlainLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "Plain"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->mutable_cpu_data()[0] = 42;
  }
  void Backward_cpu(const vector<Blob<float>*>&, const vector<bool>&,
                    const vector<Blob<float>*>&) override {}
};

LayerParameter Named(const string& name) {
  LayerParameter param;
  param.set_name(name);
  return param;
}

TEST(Layer, UsesTheFirstVariantOutOfPlaceAndASavedOneInPlace) {
  SquareLayer layer(Named("square"));
  Blob<float> x({3}), y({3});
  for (int i = 0; i < 3; ++i) x.mutable_cpu_data()[i] = i + 1;
  layer.SetUp({&x}, {&y});
  layer.Forward({&x}, {&y});
  for (int i = 0; i < 3; ++i) y.mutable_cpu_diff()[i] = 1;
  layer.Backward({&y}, {true}, {&x});
  EXPECT_EQ(layer.used_variant, 0);
  EXPECT_EQ(layer.used_workspace, nullptr);
  EXPECT_EQ(x.cpu_diff()[2], 6);

  layer.Forward({&x}, {&x});
  EXPECT_EQ(x.cpu_data()[2], 9);
  x.mutable_cpu_diff()[2] = 1;
  layer.Backward({&x}, {true}, {&x});
  EXPECT_EQ(layer.used_variant, 1);
  EXPECT_NE(layer.used_workspace, nullptr);
  EXPECT_EQ(x.cpu_diff()[2], 6);
}

TEST(Layer, UsesTheBuffersOfAPlan) {
  SquareLayer layer(Named("square"));
  Blob<float> x({1}), y({1});
  x.mutable_cpu_data()[0] = 5;
  const BodyMemory saved(sizeof(float));
  LayerRun run;
  run.variant = 1;
  run.saved = {saved.address()};
  layer.SetUp({&x}, {&y});
  layer.EnterPlan(run);
  layer.Forward({&x}, {&y});
  layer.LeavePlan();
  EXPECT_EQ(Get<float>(saved.address(), 1), vector<float>{5});
}

TEST(Layer, RunsCaffesEntryPointsOfALayerWithoutTraits) {
  PlainLayer layer(Named("plain"));
  Blob<float> x({1}), y({1});
  layer.SetUp({&x}, {&y});
  layer.Forward({&x}, {&y});
  EXPECT_EQ(y.cpu_data()[0], 42);
  EXPECT_FALSE(layer.Traits({&x}, {&y}, {true}).declared);
}

TEST(Layer, AppliesTheLossWeightsOfItsTops) {
  LayerParameter param = Named("plain");
  param.add_loss_weight(0.5f);
  PlainLayer layer(param);
  Blob<float> x({1}), y({1});
  layer.SetUp({&x}, {&y});
  EXPECT_EQ(layer.Forward({&x}, {&y}), 21);
  EXPECT_EQ(y.cpu_diff()[0], 0.5f);
}

TEST(Layer, NamesItselfWhenItsBlobsAreWrong) {
  SquareLayer layer(Named("my_square"));
  Blob<float> x({1}), y({1});
  EXPECT_ERROR(layer.SetUp({&x, &x}, {&y}), "Layer my_square: Square Layer takes 1 bottom");
}

TEST(LayerRegistry, NamesTheLayerOfAnUnknownType) {
  LayerParameter param = Named("odd");
  param.set_type("NoSuchType");
  EXPECT_ERROR(LayerRegistry<float>::CreateLayer(param),
               "Layer odd: unknown layer type: NoSuchType");
}

}  // namespace
}  // namespace caffe
