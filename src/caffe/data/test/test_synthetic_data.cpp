#include "caffe/synthetic_data.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "caffe/net.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

NetParameter ParseNet(const string& text) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  return net;
}

/// A source with two tops, a layer with 5 outputs, an in-place layer and a loss.
NetParameter Scores(const string& source_fields) {
  return ParseNet("layer { name: 'in' top: 'data' top: 'label' " + source_fields + R"( }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip'
            inner_product_param { num_output: 5 weight_filler { type: 'xavier' } } }
    layer { name: 'relu' type: 'ReLU' bottom: 'ip' top: 'ip' }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' })");
}

TEST(SyntheticData, HasTheShapesOfTheSourceAndLabelsOfEveryClass) {
  for (const char* source :
       {"type: 'Data' data_param { source: 'none' batch_size: 200 } transform_param { crop_size: 4 "
        "}",
        "type: 'ImageData' image_data_param { batch_size: 200 new_height: 4 new_width: 4 }",
        "type: 'MemoryData' memory_data_param { batch_size: 200 channels: 3 height: 4 width: 4 }",
        "type: 'HDF5Data' hdf5_data_param { source: 'none' batch_size: 200 }"}) {
    Caffe::set_random_seed(1);
    Net<float> net(WithSyntheticData(Scores(source), vector<int>{3, 4, 4}));
    net.Forward();
    EXPECT_EQ((vector<int>{200, 3, 4, 4}), net.blob_by_name("data")->shape()) << source;
    const Blob<float>& labels = *net.blob_by_name("label");
    EXPECT_EQ((vector<int>{200}), labels.shape()) << source;
    EXPECT_EQ((std::set<float>{0, 1, 2, 3, 4}),
              std::set<float>(labels.cpu_data(), labels.cpu_data() + 200));
    EXPECT_NEAR(1, net.blob_by_name("data")->sumsq_data() / (200 * 48), 0.1);
  }
}

TEST(SyntheticData, HasLabelsForTheNumberOfScores) {
  const auto most = [](const string& layers) {
    Net<float> net(WithSyntheticData(ParseNet(R"(
      layer { name: 'in' type: 'Data' top: 'data' top: 'label'
              data_param { source: 'none' batch_size: 64 } })" +
                                              layers),
                                     vector<int>{3, 4, 4}));
    net.Forward();
    const Blob<float>& label = *net.blob_by_name("label");
    return *std::max_element(label.cpu_data(), label.cpu_data() + label.count());
  };
  const string convolution =
      "layer { name: 'c' type: 'Convolution' bottom: 'data' top: 'c' "
      "convolution_param { num_output: 18 kernel_size: 1 weight_filler { type: 'xavier' } } } ";
  const string loss =
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 's' bottom: 'label' top: 'loss' }";
  const string pool =
      "layer { name: 's' type: 'Pooling' bottom: 'p' top: 's' "
      "pooling_param { pool: AVE global_pooling: true } } ";
  EXPECT_EQ(most(convolution +
                 "layer { name: 'r' type: 'DummyData' top: 'r' dummy_data_param { "
                 "shape { dim: 64 dim: 5 } } } "
                 "layer { name: 'p' type: 'PSROIPooling' bottom: 'c' bottom: 'r' top: 'p' "
                 "psroi_pooling_param { spatial_scale: 1 output_dim: 2 group_size: 3 } } " +
                 pool + loss),
            1);
  EXPECT_EQ(most(convolution +
                 "layer { name: 'q' type: 'Pooling' bottom: 'c' top: 'q' "
                 "pooling_param { pool: AVE global_pooling: true } } "
                 "layer { name: 'v' type: 'Slice' bottom: 'q' top: 's' top: 'rest' "
                 "slice_param { slice_point: 2 } } " +
                 loss),
            1);
}

TEST(SyntheticData, IsDrawnOnceAndReproducible) {
  const NetParameter param = WithSyntheticData(
      Scores("type: 'Data' data_param { batch_size: 4 } transform_param { crop_size: 6 }"), {});
  vector<vector<float>> sums;
  for (int run = 0; run < 2; ++run) {
    Caffe::set_random_seed(3);
    Net<float> net(param);
    sums.emplace_back();
    for (int pass = 0; pass < 3; ++pass) {
      net.Forward();
      sums.back().push_back(net.blob_by_name("data")->asum_data());
    }
  }
  EXPECT_EQ(sums[0], sums[1]);
  EXPECT_EQ(1u, std::set<float>(sums[0].begin(), sums[0].end()).size());
  EXPECT_GT(sums[0][0], 0);
}

TEST(SyntheticData, ReplacesOnlySourcesAndKeepsTheirPhase) {
  NetParameter net = Scores(
      "type: 'Data' include { phase: TEST } data_param { batch_size: 4 } "
      "transform_param { crop_size: 6 }");
  const NetParameter changed = WithSyntheticData(net, {});
  EXPECT_EQ("DummyData", changed.layer(0).type());
  EXPECT_EQ(TEST, changed.layer(0).include(0).phase());
  for (int i = 1; i < net.layer_size(); ++i)
    EXPECT_EQ(net.layer(i).DebugString(), changed.layer(i).DebugString());
  EXPECT_EQ(changed.DebugString(), WithSyntheticData(changed, {}).DebugString());
}

/// The values that top 0 of a source gets in a net where `layers` read it, as blob 'in'.
std::set<float> ValuesOfOnlyTop(const string& layers) {
  Caffe::set_random_seed(1);
  Net<float> net(WithSyntheticData(
      ParseNet(
          "layer { name: 'in' type: 'HDF5Data' top: 'in' hdf5_data_param { batch_size: 300 } }" +
          layers),
      vector<int>{1, 2, 2}));
  net.Forward();
  const Blob<float>& values = *net.blob_by_name("in");
  return std::set<float>(values.cpu_data(), values.cpu_data() + values.count());
}

TEST(SyntheticData, GivesLabelsToTheOnlyTopOfASource) {
  const string scores = R"(
    layer { name: 'images' type: 'Input' top: 'x' input_param { shape { dim: 300 dim: 1 dim: 2 dim: 2 } } }
    layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'conv'
            convolution_param { num_output: 3 kernel_size: 1 } })";
  for (const char* type : {"SoftmaxWithLoss", "Accuracy"}) {
    EXPECT_EQ((std::set<float>{0, 1, 2}),
              ValuesOfOnlyTop(scores + "layer { name: 'loss' type: '" + type +
                              "' bottom: 'conv' bottom: 'in' top: 'loss' }"))
        << type;
  }
  EXPECT_EQ((std::set<float>{0, 1, 2}), ValuesOfOnlyTop(scores + R"(
    layer { name: 'flat' type: 'Reshape' bottom: 'in' top: 'flat' reshape_param { shape { dim: 0 dim: 2 dim: 2 } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'conv' bottom: 'flat' top: 'loss' })"));
  EXPECT_LT(100u, ValuesOfOnlyTop(scores + R"(
    layer { name: 'loss' type: 'EuclideanLoss' bottom: 'x' bottom: 'in' top: 'loss' })")
                      .size());
}

TEST(SyntheticData, KeepsIndicesInRange) {
  EXPECT_EQ((std::set<float>{0, 1, 2, 3}), ValuesOfOnlyTop(R"(
    layer { name: 'embed' type: 'Embed' bottom: 'in' top: 'embed'
            embed_param { input_dim: 4 num_output: 2 } })"));
  EXPECT_EQ(std::set<float>{0}, ValuesOfOnlyTop(R"(
    layer { name: 'images' type: 'Input' top: 'x' input_param { shape { dim: 2 dim: 5 } } }
    layer { name: 'flat' type: 'Reshape' bottom: 'in' top: 'flat' reshape_param { shape { dim: -1 } } }
    layer { name: 'choose' type: 'BatchReindex' bottom: 'x' bottom: 'flat' top: 'chosen' })"));
  const NetParameter lstm = WithSyntheticData(ParseNet(R"(
    layer { name: 'in' type: 'HDF5Data' top: 'x' top: 'goes_on' hdf5_data_param { batch_size: 3 } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'ip' inner_product_param { num_output: 9 axis: 2 } }
    layer { name: 'lstm' type: 'LSTM' bottom: 'ip' bottom: 'goes_on' top: 'lstm'
            recurrent_param { num_output: 4 } })"),
                                              vector<int>{1, 2, 2});
  EXPECT_EQ(1, lstm.layer(0).dummy_data_param().data_filler(1).max());
}

TEST(SyntheticData, HasZeroLabelsWithoutScores) {
  const NetParameter net = WithSyntheticData(
      ParseNet("layer { name: 'in' type: 'MemoryData' top: 'data' top: 'label' memory_data_param "
               "{ batch_size: 4 channels: 3 height: 1 width: 1 } }"),
      {});
  EXPECT_EQ(0, net.layer(0).dummy_data_param().data_filler(1).max());
}

TEST(SyntheticData, HasNoBoxesInAnnotatedData) {
  NetParameter param =
      Scores("type: 'AnnotatedData' data_param { batch_size: 2 } transform_param { crop_size: 4 }");
  param.mutable_layer()->RemoveLast();
  Net<float> net(WithSyntheticData(param, {}));
  net.Forward();
  const Blob<float>& label = *net.blob_by_name("label");
  EXPECT_EQ((vector<int>{1, 1, 16, 8}), label.shape());
  EXPECT_EQ(std::set<float>{-1},
            std::set<float>(label.cpu_data(), label.cpu_data() + label.count()));
}

TEST(SyntheticDataErrors, ReportsAnUnknownShape) {
  EXPECT_ERROR(WithSyntheticData(Scores("type: 'Data' data_param { batch_size: 2 }"), {}),
               "Layer in: .*--data_shape=C,H,W");
}

TEST(BatchSize, IsSetInEverySource) {
  NetParameter net = ParseNet(
      "layer { type: 'Data' } layer { type: 'ImageData' } layer { type: 'WindowData' }"
      "layer { type: 'HDF5Data' } layer { type: 'MemoryData' } layer { type: 'ReLU' }"
      "layer { type: 'AnnotatedData' } layer { type: 'Python' top: 'x' }");
  EXPECT_EQ(6, SetBatchSize(7, false, &net));  // Python layers are not counted
  EXPECT_EQ(7, SetBatchSize(7, true, &net));
  EXPECT_EQ(7u, net.layer(0).data_param().batch_size());
  EXPECT_EQ(7u, net.layer(1).image_data_param().batch_size());
  EXPECT_EQ(7u, net.layer(2).window_data_param().batch_size());
  EXPECT_EQ(7u, net.layer(3).hdf5_data_param().batch_size());
  EXPECT_EQ(7u, net.layer(4).memory_data_param().batch_size());
  EXPECT_EQ(7u, net.layer(6).data_param().batch_size());
  EXPECT_EQ(7u, net.layer(7).data_param().batch_size());
  EXPECT_EQ("type: \"ReLU\"\n", net.layer(5).DebugString());
}

}  // namespace
}  // namespace caffe
