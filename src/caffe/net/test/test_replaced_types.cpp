// A program's own layers of types that the library has and Caffe lacks.
#include <algorithm>

#include "caffe/layer_factory.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/warnings.hpp"
#include "training.hpp"

namespace caffe {
namespace {

/// Doubles the bottom. Its backward reads values that the library's layer of this type does not.
template <typename Dtype>
class TwiceLayer : public Layer<Dtype> {
 public:
  explicit TwiceLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  const char* type() const override { return "ShuffleChannel"; }

 protected:
  void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) override {
    caffe_cpu_scale(bottom[0]->count(), Dtype(2), bottom[0]->cpu_data(),
                    top[0]->mutable_cpu_data());
  }
  void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                    const vector<Blob<Dtype>*>& bottom) override {
    EXPECT_EQ(top[0]->cpu_data()[0], 2 * bottom[0]->cpu_data()[0]);
    if (!propagate_down[0]) return;
    caffe_cpu_scale(bottom[0]->count(), Dtype(2), top[0]->cpu_diff(),
                    bottom[0]->mutable_cpu_diff());
  }
};

template <typename Dtype>
shared_ptr<Layer<Dtype>> MakeTwice(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype>>(new TwiceLayer<Dtype>(param));
}
REGISTER_LAYER_CREATOR(ShuffleChannel, MakeTwice);

/// A net with `layer` of bottom "ip" and top "y".
string NetWith(const string& layer) {
  return R"(
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 4 dim: 6 } shape { dim: 4 }
                               data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "own" bottom: "ip" top: "y" )" +
         layer + R"( }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" })";
}

TEST(ReplacedType, IsTheProgramsOwnUnderEveryStrategy) {
  LayerRegistry<float>::AddCreator("ShuffleChannel", nullptr, LayerOrigin::kFork);
  const Warnings warnings;
  OpenSolver twice(SolverFor(ParseNet(NetWith("type: 'Power' power_param { scale: 2 }"))));
  const vector<float> expected = TrainUnplanned(&twice, 2);
  for (const string strategy : {"", "keep", "hybrid", "sqrt", "vdnn_all"}) {
    OpenSolver solver(SolverFor(
        ParseNet(NetWith("type: 'ShuffleChannel' shuffle_channel_param { group: 2 }")), strategy));
    solver.Step(2);
    EXPECT_TRUE(SameBits(TrainedState(&solver), expected)) << strategy;
  }
  EXPECT_EQ(warnings.Count("Layers of type ShuffleChannel are the program's"), 1);
}

TEST(ReplacedType, IsListedOnce) {
  const vector<string> types = LayerRegistry<float>::LayerTypeList();
  EXPECT_EQ(std::count(types.begin(), types.end(), "ShuffleChannel"), 1);
}

TEST(ReplacedType, IsReplacedOnce) {
  EXPECT_ERROR(LayerRegistry<float>::AddCreator("ShuffleChannel", MakeTwice<float>),
               "Layer type ShuffleChannel already registered");
  EXPECT_ERROR(LayerRegistry<float>::AddCreator("ReLU", MakeTwice<float>),
               "Layer type ReLU already registered");
}

TEST(ReplacedType, StaysTheProgramsOwnWhenTheLibraryIsLoadedLater) {
  LayerParameter param;
  param.set_type("ShuffleChannel");
  LayerRegistry<float>::AddCreator("ShuffleChannel", nullptr, LayerOrigin::kFork);
  const auto layer = LayerRegistry<float>::CreateLayer(param);
  Blob<float> x(vector<int>{1}), y;
  x.mutable_cpu_data()[0] = 3;
  layer->SetUp({&x}, {&y});
  layer->Forward({&x}, {&y});
  EXPECT_EQ(y.cpu_data()[0], 6);
}

}  // namespace
}  // namespace caffe
