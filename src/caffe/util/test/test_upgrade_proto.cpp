#include "caffe/test/info_lines.hpp"
#include "caffe/util/upgrade_proto.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/test/upgrade_check.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

TEST(UpgradeProto, KeepsACurrentNet) {
  const NetParameter before = Parse<NetParameter>(
      "name: 'n' layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' param { lr_mult: 1 } "
      "}");
  NetParameter net = before;
  EXPECT_FALSE(NetNeedsUpgrade(net));
  EXPECT_TRUE(UpgradeNetAsNeeded("net.prototxt", &net));
  EXPECT_EQ(net.DebugString(), before.DebugString());
}

TEST(UpgradeProto, ConvertsV1Nets) {
  ExpectUpgrade(
      "name: 'n'"
      " layers { name: 'conv' type: CONVOLUTION bottom: 'x' top: 'y' param: 'w' param: 'b'"
      "          blob_share_mode: PERMISSIVE blob_share_mode: STRICT blobs_lr: 1 blobs_lr: 2 "
      "weight_decay: 3"
      "          blobs { data: 1 } loss_weight: 0.5 include { phase: TEST } exclude { min_level: 2 "
      "}"
      "          convolution_param { num_output: 3 } loss_param { ignore_label: 255 } }",
      "name: 'n'"
      " layer { name: 'conv' type: 'Convolution' bottom: 'x' top: 'y'"
      "         param { name: 'w' share_mode: PERMISSIVE lr_mult: 1 decay_mult: 3 }"
      "         param { name: 'b' share_mode: STRICT lr_mult: 2 }"
      "         blobs { data: 1 } loss_weight: 0.5 include { phase: TEST } exclude { min_level: 2 }"
      "         convolution_param { num_output: 3 } loss_param { ignore_label: 255 } }");
}

TEST(UpgradeProto, ConvertsEveryV1TypeAndParam) {
  const auto& types = *V1LayerParameter::LayerType_descriptor();
  std::set<string> names;
  for (int i = 0; i < types.value_count(); ++i) {
    const string name =
        UpgradeV1LayerType(static_cast<V1LayerParameter_LayerType>(types.value(i)->number()));
    names.insert(name);
    string old = types.value(i)->name(), upper = name;
    old.erase(std::remove(old.begin(), old.end(), '_'), old.end());
    for (char& c : upper) c = static_cast<char>(toupper(c));
    if (old == "SOFTMAXLOSS") old = "SOFTMAXWITHLOSS";
    EXPECT_EQ(upper, old == "NONE" ? "" : old);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(types.value_count()));
  const auto& fields = *V1LayerParameter::descriptor();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto* field = fields.field(i);
    const string& name = field->name();
    if (field->message_type() == nullptr || name.size() < 6 ||
        name.substr(name.size() - 6) != "_param")
      continue;
    LayerParameter layer;
    EXPECT_TRUE(UpgradeV1LayerParameter(Parse<V1LayerParameter>(name + " {}"), &layer));
    EXPECT_EQ(layer.DebugString(), name + " {\n}\n");
  }
}

TEST(UpgradeProto, ReportsMixedLayerFields) {
  NetParameter net =
      Parse<NetParameter>("layers { name: 'a' type: RELU } layer { name: 'b' type: 'ReLU' }");
  EXPECT_FALSE(UpgradeNetAsNeeded("net.prototxt", &net));
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_EQ(net.layer(0).name(), "a");
}

TEST(UpgradeProto, MovesOldTransformationsToTransformParam) {
  const string old = " { source: 's' scale: 0.5 mean_file: 'm' crop_size: 3 mirror: true }";
  const string transform =
      " transform_param { scale: 0.5 mean_file: 'm' crop_size: 3 mirror: true }";
  ExpectUpgrade("layers { name: 'd' type: DATA data_param" + old +
                    " }"
                    " layers { name: 'i' type: IMAGE_DATA image_data_param" +
                    old +
                    " }"
                    " layers { name: 'w' type: WINDOW_DATA window_data_param" +
                    old + " }",
                "layer { name: 'd' type: 'Data' data_param { source: 's' }" + transform +
                    " }"
                    " layer { name: 'i' type: 'ImageData' image_data_param { source: 's' }" +
                    transform +
                    " }"
                    " layer { name: 'w' type: 'WindowData' window_data_param { source: 's' }" +
                    transform + " }");
}

TEST(UpgradeProto, MovesATransformationInDataParamToTheLayer) {
  NetParameter net = Parse<NetParameter>(
      "layer { type: 'Data' data_param { source: 's' transform_param { scale: 2 crop_size: 4 } } "
      "        transform_param { scale: 3 } }");
  EXPECT_TRUE(UpgradeNetAsNeeded("net.prototxt", &net));
  EXPECT_EQ(net.ShortDebugString(),
            "layer { type: \"Data\" transform_param { scale: 3 crop_size: 4 } "
            "data_param { source: \"s\" } }");
}

TEST(UpgradeProto, ConvertsInputsToAnInputLayer) {
  const string layer =
      " layer { name: 'ip' type: 'InnerProduct' bottom: 'x' bottom: 'y' top: 'z' }";
  const string after =
      "layer { name: 'input' type: 'Input' top: 'x' top: 'y'"
      "        input_param { shape { dim: 1 dim: 2 dim: 3 dim: 4 } shape { dim: 5 dim: 6 dim: 7 "
      "dim: 8 } } }" +
      layer;
  ExpectUpgrade(
      "input: 'x' input: 'y' input_shape { dim: 1 dim: 2 dim: 3 dim: 4 }"
      " input_shape { dim: 5 dim: 6 dim: 7 dim: 8 }" +
          layer,
      after);
  ExpectUpgrade(
      "input: 'x' input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4"
      " input: 'y' input_dim: 5 input_dim: 6 input_dim: 7 input_dim: 8" +
          layer,
      after);
  ExpectUpgrade("input: 'x'" + layer, layer);
}

TEST(UpgradeProtoErrors, RejectsInputsWithoutEnoughShapes) {
  NetParameter net = Parse<NetParameter>("input: 'x' input_dim: 1 input_dim: 2");
  EXPECT_ERROR(UpgradeNetInput(&net), "Each input needs four of input_dim");
  NetParameter shapes = Parse<NetParameter>("input: 'x' input: 'y' input_shape { dim: 1 }");
  EXPECT_ERROR(UpgradeNetInput(&shapes), "Each input needs an input_shape");
}

TEST(UpgradeProto, FixesTheLearningRatesOfBatchNormStatistics) {
  const string head = "layer { name: 'bn' type: 'BatchNorm' ";
  const string zero = " param { lr_mult: 0 decay_mult: 0 }";
  ExpectUpgrade(head + "param { lr_mult: 1 } param { name: 'v' } param { lr_mult: 0 } }",
                head + zero + " param { name: 'v' lr_mult: 0 decay_mult: 0 }" + zero + " }");
  EXPECT_FALSE(
      NetNeedsUpgrade(Parse<NetParameter>("layer { type: 'BatchNorm' param { lr_mult: 1 } }")));
}

TEST(UpgradeProto, ConvertsTheSolverTypeToAName) {
  for (const string name : {"SGD", "Nesterov", "AdaGrad", "RMSProp", "AdaDelta", "Adam"}) {
    string value = name;
    for (char& c : value) c = static_cast<char>(toupper(c));
    SolverParameter solver = Parse<SolverParameter>("base_lr: 1 solver_type: " + value);
    EXPECT_TRUE(SolverNeedsTypeUpgrade(solver));
    EXPECT_TRUE(UpgradeSolverAsNeeded("solver.prototxt", &solver));
    EXPECT_EQ(solver.DebugString(),
              Parse<SolverParameter>("base_lr: 1 type: '" + name + "'").DebugString());
    EXPECT_FALSE(SolverNeedsTypeUpgrade(solver));
  }
}

TEST(UpgradeProtoErrors, RejectsBothSolverTypes) {
  SolverParameter solver = Parse<SolverParameter>("type: 'SGD' solver_type: SGD");
  EXPECT_ERROR(UpgradeSolverAsNeeded("solver.prototxt", &solver), "cannot be both specified");
}

/// The lines that are logged while `body` runs.
template <typename Body>
string Logged(const Body& body) {
  class Lines : public google::LogSink {
   public:
    using google::LogSink::send;
    void send(google::LogSeverity, const char*, const char*, int, const std::tm*,
              const char* message, size_t length) override {
      text.append(message, length);
      text += '\n';
    }
    string text;
  } lines;
  const InfoLines info;
  google::AddLogSink(&lines);
  body();
  google::RemoveLogSink(&lines);
  return lines.text;
}

TEST(UpgradeProto, LogsLikeCaffe) {
  const auto upgrade = [](const string& text) {
    NetParameter net = Parse<NetParameter>(text);
    return Logged([&net] { UpgradeNetAsNeeded("f", &net); });
  };
  const string input = "Attempting to upgrade input file specified using deprecated ";
  const string file = "Successfully upgraded file specified using deprecated ";
  const string v1 = input + "V1LayerParameter: f\n" + file + "V1LayerParameter\n";
  EXPECT_EQ(upgrade("layers { type: RELU }"), v1);
  EXPECT_EQ(upgrade("layers { layer { type: 'relu' } }"),
            input + "V0LayerParameter: f\n" + file + "V0LayerParameter\n" + v1);
  EXPECT_EQ(
      upgrade("layers { type: DATA data_param { scale: 2 } }"),
      input + "transformation parameters: f\n" + file + "data transformation parameters.\n" + v1);
  EXPECT_EQ(upgrade("input: 'x'"), input + "input fields: f\n" + file + "input fields.\n");
  EXPECT_EQ(upgrade("layer { type: 'BatchNorm' param {} param {} param {} }"),
            "Attempting to upgrade batch norm layers using deprecated params: f\n"
            "Successfully upgraded batch norm layers using deprecated params.\n");
  SolverParameter solver = Parse<SolverParameter>("solver_type: ADAM");
  EXPECT_EQ(Logged([&solver] { UpgradeSolverAsNeeded("f", &solver); }),
            input + "'solver_type' field (enum): f\n" + file +
                "'solver_type' field (enum) to 'type' field (string).\n");
}

class ReadParams : public ::testing::Test {
 protected:
  ReadParams() { MakeTempDir(&folder_); }
  ~ReadParams() override { fs::remove_all(folder_); }
  string Write(const string& name, const string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  string folder_;
};

TEST_F(ReadParams, UpgradesNets) {
  NetParameter text, binary;
  ReadNetParamsFromTextFileOrDie(Write("net.prototxt", "layers { name: 'r' type: RELU }"), &text);
  EXPECT_EQ(text.layer(0).type(), "ReLU");
  const string path = folder_ + "/net.caffemodel";
  WriteProtoToBinaryFile(Parse<NetParameter>("layers { name: 'r' type: RELU blobs { data: 1 } }"),
                         path);
  ReadNetParamsFromBinaryFileOrDie(path, &binary);
  EXPECT_EQ(binary.layer(0).blobs(0).data(0), 1);
}

TEST_F(ReadParams, CompletesTheSnapshotPrefix) {
  SolverParameter none, file, directory;
  ReadSolverParamsFromTextFileOrDie(Write("my.solver.prototxt", ""), &none);
  EXPECT_EQ(none.snapshot_prefix(), folder_ + "/my.solver");
  ReadSolverParamsFromTextFileOrDie(Write("a.prototxt", "snapshot_prefix: 'out/x'"), &file);
  EXPECT_EQ(file.snapshot_prefix(), "out/x");
  ReadSolverParamsFromTextFileOrDie(Write("b.prototxt", "snapshot_prefix: '" + folder_ + "'"),
                                    &directory);
  EXPECT_EQ(directory.snapshot_prefix(), folder_ + "/b");
}

TEST_F(ReadParams, RejectsWeightsWithoutLayers) {
  NetParameter net;
  EXPECT_ERROR(ReadNetParamsFromBinaryFileOrDie(Write("empty.caffemodel", ""), &net),
               "empty.caffemodel holds no layers");
}

TEST_F(ReadParams, ReportsMistakesWithFileLineAndColumn) {
  NetParameter net;
  SolverParameter solver;
  EXPECT_ERROR(
      ReadNetParamsFromTextFileOrDie(Write("n.prototxt", "\nlayer { tpye: 'ReLU' }"), &net),
      "n.prototxt:2:.*tpye");
  EXPECT_ERROR(ReadSolverParamsFromTextFileOrDie(Write("s.prototxt", "base_lr: fast"), &solver),
               "s.prototxt:1:");
}

}  // namespace
}  // namespace caffe
