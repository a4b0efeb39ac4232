// Layers of every kind as Caffe's users write them: without memory traits, in a net that a solver
// trains under a plan. The results are compared with numbers computed by hand.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "caffe/filler.hpp"
#include "caffe/layers/loss_layer.hpp"
#include "caffe/layers/neuron_layer.hpp"
#include "caffe/sgd_solvers.hpp"
#include "caffe/test/test_caffe_main.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {

/// Sets all values of top i to i + 1, once: only LayerSetUp does anything.
template <typename Dtype>
class ClientSourceLayer : public Layer<Dtype> {
 public:
  explicit ClientSourceLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    for (int i = 0; i < top.size(); ++i) {
      top[i]->Reshape(2, 3, 1, 1);
      caffe_set(top[i]->count(), Dtype(i + 1), top[i]->mutable_cpu_data());
    }
  }
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {}
  virtual inline const char* type() const { return "ClientSource"; }
  virtual inline int ExactNumBottomBlobs() const { return 0; }
  virtual inline int MinTopBlobs() const { return 1; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {}
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {}
};

/// y = gain * x with one learned gain. Has stubs for builds without a GPU.
template <typename Dtype>
class ClientGainLayer : public Layer<Dtype> {
 public:
  explicit ClientGainLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void LayerSetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    if (this->blobs_.empty()) {  // otherwise they came from the prototxt
      this->blobs_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(vector<int>(1, 1))));
      shared_ptr<Filler<Dtype>> filler(GetFiller<Dtype>(this->layer_param_.scale_param().filler()));
      filler->Fill(this->blobs_[0].get());
    }
    this->param_propagate_down_.resize(this->blobs_.size(), true);
  }
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "ClientGain"; }
  virtual inline int ExactNumBottomBlobs() const { return 1; }
  virtual inline int ExactNumTopBlobs() const { return 1; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const Dtype gain = this->blobs_[0]->cpu_data()[0];
    caffe_cpu_scale(bottom[0]->count(), gain, bottom[0]->cpu_data(), top[0]->mutable_cpu_data());
  }
  virtual void Forward_gpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top);
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    const int count = bottom[0]->count();
    if (this->param_propagate_down_[0]) {
      this->blobs_[0]->mutable_cpu_diff()[0] +=
          caffe_cpu_dot(count, top[0]->cpu_diff(), bottom[0]->cpu_data());
    }
    if (propagate_down[0]) {
      caffe_cpu_scale(count, this->blobs_[0]->cpu_data()[0], top[0]->cpu_diff(),
                      bottom[0]->mutable_cpu_diff());
    }
  }
  virtual void Backward_gpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom);
};
#ifdef CPU_ONLY
STUB_GPU(ClientGainLayer);
#else
template <typename Dtype>
void ClientGainLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top) {
  this->Forward_cpu(bottom, top);
}
template <typename Dtype>
void ClientGainLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                          const vector<bool>& propagate_down,
                                          const vector<Blob<Dtype>*>& bottom) {
  this->Backward_cpu(top, propagate_down, bottom);
}
#endif

/// y = 2 * x, also in place.
template <typename Dtype>
class ClientDoubleLayer : public NeuronLayer<Dtype> {
 public:
  explicit ClientDoubleLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "ClientDouble"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const Dtype* bottom_data = bottom[0]->cpu_data();
    Dtype* top_data = top[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) top_data[i] = 2 * bottom_data[i];
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    if (!propagate_down[0]) return;
    caffe_cpu_axpby(top[0]->count(), Dtype(2), top[0]->cpu_diff(), Dtype(0),
                    bottom[0]->mutable_cpu_diff());
  }
};

/// y = 1 where x is positive, else 0. Its backward pass writes nothing, since the gradient is 0.
template <typename Dtype>
class ClientStepLayer : public NeuronLayer<Dtype> {
 public:
  explicit ClientStepLayer(const LayerParameter& param) : NeuronLayer<Dtype>(param) {}
  virtual inline const char* type() const { return "ClientStep"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    for (int i = 0; i < bottom[0]->count(); ++i) {
      top[0]->mutable_cpu_data()[i] = bottom[0]->cpu_data()[i] > Dtype(0);
    }
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {}
};

/// Reshapes the bottom to a matrix, in the bottom's memory.
template <typename Dtype>
class ClientMatrixLayer : public Layer<Dtype> {
 public:
  explicit ClientMatrixLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    vector<int> shape(2);
    shape[0] = bottom[0]->shape(0);
    shape[1] = bottom[0]->count(1);
    top[0]->Reshape(shape);
    CHECK_EQ(top[0]->count(), bottom[0]->count());
  }
  virtual inline const char* type() const { return "ClientMatrix"; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    top[0]->ShareData(*bottom[0]);
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    bottom[0]->ShareDiff(*top[0]);
  }
};

/// The tops are the sum and the difference of two bottoms.
template <typename Dtype>
class ClientSumDiffLayer : public Layer<Dtype> {
 public:
  explicit ClientSumDiffLayer(const LayerParameter& param) : Layer<Dtype>(param) {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    CHECK_EQ(bottom[0]->count(), bottom[1]->count());
    for (int i = 0; i < top.size(); ++i) top[i]->ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "ClientSumDiff"; }
  virtual inline int ExactNumBottomBlobs() const { return 2; }
  virtual inline int ExactNumTopBlobs() const { return 2; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    const Dtype* a = bottom[0]->cpu_data();
    const Dtype* b = bottom[1]->cpu_data();
    caffe_add(bottom[0]->count(), a, b, top[0]->mutable_cpu_data());
    caffe_sub(bottom[0]->count(), a, b, top[1]->mutable_cpu_data());
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    const Dtype* sum = top[0]->cpu_diff();
    const Dtype* difference = top[1]->cpu_diff();
    if (propagate_down[0]) {
      caffe_add(top[0]->count(), sum, difference, bottom[0]->mutable_cpu_diff());
    }
    if (propagate_down[1]) {
      caffe_sub(top[0]->count(), sum, difference, bottom[1]->mutable_cpu_diff());
    }
  }
};

/// A loss: the mean over the batch of the products of two bottoms, both of which get a gradient.
template <typename Dtype>
class ClientProductLossLayer : public LossLayer<Dtype> {
 public:
  explicit ClientProductLossLayer(const LayerParameter& param)
      : LossLayer<Dtype>(param), product_() {}
  virtual void Reshape(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    LossLayer<Dtype>::Reshape(bottom, top);
    product_.ReshapeLike(*bottom[0]);
  }
  virtual inline const char* type() const { return "ClientProductLoss"; }
  virtual inline bool AllowForceBackward(const int bottom_index) const { return true; }

 protected:
  virtual void Forward_cpu(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
    caffe_mul(product_.count(), bottom[0]->cpu_data(), bottom[1]->cpu_data(),
              product_.mutable_cpu_data());
    Dtype sum(0);
    for (int i = 0; i < product_.count(); ++i) sum += product_.cpu_data()[i];
    top[0]->mutable_cpu_data()[0] = sum / bottom[0]->num();
  }
  virtual void Backward_cpu(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
    for (int i = 0; i < 2; ++i) {
      if (!propagate_down[i]) continue;
      const Dtype alpha = top[0]->cpu_diff()[0] / bottom[i]->num();
      caffe_cpu_axpby(bottom[i]->count(), alpha, bottom[1 - i]->cpu_data(), Dtype(0),
                      bottom[i]->mutable_cpu_diff());
    }
  }

  Blob<Dtype> product_;
};

INSTANTIATE_CLASS(ClientSourceLayer);
INSTANTIATE_CLASS(ClientGainLayer);
INSTANTIATE_CLASS(ClientDoubleLayer);
INSTANTIATE_CLASS(ClientStepLayer);
INSTANTIATE_CLASS(ClientMatrixLayer);
INSTANTIATE_CLASS(ClientSumDiffLayer);
INSTANTIATE_CLASS(ClientProductLossLayer);

REGISTER_LAYER_CLASS(ClientSource);
REGISTER_LAYER_CLASS(ClientGain);
REGISTER_LAYER_CLASS(ClientDouble);
REGISTER_LAYER_CLASS(ClientStep);
REGISTER_LAYER_CLASS(ClientSumDiff);
REGISTER_LAYER_CLASS(ClientProductLoss);

template <typename Dtype>
shared_ptr<Layer<Dtype>> GetClientMatrixLayer(const LayerParameter& param) {
  return shared_ptr<Layer<Dtype>>(new ClientMatrixLayer<Dtype>(param));
}
REGISTER_LAYER_CREATOR(ClientMatrix, GetClientMatrixLayer);

const char kNet[] =
    "name: 'client' "
    "layer { name: 'source' type: 'ClientSource' top: 'x' top: 'target' } "
    "layer { name: 'gain' type: 'ClientGain' bottom: 'x' top: 'y' "
    "        scale_param { filler { type: 'constant' value: 1.5 } } } "
    "layer { name: 'double' type: 'ClientDouble' bottom: 'y' top: 'y' } "
    "layer { name: 'matrix' type: 'ClientMatrix' bottom: 'y' top: 'z' } "
    "layer { name: 'matrix2' type: 'ClientMatrix' bottom: 'target' top: 't' } "
    "layer { name: 'sum_diff' type: 'ClientSumDiff' bottom: 'z' bottom: 't' top: 's' top: 'd' } "
    "layer { name: 'loss' type: 'ClientProductLoss' bottom: 's' bottom: 'd' top: 'loss' "
    "        loss_weight: 0.5 } ";

class ClientLayerTest : public ::testing::TestWithParam<const char*> {
 protected:
  SolverParameter Param() {
    SolverParameter param;
    CHECK(google::protobuf::TextFormat::ParseFromString(
        "base_lr: 0.01 lr_policy: 'fixed' momentum: 0 max_iter: 100 snapshot_after_train: false "
        "snapshot_prefix: 'unused'",
        &param));
    CHECK(google::protobuf::TextFormat::ParseFromString(kNet, param.mutable_net_param()));
    param.mutable_placement()->set_strategy(GetParam());
    return param;
  }
};

// With gain a, x = 1 and t = 2: z = 2 a, loss = 0.5 * 3 * (z^2 - t^2), d loss / d a = 12 a.
TEST_P(ClientLayerTest, TrainToHandComputedValues) {
  SGDSolver<float> solver(Param());
  const shared_ptr<Net<float>> net = solver.net();
  double gain = 1.5;
  for (int i = 0; i < 9; ++i) {
    solver.Step(1);
    const double z = 2 * gain;
    EXPECT_NEAR(net->blob_by_name("loss")->cpu_data()[0], 3 * (z * z - 4), 1e-4) << i;
    const double update = 0.01 * 12 * gain;
    EXPECT_NEAR(net->learnable_params()[0]->cpu_diff()[0], update, 1e-5) << i;
    gain -= update;
    EXPECT_NEAR(net->layer_by_name("gain")->blobs()[0]->cpu_data()[0], gain, 1e-5) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Strategies, ClientLayerTest,
                         ::testing::Values("auto", "keep", "liveness", "hybrid", "sqrt"),
                         [](const ::testing::TestParamInfo<const char*>& test) {
                           return std::string(test.param);
                         });

template <typename TypeParam>
class ClientGradientTest : public MultiDeviceTest<TypeParam> {
  typedef typename TypeParam::Dtype Dtype;

 protected:
  ClientGradientTest()
      : blob_a_(new Blob<Dtype>(2, 3, 1, 2)), blob_b_(new Blob<Dtype>(2, 3, 1, 2)) {
    FillerParameter filler_param;
    GaussianFiller<Dtype> filler(filler_param);
    filler.Fill(blob_a_.get());
    filler.Fill(blob_b_.get());
    for (int i = 0; i < 2; ++i) tops_.push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>()));
  }

  void Check(const char* type, int bottoms, int tops) {
    LayerParameter layer_param;
    layer_param.set_name(type);
    layer_param.set_type(type);
    layer_param.mutable_scale_param()->mutable_filler()->set_value(2);
    shared_ptr<Layer<Dtype>> layer = LayerRegistry<Dtype>::CreateLayer(layer_param);
    vector<Blob<Dtype>*> bottom(1, blob_a_.get()), top;
    if (bottoms == 2) bottom.push_back(blob_b_.get());
    for (int i = 0; i < tops; ++i) top.push_back(tops_[i].get());
    GradientChecker<Dtype> checker(1e-2, 1e-2, 1701, 0, 0.02);  // 0.02: the step of ClientStep
    checker.CheckGradientExhaustive(layer.get(), bottom, top);
  }

  shared_ptr<Blob<Dtype>> blob_a_, blob_b_;
  vector<shared_ptr<Blob<Dtype>>> tops_;
};
TYPED_TEST_SUITE(ClientGradientTest, TestDtypesAndDevices);

TYPED_TEST(ClientGradientTest, HoldsForEachLayer) {
  this->Check("ClientGain", 1, 1);
  this->Check("ClientDouble", 1, 1);
  this->Check("ClientStep", 1, 1);
  this->Check("ClientSumDiff", 2, 2);
  this->Check("ClientProductLoss", 2, 1);
}

TYPED_TEST(ClientGradientTest, HoldsForEachLayerOfANet) {
  typedef typename TypeParam::Dtype Dtype;
  NetParameter param;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "force_backward: true "
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 3 dim: 1 dim: 2 "
      "} } } "
      "layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' "
      "        inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } } "
      "layer { name: 'tanh' type: 'TanH' bottom: 'y' top: 'z' }",
      &param));
  Net<Dtype> net(param);
  GradientChecker<Dtype> checker(1e-2, 1e-2);
  checker.CheckGradientNet(net, vector<Blob<Dtype>*>(1, this->blob_a_.get()));
  EXPECT_EQ(net.blob_by_name("x")->cpu_data()[3], this->blob_a_->cpu_data()[3]);
}

}  // namespace caffe
