// The three upgrade programs write what the library makes of the file, and write nothing if they
// cannot read it.
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "caffe/net.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "program_test.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

const char kV0[] =
    "name: 'old' input: 'data' input_dim: 2 input_dim: 3 input_dim: 8 input_dim: 8"
    " layers { layer { name: 'pad' type: 'padding' pad: 1 } bottom: 'data' top: 'pad' }"
    " layers { layer { name: 'conv' type: 'conv' num_output: 4 kernelsize: 3 biasterm: false"
    "                  weight_filler { type: 'constant' value: 0.5 } blobs_lr: 2 }"
    "          bottom: 'pad' top: 'conv' }"
    " layers { layer { name: 'pool' type: 'pool' pool: AVE kernelsize: 2 stride: 2 }"
    "          bottom: 'conv' top: 'pool' }"
    " layers { layer { name: 'prob' type: 'softmax' } bottom: 'pool' top: 'prob' }";
const char kV1[] =
    "name: 'old' layers { name: 'data' type: DUMMY_DATA top: 'data'"
    "                     dummy_data_param { num: 2 channels: 3 height: 8 width: 8 } }"
    " layers { name: 'ip' type: INNER_PRODUCT bottom: 'data' top: 'ip' blobs_lr: 1 blobs_lr: 2"
    "          weight_decay: 1 weight_decay: 0 param: 'w' param: 'b'"
    "          inner_product_param { num_output: 2 } }"
    " layers { name: 'unseen' type: IMAGE_DATA top: 'x' include { phase: TEST }"
    "          image_data_param { source: 's' scale: 0.5 mirror: true } }"
    " layers { name: 'relu' type: RELU bottom: 'ip' top: 'ip' }";
const char kBatchNorm[] =
    "name: 'old' layer { name: 'data' type: 'DummyData' top: 'data'"
    "                    dummy_data_param { shape { dim: 2 dim: 3 } } }"
    " layer { name: 'bn' type: 'BatchNorm' bottom: 'data' top: 'bn'"
    "         param { lr_mult: 1 } param { lr_mult: 1 } param { lr_mult: 1 } }";
const char kCurrent[] =
    "name: 'new' layer { name: 'data' type: 'DummyData' top: 'data'"
    "                    dummy_data_param { shape { dim: 2 dim: 3 } } }";

template <typename Proto>
Proto Parse(const string& text) {
  Proto proto;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

string Contents(const string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

class UpgradeTools : public ProgramTest {
 protected:
  /// Expects that the program fails with a message that contains `says`, and writes nothing.
  void ExpectRefused(const string& program, const string& in, const string& says) const {
    ExpectFails(program, in + " " + Path("out"), says);
    EXPECT_FALSE(fs::exists(Path("out")));
    for (const auto& entry : fs::directory_iterator(folder()))
      EXPECT_EQ(entry.path().string().find("out"), string::npos) << entry.path();
  }
};

TEST_F(UpgradeTools, WriteTheTextThatTheLibraryMakes) {
  for (const string text : {kV0, kV1, kBatchNorm}) {
    const string in = Write("in.prototxt", text);
    const Outcome outcome = Run("upgrade_net_proto_text", in + " " + Path("out.prototxt"));
    EXPECT_EQ(outcome.code, 0) << outcome.text;
    EXPECT_NE(outcome.text.find("Attempting to upgrade "), string::npos) << outcome.text;
    EXPECT_NE(outcome.text.find("Successfully upgraded "), string::npos) << outcome.text;
    NetParameter expected, found;
    ReadNetParamsFromTextFileOrDie(in, &expected);
    ReadProtoFromTextFileOrDie(Path("out.prototxt"), &found);
    EXPECT_EQ(found.DebugString(), WithoutOrigins(expected).DebugString());
    EXPECT_FALSE(NetNeedsUpgrade(found));
    found.mutable_state()->set_phase(TRAIN);
    Net<float>(found).Forward();
  }
}

TEST_F(UpgradeTools, WriteTheWeightsThatTheLibraryMakes) {
  NetParameter old = Parse<NetParameter>(kV1);
  BlobProto* const blob = old.mutable_layers(1)->add_blobs();
  blob->set_num(1);
  blob->set_channels(1);
  blob->set_height(2);
  blob->set_width(192);
  for (int i = 0; i < 2 * 192; ++i) blob->add_data(static_cast<float>(i) / 7);
  WriteProtoToBinaryFile(old, Path("in.caffemodel"));
  const string paths = Path("in.caffemodel") + " " + Path("out.caffemodel");
  const Outcome outcome = Run("upgrade_net_proto_binary", paths);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  NetParameter expected;
  ReadNetParamsFromBinaryFileOrDie(Path("in.caffemodel"), &expected);
  EXPECT_EQ(Contents(Path("out.caffemodel")), expected.SerializeAsString());
  EXPECT_EQ(expected.layer(1).blobs(0).data_size(), 2 * 192);
}

TEST_F(UpgradeTools, WriteTheSolverThatTheLibraryMakes) {
  const string in = Write("in.prototxt", "net: 'x' base_lr: 0.1 solver_type: ADADELTA delta: 1e-6");
  const Outcome outcome = Run("upgrade_solver_proto_text", in + " " + Path("out.prototxt"));
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  SolverParameter expected = Parse<SolverParameter>(Contents(in)), found;
  ASSERT_TRUE(UpgradeSolverAsNeeded(in, &expected));
  ReadProtoFromTextFileOrDie(Path("out.prototxt"), &found);
  EXPECT_EQ(found.DebugString(), expected.DebugString());
  EXPECT_EQ(found.type(), "AdaDelta");
}

TEST_F(UpgradeTools, CopyCurrentFilesAndMayReplaceTheirInput) {
  const string in = Write("net.prototxt", kCurrent);
  Outcome outcome = Run("upgrade_net_proto_text", in + " " + in);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_NE(outcome.text.find("File already in latest proto format: " + in), string::npos);
  EXPECT_EQ(Parse<NetParameter>(Contents(in)).DebugString(),
            Parse<NetParameter>(kCurrent).DebugString());
  Write("net.prototxt", kV1);
  outcome = Run("upgrade_net_proto_text", in + " " + in);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_FALSE(NetNeedsUpgrade(Parse<NetParameter>(Contents(in))));
}

TEST_F(UpgradeTools, ExitWithOneIfSomethingIsLost) {
  const string in = Write("net.prototxt",
                          "input: 'x' layers { layer { name: 'r' type: 'relu' num_output: 3 } "
                          "bottom: 'x' top: 'y' }");
  const Outcome outcome = Run("upgrade_net_proto_text", in + " " + Path("rest.prototxt"));
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.text.find("Unknown parameter num_output for layer type relu"), string::npos);
  EXPECT_EQ(Parse<NetParameter>(Contents(Path("rest.prototxt"))).layer(0).type(), "ReLU");
}

TEST_F(UpgradeTools, RefuseBadFilesInOneSentence) {
  const string typo = Write("typo.prototxt", "name: 'x'\nlayers { tpye: RELU }");
  ExpectRefused("upgrade_net_proto_text", typo, "typo.prototxt:2:");
  ExpectRefused("upgrade_net_proto_binary", typo, "typo.prototxt");
  ExpectRefused("upgrade_solver_proto_text", typo, "typo.prototxt: is a net, it has layers, name");
  ExpectRefused("upgrade_net_proto_text", Path("none"), "File not found: " + Path("none"));
  ExpectRefused("upgrade_net_proto_binary", Path(""), "it is a folder");
  for (const char* name : {"text", "binary"}) {
    const string program = string("upgrade_net_proto_") + name;
    ExpectRefused(program, Write("nothing", ""), "nothing is empty, or no NetParameter");
  }
  ExpectRefused("upgrade_solver_proto_text", Path("nothing"), "nothing is empty");
  string cut = Parse<NetParameter>(kV1).SerializeAsString();
  cut.pop_back();
  ExpectRefused("upgrade_net_proto_binary", Write("cut", cut), "/cut: no binary NetParameter");
  ExpectRefused("upgrade_net_proto_text", Write("cut", cut), "/cut:");
  SolverState state;
  state.set_iter(3);
  ExpectRefused("upgrade_net_proto_binary", Write("state", state.SerializeAsString()),
                "/state is empty, or no NetParameter binary proto");
}

TEST_F(UpgradeTools, NameTheFileOfAnInvalidNet) {
  ExpectRefused("upgrade_net_proto_text",
                Write("v0", "layers { layer { name: 'r' type: 'rleu' } }"),
                "Unknown layer name: rleu\n    in " + Path("v0"));
  ExpectRefused("upgrade_net_proto_text",
                Write("bottom", "layers { layer { name: 'r' type: 'relu' } bottom: 'no' }"),
                "Unknown bottom blob 'no' (layer 'r', bottom index 0)\n    in " + Path("bottom"));
  ExpectRefused("upgrade_net_proto_text",
                Write("dims", "input: 'x' input_dim: 1 layer { name: 'r' type: 'ReLU' }"),
                "\n    in " + Path("dims"));
  ExpectRefused("upgrade_solver_proto_text", Write("both", "type: 'Adam' solver_type: ADAM"),
                "\n    in " + Path("both"));
}

TEST_F(UpgradeTools, NameTheFileThatCannotBeWritten) {
  const string in = Write("in.prototxt", kV1);
  for (const string& out : {Path("no/such/folder"), Path("")}) {
    const Outcome outcome = Run("upgrade_net_proto_text", in + " " + out);
    EXPECT_EQ(outcome.code, 1) << outcome.text;
    EXPECT_NE(outcome.text.find("Cannot write " + out), string::npos) << outcome.text;
  }
  EXPECT_EQ(Contents(in), kV1);
}

TEST_F(UpgradeTools, PrintTheirUsage) {
  for (const string program :
       {"upgrade_net_proto_text", "upgrade_net_proto_binary", "upgrade_solver_proto_text"}) {
    for (const char* arguments : {"a", "--help"}) {
      const Outcome outcome = Run(program, arguments);
      EXPECT_EQ(outcome.code, string(arguments) == "--help" ? 0 : 1) << outcome.text;
      EXPECT_EQ(outcome.text.find("usage: " + program + " IN OUT"), 0u) << outcome.text;
    }
  }
}

}  // namespace
}  // namespace caffe
