// Layers with unusual memory use give the same with and without a plan: Parameter, whose top is its
// parameter; Slice into one top, which shares its bottom's memory; Python layers, which have no
// traits; convolutions of users, written with the functions for one image.
#include <algorithm>

#include "caffe/layers/conv_layer.hpp"
#include "caffe/layers/deconv_layer.hpp"
#include "caffe/layers/python_layer.hpp"
#include "caffe/net/test/training.hpp"

namespace caffe {
namespace {

const char* const kStrategies[] = {"keep", "liveness", "hybrid", "sqrt", "superneurons", "auto"};

std::unique_ptr<Net<float>> Seeded(const string& text, const string& strategy) {
  Caffe::set_random_seed(1);
  auto net = std::make_unique<Net<float>>(ParseNet(text));
  PlacementOptions options;
  options.strategy = strategy;
  if (!strategy.empty()) {
    EXPECT_TRUE(net->Place(options).ok());
  }
  return net;
}

/// The loss and all gradients of a pass.
vector<float> Pass(Net<float>* net, int number) {
  Blob<float>* x = net->input_blobs()[0];
  for (int i = 0; i < x->count(); ++i)
    x->mutable_cpu_data()[i] = static_cast<float>((i * 5 + number) % 13 - 6) / 4;
  net->ClearParamDiffs();
  vector<float> values = {net->ForwardBackward()};
  for (const Blob<float>* param : net->learnable_params())
    values.insert(values.end(), param->cpu_diff(), param->cpu_diff() + param->count());
  return values;
}

void ExpectSameUnderEveryPlan(const string& text) {
  for (const char* strategy : kStrategies) {
    const auto plain = Seeded(text, ""), planned = Seeded(text, strategy);
    for (int pass = 0; pass < 3; ++pass)
      EXPECT_TRUE(SameBits(Pass(plain.get(), pass), Pass(planned.get(), pass))) << strategy;
  }
}

// Two layers read the parameter, one of them in place on a copy made by Split.
const char kParameterNet[] = R"(
  layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 } } }
  layer { name: "w" type: "Parameter" top: "w" parameter_param { shape { dim: 4 dim: 3 } } }
  layer { name: "product" type: "Eltwise" bottom: "x" bottom: "w" top: "product"
          eltwise_param { operation: PROD } }
  layer { name: "wave" type: "TanH" bottom: "w" top: "w2" }
  layer { name: "wave2" type: "TanH" bottom: "w2" top: "w2" }
  layer { name: "sum" type: "Eltwise" bottom: "product" bottom: "w2" top: "sum" }
  layer { name: "loss" type: "Power" bottom: "sum" top: "loss" loss_weight: 1
          power_param { power: 2 shift: -1 } }
)";

TEST(ParameterLayer, GivesTheSameUnderEveryPlan) { ExpectSameUnderEveryPlan(kParameterNet); }

TEST(ParameterLayer, TrainsAndTakesNoMemoryForItsTop) {
  vector<float> expected;
  for (const string strategy : {"keep", "hybrid", "auto"}) {
    OpenSolver solver(SolverFor(ParseNet(kParameterNet), strategy));
    Blob<float>* x = solver.net()->input_blobs()[0];
    for (int i = 0; i < x->count(); ++i) x->mutable_cpu_data()[i] = static_cast<float>(i % 5) / 3;
    solver.Step(3);
    ASSERT_NE(solver.net()->planned(), nullptr);
    for (const layrub::Tensor& tensor : solver.net()->planned()->graph().tensors)
      EXPECT_NE(tensor.name, "w");
    const Blob<float>& shown = *solver.net()->blob_by_name("w");
    const Blob<float>& param = *solver.net()->layer_by_name("w")->blobs()[0];
    EXPECT_NE(param.cpu_data()[0], 0);
    EXPECT_TRUE(std::equal(param.cpu_data(), param.cpu_data() + 12, shown.cpu_data()));
    const vector<float> state = TrainedState(&solver);
    if (expected.empty()) expected = state;
    EXPECT_TRUE(SameBits(state, expected)) << strategy;
  }
}

TEST(ParameterLayer, ShowsAParameterThatAnotherNetHasPlanned) {
  const auto owner = Seeded(kParameterNet, "hybrid"), other = Seeded(kParameterNet, "");
  other->ShareTrainedLayersWith(owner.get());
  PlacementOptions options;
  options.strategy = "hybrid";
  ASSERT_TRUE(other->Place(options).ok());
  for (int pass = 0; pass < 2; ++pass) {
    owner->learnable_params()[0]->mutable_cpu_data()[1] = static_cast<float>(pass + 2);
    EXPECT_TRUE(SameBits(Pass(owner.get(), pass), Pass(other.get(), pass)));
  }
}

TEST(SliceIntoOneTop, GivesTheSameUnderEveryPlan) {
  ExpectSameUnderEveryPlan(R"(
    layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 } } }
    layer { name: "view" type: "Slice" bottom: "x" top: "x2" }
    layer { name: "ip" type: "InnerProduct" bottom: "x2" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "view2" type: "Slice" bottom: "ip" top: "ip2" }
    layer { name: "tanh" type: "TanH" bottom: "ip2" top: "ip2" }
    layer { name: "loss" type: "Power" bottom: "ip2" top: "loss" loss_weight: 1
            power_param { power: 2 } }
  )");
}

/// y = x^2, counting its forwards.
class SquareBody : public PythonBody<float> {
 public:
  using Blobs = vector<Blob<float>*>;
  void SetUp(const Blobs&, const Blobs&) override {}
  void Reshape(const Blobs& bottom, const Blobs& top) override { top[0]->ReshapeLike(*bottom[0]); }
  void Forward(const Blobs& bottom, const Blobs& top) override {
    ++forwards;
    const float* x = bottom[0]->cpu_data();
    std::transform(x, x + top[0]->count(), top[0]->mutable_cpu_data(),
                   [](float value) { return value * value; });
  }
  void Backward(const Blobs& top, const vector<bool>& propagate_down,
                const Blobs& bottom) override {
    if (!propagate_down[0]) return;
    for (int i = 0; i < top[0]->count(); ++i)
      bottom[0]->mutable_cpu_diff()[i] = 2 * bottom[0]->cpu_data()[i] * top[0]->cpu_diff()[i];
  }
  static int forwards;
};
int SquareBody::forwards = 0;

TEST(PythonLayer, GivesTheSameUnderEveryPlanAndRunsOnce) {
  PythonLayer<float>::SetBodyMaker([](Layer<float>*) { return std::make_unique<SquareBody>(); });
  SquareBody::forwards = 0;
  ExpectSameUnderEveryPlan(R"(
    layer { name: "in" type: "Input" top: "x" input_param { shape { dim: 4 dim: 3 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "tanh" type: "TanH" bottom: "ip" top: "tanh" }
    layer { name: "py" type: "Python" bottom: "tanh" top: "py"
            python_param { module: "square" layer: "Square" } }
    layer { name: "ip2" type: "InnerProduct" bottom: "py" top: "ip2"
            inner_product_param { num_output: 2 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "TanH" bottom: "ip2" top: "loss" loss_weight: 1 }
  )");
  PythonLayer<float>::SetBodyMaker(nullptr);
  EXPECT_EQ(SquareBody::forwards, 2 * 3 * static_cast<int>(std::size(kStrategies)));
}

/// A convolution or deconvolution as users of Caffe write it: image after image, with the gradients
/// of data and weights in one loop.
template <typename Base>
class ImageLoop : public Base {
 public:
  using Base::Base;

 protected:
  using Blobs = vector<Blob<float>*>;
  void Forward_cpu(const Blobs& bottom, const Blobs& top) override {
    const float* weights = this->blobs_[0]->cpu_data();
    for (size_t i = 0; i < bottom.size(); ++i) {
      for (int n = 0; n < this->num_; ++n) {
        const float* x = bottom[i]->cpu_data() + n * this->bottom_dim_;
        float* y = top[i]->mutable_cpu_data() + n * this->top_dim_;
        if (this->reverse_dimensions()) {
          this->backward_cpu_gemm(x, weights, y);
        } else {
          this->forward_cpu_gemm(x, weights, y);
        }
        if (this->bias_term_) this->forward_cpu_bias(y, this->blobs_[1]->cpu_data());
      }
    }
  }
  void Backward_cpu(const Blobs& top, const vector<bool>& propagate_down,
                    const Blobs& bottom) override {
    const float* weights = this->blobs_[0]->cpu_data();
    for (size_t i = 0; i < top.size(); ++i) {
      for (int n = 0; n < this->num_; ++n) {
        const float* dy = top[i]->cpu_diff() + n * this->top_dim_;
        if (this->bias_term_) this->backward_cpu_bias(this->blobs_[1]->mutable_cpu_diff(), dy);
        const float* x = bottom[i]->cpu_data() + n * this->bottom_dim_;
        float* dweights = this->blobs_[0]->mutable_cpu_diff();
        const bool reverse = this->reverse_dimensions();
        this->weight_cpu_gemm(reverse ? dy : x, reverse ? x : dy, dweights);
        if (!propagate_down[i]) continue;
        float* dx = bottom[i]->mutable_cpu_diff() + n * this->bottom_dim_;
        if (reverse) {
          this->forward_cpu_gemm(dy, weights, dx, true);
        } else {
          this->backward_cpu_gemm(dy, weights, dx);
        }
      }
    }
  }
};
LayerRegisterer<float> register_conv("TestLoopConvolution", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ImageLoop<ConvolutionLayer<float>>(param));
});
LayerRegisterer<float> register_deconv("TestLoopDeconvolution", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new ImageLoop<DeconvolutionLayer<float>>(param));
});

string ConvolutionNet(const string& prefix) {
  const string fillers = " weight_filler { type: 'xavier' } bias_filler { value: 0.1 } ";
  return "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 3 dim: 4 dim: 6 "
         "dim: 5 } } }"
         "layer { name: 'first' type: 'Convolution' bottom: 'x' top: 'a' convolution_param { "
         "num_output: 4 kernel_size: 1" +
         fillers + "} } layer { name: 'conv' type: '" + prefix +
         "Convolution' bottom: 'a' top: 'b' convolution_param { num_output: 6 kernel_size: 3 pad: "
         "1 stride: 2 group: 2" +
         fillers +
         "} } layer { name: 'relu' type: 'ReLU' bottom: 'b' top: 'b' } layer { name: 'deconv' "
         "type: '" +
         prefix +
         "Deconvolution' bottom: 'b' top: 'c' convolution_param { num_output: 2 kernel_size: 3 "
         "stride: 2 dilation: 2 group: 2" +
         fillers + "} } layer { name: 'loss' type: 'TanH' bottom: 'c' top: 'loss' loss_weight: 1 }";
}

TEST(ConvolutionOfAUser, GivesTheSameAsItsBase) {
  const auto base = Seeded(ConvolutionNet(""), ""), user = Seeded(ConvolutionNet("TestLoop"), "");
  const vector<float> expected = Pass(base.get(), 1), values = Pass(user.get(), 1);
  ASSERT_EQ(expected.size(), values.size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-4 * std::max(1.f, std::fabs(expected[i]))) << i;
}

TEST(ConvolutionOfAUser, GivesTheSameUnderEveryPlan) {
  ExpectSameUnderEveryPlan(ConvolutionNet("TestLoop"));
}

/// A subclass that extends its base.
class Added : public ConvolutionLayer<float> {
 public:
  using ConvolutionLayer<float>::ConvolutionLayer;

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    ConvolutionLayer<float>::Forward_cpu(bottom, top);
    for (int i = 0; i < top[0]->count(); ++i) top[0]->mutable_cpu_data()[i] += 1;
  }
};
LayerRegisterer<float> register_added("TestAddedConvolution", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new Added(param));
});

TEST(ConvolutionOfAUser, MayCallItsBase) {
  string text = ConvolutionNet("");
  const size_t at = text.find("'Convolution' bottom: 'a'");
  ASSERT_NE(at, string::npos);
  ExpectSameUnderEveryPlan(text.replace(at, 13, "'TestAddedConvolution'"));
}

/// A subclass that reads other members of its base.
class Curious : public DeconvolutionLayer<float> {
 public:
  using DeconvolutionLayer<float>::DeconvolutionLayer;
  void ExpectSizes() {
    EXPECT_EQ(num_, 2);
    EXPECT_EQ(channels_, 4);
    EXPECT_EQ(num_output_, 6);
    EXPECT_EQ(group_, 2);
    EXPECT_EQ(bottom_dim_, 4 * 3 * 2);
    EXPECT_EQ(top_dim_, 6 * 7 * 5);
    EXPECT_EQ(out_spatial_dim_, 7 * 5);
    EXPECT_EQ(weight_offset_, 4 * 3 * 3 * 3 / 2);
    EXPECT_FALSE(is_1x1_);
    EXPECT_EQ(kernel_shape_.cpu_data()[1], 3);
    EXPECT_EQ(output_shape_, (vector<int>{7, 5}));
    EXPECT_EQ(vector<int>(conv_input_shape_.cpu_data(), conv_input_shape_.cpu_data() + 3),
              (vector<int>{6, 7, 5}));
    EXPECT_EQ(col_buffer_shape_, (vector<int>{6 * 9, 3, 2}));
    EXPECT_EQ(input_shape(1), 3);
  }
};

TEST(ConvolutionOfAUser, SeesTheSizesOfItsImages) {
  LayerParameter param;
  param.mutable_convolution_param()->set_num_output(6);
  param.mutable_convolution_param()->add_kernel_size(3);
  param.mutable_convolution_param()->add_stride(2);
  param.mutable_convolution_param()->set_group(2);
  Blob<float> x(vector<int>{2, 4, 3, 2}), y;
  Curious layer(param);
  layer.SetUp({&x}, {&y});
  layer.ExpectSizes();
}

}  // namespace
}  // namespace caffe
