#include "caffe/util/upgrade_proto.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "caffe/util/io.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

template <typename Message>
Message Parse(const string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// UpgradeNetAsNeeded turns `before` into `after`, and finds nothing to do there.
void ExpectUpgrade(const string& before, const string& after) {
  NetParameter net = Parse<NetParameter>(before);
  EXPECT_TRUE(NetNeedsUpgrade(net));
  EXPECT_TRUE(UpgradeNetAsNeeded("net.prototxt", &net));
  EXPECT_EQ(net.DebugString(), Parse<NetParameter>(after).DebugString());
  EXPECT_FALSE(NetNeedsUpgrade(net));
}

TEST(UpgradeProto, ACurrentNetStaysAsItIs) {
  const NetParameter before = Parse<NetParameter>(
      "name: 'n' layer { name: 'ip' type: 'InnerProduct' bottom: 'x' top: 'y' param { lr_mult: 1 } "
      "}");
  NetParameter net = before;
  EXPECT_FALSE(NetNeedsUpgrade(net));
  EXPECT_TRUE(UpgradeNetAsNeeded("net.prototxt", &net));
  EXPECT_EQ(net.DebugString(), before.DebugString());
}

TEST(UpgradeProto, V0BecomesCurrent) {
  ExpectUpgrade(
      "name: 'CaffeNet' force_backward: true"
      " layers { layer { name: 'data' type: 'data' source: '/db' meanfile: '/mean' batchsize: 256"
      "                  cropsize: 227 mirror: true scale: 0.5 rand_skip: 3 } top: 'data' top: "
      "'label' }"
      " layers { layer { name: 'pad' type: 'padding' pad: 2 } bottom: 'data' top: 'pad' }"
      " layers { layer { name: 'conv' type: 'conv' num_output: 96 biasterm: false group: 2 "
      "kernelsize: 11 stride: 4"
      "                  weight_filler { type: 'gaussian' std: 0.01 } blobs_lr: 1 blobs_lr: 2"
      "                  weight_decay: 1 weight_decay: 0 } bottom: 'pad' top: 'conv' }"
      " layers { layer { name: 'relu' type: 'relu' } bottom: 'conv' top: 'conv' }"
      " layers { layer { name: 'pool' type: 'pool' pool: AVE kernelsize: 3 stride: 2 pad: 1 } "
      "bottom: 'conv' top: 'pool' }"
      " layers { layer { name: 'norm' type: 'lrn' local_size: 5 alpha: 0.0001 beta: 0.75 k: 2 } "
      "bottom: 'pool' top: 'norm' }"
      " layers { layer { name: 'drop' type: 'dropout' dropout_ratio: 0.2 } bottom: 'norm' top: "
      "'norm' }"
      " layers { layer { name: 'ip' type: 'innerproduct' num_output: 10 biasterm: true"
      "                  bias_filler { type: 'constant' value: 1 } } bottom: 'norm' top: 'ip' }"
      " layers { layer { name: 'loss' type: 'softmax_loss' } bottom: 'ip' bottom: 'label' }",
      "name: 'CaffeNet' force_backward: true"
      " layer { name: 'data' type: 'Data' top: 'data' top: 'label'"
      "         data_param { source: '/db' batch_size: 256 rand_skip: 3 }"
      "         transform_param { scale: 0.5 mean_file: '/mean' crop_size: 227 mirror: true } }"
      " layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv'"
      "         param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 }"
      "         convolution_param { num_output: 96 bias_term: false group: 2 kernel_size: 11 "
      "stride: 4 pad: 2"
      "                             weight_filler { type: 'gaussian' std: 0.01 } } }"
      " layer { name: 'relu' type: 'ReLU' bottom: 'conv' top: 'conv' }"
      " layer { name: 'pool' type: 'Pooling' bottom: 'conv' top: 'pool'"
      "         pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }"
      " layer { name: 'norm' type: 'LRN' bottom: 'pool' top: 'norm'"
      "         lrn_param { local_size: 5 alpha: 0.0001 beta: 0.75 k: 2 } }"
      " layer { name: 'drop' type: 'Dropout' bottom: 'norm' top: 'norm' dropout_param { "
      "dropout_ratio: 0.2 } }"
      " layer { name: 'ip' type: 'InnerProduct' bottom: 'norm' top: 'ip'"
      "         inner_product_param { num_output: 10 bias_term: true bias_filler { type: "
      "'constant' value: 1 } } }"
      " layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' }");
}

TEST(UpgradeProto, V0DataSourcesBecomeCurrent) {
  ExpectUpgrade(
      "layers { layer { name: 'i' type: 'images' source: 's' batchsize: 2 rand_skip: 1 "
      "shuffle_images: true"
      "                 new_height: 5 new_width: 6 } top: 'i' }"
      " layers { layer { name: 'w' type: 'window_data' source: 's' batchsize: 2 det_fg_threshold: "
      "0.6"
      "                  det_bg_threshold: 0.4 det_fg_fraction: 0.3 det_context_pad: 16 "
      "det_crop_mode: 'square' } top: 'w' }"
      " layers { layer { name: 'h' type: 'hdf5_data' source: 's' batchsize: 2 } top: 'h' }"
      " layers { layer { name: 'o' type: 'hdf5_output' hdf5_output_param { file_name: 'f' } } "
      "bottom: 'h' }"
      " layers { layer { name: 'c' type: 'concat' concat_dim: 2 } bottom: 'i' bottom: 'w' top: 'c' "
      "}"
      " layers { layer { name: 'l' type: 'infogain_loss' source: 'm' } bottom: 'c' }",
      "layer { name: 'i' type: 'ImageData' top: 'i' image_data_param { source: 's' batch_size: 2 "
      "rand_skip: 1"
      "        shuffle: true new_height: 5 new_width: 6 } }"
      " layer { name: 'w' type: 'WindowData' top: 'w' window_data_param { source: 's' batch_size: "
      "2 fg_threshold: 0.6"
      "         bg_threshold: 0.4 fg_fraction: 0.3 context_pad: 16 crop_mode: 'square' } }"
      " layer { name: 'h' type: 'HDF5Data' top: 'h' hdf5_data_param { source: 's' batch_size: 2 } }"
      " layer { name: 'o' type: 'HDF5Output' bottom: 'h' hdf5_output_param { file_name: 'f' } }"
      " layer { name: 'c' type: 'Concat' bottom: 'i' bottom: 'w' top: 'c' concat_param { "
      "concat_dim: 2 } }"
      " layer { name: 'l' type: 'InfogainLoss' bottom: 'c' infogain_loss_param { source: 'm' } }");
}

// Every field of V0LayerParameter reaches some layer type, so that none is lost by a gap in the
// table; but new_num and new_channels, which V1 has no place for.
TEST(UpgradeProto, EveryV0FieldHasAPlace) {
  const auto& fields = *V0LayerParameter::descriptor();
  const char* types[] = {"conv", "innerproduct", "pool",        "dropout",       "lrn",
                         "data", "images",       "window_data", "infogain_loss", "concat",
                         "relu", "hdf5_output",  "hdf5_data"};
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto* field = fields.field(i);
    if (field->name() == "type") continue;
    int places = 0;
    for (const char* type : types) {
      const string value = field->message_type() != nullptr             ? " {}"
                           : field->cpp_type() == field->CPPTYPE_STRING ? ": 'x'"
                           : field->cpp_type() == field->CPPTYPE_BOOL   ? ": true"
                                                                        : ": 1";
      V1LayerParameter upgraded;
      places +=
          UpgradeV0LayerParameter(Parse<V1LayerParameter>("layer { type: '" + string(type) + "' " +
                                                          field->name() + value + " }"),
                                  &upgraded);
    }
    const bool dropped = field->name() == "new_num" || field->name() == "new_channels";
    EXPECT_EQ(places == 0, dropped) << field->name();
  }
}

TEST(UpgradeProto, AV0FieldOfAnotherLayerTypeIsReported) {
  NetParameter net = Parse<NetParameter>(
      "layers { layer { name: 'r' type: 'relu' num_output: 3 } bottom: 'x' top: 'y' } input: 'x'");
  EXPECT_FALSE(UpgradeNetAsNeeded("net.prototxt", &net));
}

TEST(UpgradeProtoDeathTest, V0MistakesAreNamed) {
  NetParameter net = Parse<NetParameter>("layers { layer { name: 'r' type: 'rleu' } }");
  EXPECT_DEATH(UpgradeNetAsNeeded("net.prototxt", &net), "Unknown layer name: rleu");
  NetParameter unknown =
      Parse<NetParameter>("layers { layer { name: 'r' type: 'relu' } bottom: 'no' }");
  EXPECT_DEATH(UpgradeNetAsNeeded("net.prototxt", &unknown), "Unknown bottom blob 'no' .layer 'r'");
  NetParameter padding = Parse<NetParameter>(
      "input: 'x' layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'x' top: 'p' }"
      " layers { layer { name: 'r' type: 'relu' } bottom: 'p' top: 'r' }");
  EXPECT_DEATH(UpgradeNetAsNeeded("net.prototxt", &padding),
               "Layer 'r' of type relu reads a padding layer");
}

TEST(UpgradeProto, V1BecomesCurrent) {
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

TEST(UpgradeProto, EveryV1TypeAndParamHasAPlace) {
  const auto& types = *V1LayerParameter::LayerType_descriptor();
  std::set<string> names;
  for (int i = 0; i < types.value_count(); ++i) {
    names.insert(
        UpgradeV1LayerType(static_cast<V1LayerParameter_LayerType>(types.value(i)->number())));
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

TEST(UpgradeProto, MixedLayerFieldsAreReported) {
  NetParameter net =
      Parse<NetParameter>("layers { name: 'a' type: RELU } layer { name: 'b' type: 'ReLU' }");
  EXPECT_FALSE(UpgradeNetAsNeeded("net.prototxt", &net));
  ASSERT_EQ(net.layer_size(), 1);
  EXPECT_EQ(net.layer(0).name(), "a");
}

TEST(UpgradeProto, OldTransformationsMoveToTransformParam) {
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

TEST(UpgradeProto, InputsBecomeAnInputLayerInFront) {
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

TEST(UpgradeProtoDeathTest, InputsWithoutEnoughShapesAbort) {
  NetParameter net = Parse<NetParameter>("input: 'x' input_dim: 1 input_dim: 2");
  EXPECT_DEATH(UpgradeNetInput(&net), "Each input needs four of input_dim");
  NetParameter shapes = Parse<NetParameter>("input: 'x' input: 'y' input_shape { dim: 1 }");
  EXPECT_DEATH(UpgradeNetInput(&shapes), "Each input needs an input_shape");
}

TEST(UpgradeProto, BatchNormStatisticsAreNotLearned) {
  const string head = "layer { name: 'bn' type: 'BatchNorm' ";
  const string zero = " param { lr_mult: 0 decay_mult: 0 }";
  ExpectUpgrade(head + "param { lr_mult: 1 } param { name: 'v' } param { lr_mult: 0 } }",
                head + zero + " param { name: 'v' lr_mult: 0 decay_mult: 0 }" + zero + " }");
  EXPECT_FALSE(
      NetNeedsUpgrade(Parse<NetParameter>("layer { type: 'BatchNorm' param { lr_mult: 1 } }")));
}

TEST(UpgradeProto, SolverTypeBecomesAName) {
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

TEST(UpgradeProtoDeathTest, BothSolverTypesAbort) {
  SolverParameter solver = Parse<SolverParameter>("type: 'SGD' solver_type: SGD");
  EXPECT_DEATH(UpgradeSolverAsNeeded("solver.prototxt", &solver), "cannot be both specified");
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
typedef ReadParams ReadParamsDeathTest;

TEST_F(ReadParams, NetsAreUpgradedOnReading) {
  NetParameter text, binary;
  ReadNetParamsFromTextFileOrDie(Write("net.prototxt", "layers { name: 'r' type: RELU }"), &text);
  EXPECT_EQ(text.layer(0).type(), "ReLU");
  const string path = folder_ + "/net.caffemodel";
  WriteProtoToBinaryFile(Parse<NetParameter>("layers { name: 'r' type: RELU blobs { data: 1 } }"),
                         path);
  ReadNetParamsFromBinaryFileOrDie(path, &binary);
  EXPECT_EQ(binary.layer(0).blobs(0).data(0), 1);
}

TEST_F(ReadParams, SnapshotPrefixIsCompleted) {
  SolverParameter none, file, directory;
  ReadSolverParamsFromTextFileOrDie(Write("my.solver.prototxt", ""), &none);
  EXPECT_EQ(none.snapshot_prefix(), folder_ + "/my.solver");
  ReadSolverParamsFromTextFileOrDie(Write("a.prototxt", "snapshot_prefix: 'out/x'"), &file);
  EXPECT_EQ(file.snapshot_prefix(), "out/x");
  ReadSolverParamsFromTextFileOrDie(Write("b.prototxt", "snapshot_prefix: '" + folder_ + "'"),
                                    &directory);
  EXPECT_EQ(directory.snapshot_prefix(), folder_ + "/b");
}

TEST_F(ReadParamsDeathTest, WeightsWithoutLayersAreRefused) {
  NetParameter net;
  EXPECT_DEATH(ReadNetParamsFromBinaryFileOrDie(Write("empty.caffemodel", ""), &net),
               "empty.caffemodel holds no layers");
}

TEST_F(ReadParamsDeathTest, MistakesAreNamedWithFileLineAndColumn) {
  NetParameter net;
  SolverParameter solver;
  EXPECT_DEATH(
      ReadNetParamsFromTextFileOrDie(Write("n.prototxt", "\nlayer { tpye: 'ReLU' }"), &net),
      "n.prototxt:2:.*tpye");
  EXPECT_DEATH(ReadSolverParamsFromTextFileOrDie(Write("s.prototxt", "base_lr: fast"), &solver),
               "s.prototxt:1:");
}

}  // namespace
}  // namespace caffe
