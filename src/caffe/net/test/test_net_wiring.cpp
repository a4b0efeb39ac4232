// Wiring of nets: names, phases, splits, which layers need a backward pass, parameters.
#include <fstream>
#include <thread>

#include "caffe/net/test/training.hpp"
#include "caffe/test/expect_error.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace {

const char kInput[] = R"(
  layer { name: "data" type: "Input" top: "data" top: "label"
          input_param { shape { dim: 2 dim: 3 } shape { dim: 2 } } }
)";

string Ip(const string& name, const string& bottom, const string& more = "") {
  return "layer { name: '" + name + "' type: 'InnerProduct' bottom: '" + bottom + "' top: '" +
         name + "' " + more +
         " inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }\n";
}
string Loss(const string& bottom) {
  return "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: '" + bottom +
         "' bottom: 'label' top: 'loss' }\n";
}

TEST(Net, NamesTheLayerWhoseBottomIsUnknown) {
  EXPECT_ERROR(Net<float>(ParseNet(kInput + Ip("ip", "nothing"))),
               "Unknown bottom blob 'nothing' \\(layer 'ip', bottom index 0\\)");
}

TEST(Net, RefusesCyclesAsUnknownBottoms) {
  EXPECT_ERROR(Net<float>(ParseNet("name: 'bare'")), "Net 'bare' has no layers in phase TRAIN");
  EXPECT_ERROR(Net<float>(ParseNet(Ip("a", "b") + Ip("b", "a"))),
               "Unknown bottom blob 'b' \\(layer 'a'");
}

TEST(Net, RefusesTwoSourcesOfOneBlob) {
  EXPECT_ERROR(
      Net<float>(ParseNet(kInput + Ip("ip", "data") +
                          "layer { name: 'again' type: 'ReLU' bottom: 'data' top: 'ip' }")),
      "Top blob 'ip' produced by multiple sources");
}

TEST(Net, RefusesInPlaceLayersThatChangeTheShape) {
  EXPECT_ERROR(
      Net<float>(ParseNet(kInput + Ip("ip", "data") +
                          "layer { name: 'few' type: 'InnerProduct' bottom: 'ip' top: 'ip'"
                          " inner_product_param { num_output: 2 } }")),
      "Layer few \\(InnerProduct\\) cannot run in place: it changes the shape of blob 'ip'");
}

TEST(Net, NamesTheLayerWhoseBackwardNeedsAnOverwrittenValue) {
  const string product =
      "layer { name: 'product' type: 'Eltwise' bottom: 'ip' bottom: 'data' top: 'product'"
      " eltwise_param { operation: PROD stable_prod_grad: false } }";
  const string swish = "layer { name: 'swish' type: 'Swish' bottom: 'product' top: 'product' }";
  Net<float> other(ParseNet(kInput + Ip("ip", "data") + product + swish + Loss("product")));
  EXPECT_ERROR(other.Forward(),
               "Layer product \\(Eltwise\\) cannot run without a memory plan: its backward needs "
               "values that a layer in place overwrites");
  const string again =
      "layer { name: 'again' type: 'InnerProduct' bottom: 'ip' top: 'ip'"
      " inner_product_param { num_output: 3 weight_filler { type: 'xavier' } } }";
  Net<float> self(ParseNet(kInput + Ip("ip", "data") + again + Loss("ip")));
  EXPECT_ERROR(self.Forward(),
               "Layer again \\(InnerProduct\\) cannot run in place without a memory plan");
  for (Net<float>* net : {&other, &self}) {
    ASSERT_TRUE(net->Place(PlacementOptions()).ok());
    net->ForwardBackward();
  }
}

TEST(Net, ListsInputsAndOutputs) {
  Net<float> net(ParseNet(kInput + Ip("ip", "data") + Loss("ip")));
  ASSERT_EQ(net.num_inputs(), 2);
  EXPECT_EQ(net.input_blobs()[0], net.blob_by_name("data").get());
  ASSERT_EQ(net.num_outputs(), 1);
  EXPECT_EQ(net.output_blobs()[0], net.blob_by_name("loss").get());
  EXPECT_TRUE(net.has_layer("ip"));
  EXPECT_FALSE(net.has_blob("nothing"));
}

TEST(Net, ForwardCopiesAsManyInputsAsItIsGiven) {
  Net<float> net(ParseNet(kInput + Ip("ip", "data") + Loss("ip")));
  Blob<float> data(net.input_blobs()[0]->shape());
  for (int i = 0; i < data.count(); ++i) data.mutable_cpu_data()[i] = 3;
  float loss = 0;
  net.Forward(vector<Blob<float>*>{&data}, &loss);
  EXPECT_EQ(3, net.input_blobs()[0]->cpu_data()[0]);
  EXPECT_GT(loss, 0);
  net.Forward(vector<Blob<float>*>(), &loss);
  EXPECT_EQ(3, net.input_blobs()[0]->cpu_data()[0]);
  EXPECT_ERROR(net.Forward(vector<Blob<float>*>(3, &data), &loss),
               "has fewer inputs than it is given");
}

TEST(Net, KeepsTheLayersOfItsPhaseAndStage) {
  NetParameter param =
      ParseNet(kInput + Ip("always", "data") + Ip("train", "always", "include { phase: TRAIN }") +
               Ip("deploy", "always", "include { phase: TEST stage: 'deploy' }") +
               Ip("not_train", "always", "exclude { phase: TRAIN }"));
  param.mutable_state()->set_phase(TRAIN);
  Net<float> train(param);
  EXPECT_TRUE(train.has_layer("train"));
  EXPECT_FALSE(train.has_layer("deploy"));
  EXPECT_FALSE(train.has_layer("not_train"));
  param.mutable_state()->set_phase(TEST);
  param.mutable_state()->add_stage("deploy");
  Net<float> test(param);
  EXPECT_FALSE(test.has_layer("train"));
  EXPECT_TRUE(test.has_layer("deploy"));
  EXPECT_TRUE(test.has_layer("not_train"));
}

TEST(Net, NeedsBackwardOnlyBetweenLearningParametersAndALoss) {
  Net<float> net(ParseNet(kInput +
                          Ip("frozen", "data", "param { lr_mult: 0 } param { lr_mult: 0 }") +
                          Ip("learns", "frozen") + Loss("learns") + Ip("aside", "frozen")));
  const auto needs = [&](const string& name) {
    for (size_t i = 0; i < net.layers().size(); ++i) {
      if (net.layer_names()[i] == name) return bool(net.layer_need_backward()[i]);
    }
    ADD_FAILURE() << name;
    return false;
  };
  EXPECT_FALSE(needs("frozen"));
  EXPECT_TRUE(needs("learns"));
  EXPECT_TRUE(needs("loss"));
  EXPECT_FALSE(needs("aside"));
}

TEST(Net, StatisticsOfBatchNormDoNotLearn) {
  Net<float> net(ReadNet("mini_resnet"));
  int statistics = 0;
  for (size_t i = 0; i < net.learnable_params().size(); ++i) statistics += net.params_lr()[i] == 0;
  EXPECT_EQ(statistics % 3, 0);
  EXPECT_GE(statistics, 3 * 5);
}

TEST(Net, SharesParametersByName) {
  Net<float> net(ReadNet("shared_weights"));
  const auto& a = net.layer_by_name("conv1_a")->blobs();
  const auto& b = net.layer_by_name("conv1_b")->blobs();
  EXPECT_EQ(a[0]->data(), b[0]->data());
  EXPECT_EQ(a[1]->diff(), b[1]->diff());
  EXPECT_NE(a[0], b[0]);
}

TEST(Net, RefusesToShareParametersOfAnotherShape) {
  const string wide =
      "layer { name: 'wide' type: 'InnerProduct' bottom: 'ip' top: 'wide' param { name: 'w' } "
      "inner_product_param { num_output: 7 weight_filler { type: 'xavier' } } }";
  EXPECT_ERROR(Net<float>(ParseNet(kInput + Ip("ip", "data", "param { name: 'w' }") + wide)),
               "Cannot share param 'w' owned by layer 'ip' with layer 'wide'; shape mismatch");
}

TEST(Net, CopiesWeightsToAnotherNet) {
  NetParameter param = ParseNet(kInput + Ip("ip", "data"));
  Net<float> from(param), to(param);
  NetParameter weights;
  from.ToProto(&weights);
  to.CopyTrainedLayersFrom(weights);
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(from.params()[0]->cpu_data()[i], to.params()[0]->cpu_data()[i]);
  }
  Net<float> shared(param);
  shared.ShareTrainedLayersWith(&from);
  EXPECT_EQ(shared.params()[0]->data(), from.params()[0]->data());
}

/// Layers that share a parameter by name use the weights of the other net, which may have any one
/// of them.
TEST(Net, SharesParametersByNameWithAnotherNetThatHasOneOfTheLayers) {
  const string named = "param { name: 'w' } param { name: 'b' }";
  const string first = Ip("first", "data", named), second = Ip("second", "data", named);
  for (const string& known : {first, second, first + second}) {
    Net<float> from(ParseNet(kInput + known)), to(ParseNet(kInput + first + second));
    for (int time = 0; time < 2; ++time) {
      to.ShareTrainedLayersWith(&from);
      for (const auto& layer : to.layers()) {
        for (size_t i = 0; i < layer->blobs().size(); ++i)
          EXPECT_EQ(layer->blobs()[i]->data(), from.params()[i]->data()) << known;
      }
    }
  }
  // The other net does not share: each layer has its own.
  Net<float> from(ParseNet(kInput + Ip("first", "data") + Ip("second", "data")));
  Net<float> to(ParseNet(kInput + first + second));
  to.ShareTrainedLayersWith(&from);
  for (const string name : {"first", "second"})
    EXPECT_EQ(to.layer_by_name(name)->blobs()[0]->data(),
              from.layer_by_name(name)->blobs()[0]->data());
}

TEST(Net, SavesAndLoadsHdf5) {
  const string file = ::testing::TempDir() + "net_weights.caffemodel.h5";
  NetParameter param = ReadNet("shared_weights");
  Net<float> from(param), to(param);
  from.ToHDF5(file);
  to.CopyTrainedLayersFrom(file);
  for (size_t i = 0; i < from.params().size(); ++i) {
    for (int k = 0; k < from.params()[i]->count(); ++k) {
      ASSERT_EQ(from.params()[i]->cpu_data()[k], to.params()[i]->cpu_data()[k]);
    }
  }
  std::remove(file.c_str());
}

TEST(Net, WarnsOfAWeightFileWithNoMatchingLayer) {
  const Net<float> from(ParseNet(kInput + Ip("theirs", "data")));
  Net<float> own(ParseNet(kInput + Ip("theirs", "data"))),
      other(ParseNet(kInput + Ip("ip", "data")));
  const string file = ::testing::TempDir() + "unmatched.caffemodel";
  NetParameter weights;
  from.ToProto(&weights);
  std::ofstream(file, std::ios::binary) << weights.SerializeAsString();
  vector<string> files = {file};
#ifdef USE_HDF5
  files.push_back(file + ".h5");
  from.ToHDF5(files.back());
#endif
  for (const string& name : files) {
    const string warning = name + " has weights for no layer of this net, by name";
    testing::internal::CaptureStderr();
    own.CopyTrainedLayersFrom(name);
    EXPECT_EQ(testing::internal::GetCapturedStderr().find(warning), string::npos);
    testing::internal::CaptureStderr();
    other.CopyTrainedLayersFrom(name);
    EXPECT_PRED_FORMAT2(testing::IsSubstring, warning, testing::internal::GetCapturedStderr());
    std::remove(name.c_str());
  }
}

TEST(Net, NamesWeightsOfAnotherShape) {
  Net<float> net(ParseNet(kInput + Ip("ip", "data")));
  NetParameter weights;
  net.ToProto(&weights);
  weights.mutable_layer(1)->mutable_blobs(0)->mutable_shape()->set_dim(0, 1);
  weights.mutable_layer(1)->mutable_blobs(0)->mutable_data()->Truncate(3);
  EXPECT_ERROR(net.CopyTrainedLayersFrom(weights),
               "Cannot copy param 0 weights from layer 'ip'; shape mismatch");
}

TEST(Net, ForceBackwardReachesAllBottoms) {
  NetParameter param = ParseNet(kInput + Ip("ip", "data") + Loss("ip"));
  param.set_force_backward(true);
  Net<float> net(param);
  net.blob_by_name("data")->mutable_cpu_data()[0] = 1;
  net.ForwardBackward();
  EXPECT_GT(net.blob_by_name("data")->asum_diff(), 0);
}

TEST(Net, IsMadeAndFilledInGpuModeWithoutAGpu) {
  if (layrub::GpuCount() > 0) GTEST_SKIP() << "there is a GPU";
  std::thread([] {  // a thread that has chosen no device
    Caffe::set_mode(Caffe::GPU);
    Net<float> net(ParseNet(
        "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: 1 dim: 2 } } }"
        "layer { name: 'y' type: 'InnerProduct' bottom: 'x' top: 'y'"
        "        inner_product_param { num_output: 1 weight_filler { type: 'constant' value: 2 } } "
        "}"));
    net.input_blobs()[0]->mutable_cpu_data()[0] = 1;
    net.input_blobs()[0]->mutable_cpu_diff()[0] = 1;
    EXPECT_EQ(net.params()[0]->cpu_data()[0], 2);
    EXPECT_ERROR(net.Forward(), "GPU");
    Caffe::set_mode(Caffe::CPU);
    EXPECT_EQ(net.Forward()[0]->cpu_data()[0], 2);
  })
      .join();
}

}  // namespace
}  // namespace caffe
