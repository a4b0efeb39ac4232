// Classes that a program derives from built-in layers. They may access operands that their bases do
// not, and call their bases.
#include "caffe/caffe.hpp"
#include "caffe/layers/batch_norm_layer.hpp"
#include "caffe/layers/bias_layer.hpp"
#include "caffe/layers/concat_layer.hpp"
#include "caffe/layers/dropout_layer.hpp"
#include "caffe/layers/eltwise_layer.hpp"
#include "caffe/layers/elu_layer.hpp"
#include "caffe/layers/embed_layer.hpp"
#include "caffe/layers/flatten_layer.hpp"
#include "caffe/layers/inner_product_layer.hpp"
#include "caffe/layers/lrn_layer.hpp"
#include "caffe/layers/lstm_layer.hpp"
#include "caffe/layers/mvn_layer.hpp"
#include "caffe/layers/pooling_layer.hpp"
#include "caffe/layers/power_layer.hpp"
#include "caffe/layers/prelu_layer.hpp"
#include "caffe/layers/relu_layer.hpp"
#include "caffe/layers/reshape_layer.hpp"
#include "caffe/layers/rnn_layer.hpp"
#include "caffe/layers/scale_layer.hpp"
#include "caffe/layers/slice_layer.hpp"
#include "caffe/layers/tanh_layer.hpp"
#include "caffe/layers/tile_layer.hpp"
#include "training.hpp"

namespace caffe {
namespace {

int touched = 0;

/// Reads all its operands in both passes, and then calls the base.
template <typename Base>
class Touching : public Base {
 public:
  using Base::Base;

 protected:
  using Blobs = vector<Blob<float>*>;
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    Base::Forward_cpu(bottom, top);
    Touch(bottom, top);
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    Touch(bottom, top);
    Base::Backward_cpu(top, propagate_down, bottom);
  }

 private:
  void Touch(const Blobs& bottom, const Blobs& top) const {
    for (const Blobs& blobs : {bottom, top}) {
      for (const Blob<float>* blob : blobs) {
        blob->cpu_data();
        blob->cpu_diff();
      }
    }
    for (const auto& blob : this->blobs_) {
      blob->cpu_data();
      blob->cpu_diff();
    }
    ++touched;
  }
};

template <typename Base>
shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new Touching<Base>(param));
}
#define REGISTER_TOUCHING(type) \
  LayerRegisterer<float> register_##type("Touching" #type, Make<type##Layer<float>>)
REGISTER_TOUCHING(BatchNorm);
REGISTER_TOUCHING(Bias);
REGISTER_TOUCHING(Concat);
REGISTER_TOUCHING(Dropout);
REGISTER_TOUCHING(ELU);
REGISTER_TOUCHING(Eltwise);
REGISTER_TOUCHING(Embed);
REGISTER_TOUCHING(Flatten);
REGISTER_TOUCHING(InnerProduct);
REGISTER_TOUCHING(LRN);
REGISTER_TOUCHING(LSTM);
REGISTER_TOUCHING(MVN);
REGISTER_TOUCHING(PReLU);
REGISTER_TOUCHING(Pooling);
REGISTER_TOUCHING(Power);
REGISTER_TOUCHING(RNN);
REGISTER_TOUCHING(ReLU);
REGISTER_TOUCHING(Reshape);
REGISTER_TOUCHING(Scale);
REGISTER_TOUCHING(Slice);
REGISTER_TOUCHING(TanH);
REGISTER_TOUCHING(Tile);

/// Layers from "x" (4 x 8 x 6 x 6) to the loss; those with a "*" before their type are `own`.
const char kImages[] = R"(
  layer { name: "data" type: "DummyData" top: "x" top: "label"
          dummy_data_param { shape { dim: 4 dim: 8 dim: 6 dim: 6 } shape { dim: 4 }
                             data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
  layer { name: "conv" type: "Convolution" bottom: "x" top: "conv"
          convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
  layer { name: "bn" type: "*BatchNorm" bottom: "conv" top: "bn" }
  layer { name: "scale" type: "*Scale" bottom: "bn" top: "scale" }
  layer { name: "bias" type: "*Bias" bottom: "scale" top: "bias" }
  layer { name: "relu" type: "*ReLU" bottom: "bias" top: "relu" relu_param { negative_slope: 0.1 } }
  layer { name: "prelu" type: "*PReLU" bottom: "relu" top: "prelu" }
  layer { name: "elu" type: "*ELU" bottom: "prelu" top: "elu" }
  layer { name: "pool" type: "*Pooling" bottom: "elu" top: "pool"
          pooling_param { kernel_size: 2 stride: 2 } }
  layer { name: "lrn" type: "*LRN" bottom: "pool" top: "lrn" }
  layer { name: "power" type: "*Power" bottom: "lrn" top: "power" power_param { scale: 2 } }
  layer { name: "drop" type: "*Dropout" bottom: "power" top: "drop" }
  layer { name: "slice" type: "*Slice" bottom: "drop" top: "left" top: "right" }
  layer { name: "sum" type: "*Eltwise" bottom: "left" bottom: "right" top: "sum" }
  layer { name: "concat" type: "*Concat" bottom: "left" bottom: "sum" top: "concat" }
  layer { name: "mvn" type: "*MVN" bottom: "concat" top: "mvn" }
  layer { name: "tile" type: "*Tile" bottom: "mvn" top: "tile" tile_param { tiles: 2 } }
  layer { name: "flatten" type: "*Flatten" bottom: "tile" top: "flatten" }
  layer { name: "reshape" type: "*Reshape" bottom: "flatten" top: "reshape"
          reshape_param { shape { dim: 0 dim: 4 dim: -1 } } }
  layer { name: "tanh" type: "*TanH" bottom: "reshape" top: "tanh" }
  layer { name: "ip" type: "*InnerProduct" bottom: "tanh" top: "ip"
          inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";

const char kSequences[] = R"(
  layer { name: "data" type: "DummyData" top: "words" top: "cont" top: "label"
          dummy_data_param { shape { dim: 3 dim: 2 } shape { dim: 3 dim: 2 } shape { dim: 3 dim: 2 }
                             data_filler { type: "constant" value: 3 }
                             data_filler { type: "constant" value: 1 }
                             data_filler { type: "constant" value: 2 } } }
  layer { name: "embed" type: "*Embed" bottom: "words" top: "embed"
          embed_param { input_dim: 5 num_output: 6 weight_filler { type: "xavier" } } }
  layer { name: "lstm" type: "*LSTM" bottom: "embed" bottom: "cont" top: "lstm"
          recurrent_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "rnn" type: "*RNN" bottom: "lstm" bottom: "cont" top: "rnn"
          recurrent_param { num_output: 4 weight_filler { type: "xavier" } } }
  layer { name: "ip" type: "*InnerProduct" bottom: "rnn" top: "ip"
          inner_product_param { num_output: 3 axis: 2 weight_filler { type: "xavier" } } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss"
          softmax_param { axis: 2 } })";

NetParameter TheNet(string text, const string& prefix) {
  for (size_t at = 0; (at = text.find('*', at)) != string::npos;) text.replace(at, 1, prefix);
  return ParseNet(text);
}

TEST(DerivedLayers, TrainLikeTheirBasesUnderEveryStrategy) {
  for (const char* net : {kImages, kSequences}) {
    OpenSolver plain(SolverFor(TheNet(net, "")));
    const vector<float> expected = TrainUnplanned(&plain, 3);
    EXPECT_TRUE(AllFinite(expected));
    OpenSolver unplanned(SolverFor(TheNet(net, "Touching")));
    EXPECT_TRUE(SameBits(TrainUnplanned(&unplanned, 3), expected));
    for (const string strategy : {"", "keep", "hybrid", "sqrt", "vdnn_all", "superneurons"}) {
      OpenSolver derived(SolverFor(TheNet(net, "Touching"), strategy));
      touched = 0;
      derived.Step(3);
      EXPECT_TRUE(SameBits(TrainedState(&derived), expected)) << strategy;
      EXPECT_GT(touched, 0);
    }
  }
}

/// In place as well, although the base may rely on values that in-place work overwrites.
TEST(DerivedLayers, MayRunInPlace) {
  const string net = R"(
    layer { name: "data" type: "DummyData" top: "x" top: "label"
            dummy_data_param { shape { dim: 4 dim: 8 } shape { dim: 4 }
                               data_filler { type: "gaussian" std: 1 } data_filler { value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "relu" type: "*ReLU" bottom: "ip" top: "ip" }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })";
  OpenSolver plain(SolverFor(TheNet(net, "")));
  const vector<float> expected = TrainUnplanned(&plain, 3);
  for (const string strategy : {"", "keep", "hybrid", "sqrt"}) {
    OpenSolver derived(SolverFor(TheNet(net, "Touching"), strategy));
    derived.Step(3);
    EXPECT_TRUE(SameBits(TrainedState(&derived), expected)) << strategy;
  }
}

}  // namespace
}  // namespace caffe
