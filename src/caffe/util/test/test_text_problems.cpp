#include "caffe/util/text_problems.hpp"

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/warnings.hpp"
#include "caffe/util/fork_fields.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/problem_list.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

template <typename Message>
string ProblemsOf(const string& text, Message* message) {
  string rest = text;
  TextProblems problems("file", *message);
  bool parsed;
  do {
    google::protobuf::io::ArrayInputStream stream(rest.data(), static_cast<int>(rest.size()));
    google::protobuf::TextFormat::Parser parser;
    parser.AllowUnknownField(true);
    parser.RecordErrorsTo(&problems);
    parsed = parser.Parse(&stream, message);
  } while (!parsed && problems.BlankOutUnknownValue(&rest));
  EXPECT_EQ(parsed || !problems.text().empty(), true);
  problems.WarnAboutForkFields();
  return problems.text();
}

string NetProblems(const string& text) {
  NetParameter net;
  return ProblemsOf(text, &net);
}

TEST(TextProblems, AreNoneInAGoodText) {
  EXPECT_EQ(NetProblems("name: 'n' layer { name: 'a' pooling_param { kernel_size: 2 } }"), "");
}

TEST(TextProblems, ListKnownValuesForAnUnknownOne) {
  EXPECT_EQ(
      NetProblems("layer {\n  pooling_param { pool: AVERAGE }\n}\n"),
      "file:2:25: Unknown enumeration value of \"AVERAGE\" for field \"pool\". Known are MAX, "
      "AVE, STOCHASTIC.");
  const string many = NetProblems("layer { reduction_param { operation: PRODUCT } }");
  EXPECT_NE(many.find("PROD, SUM, MAX (EltwiseParameter)"), string::npos) << many;
  EXPECT_NE(many.find("SUM, ASUM, SUMSQ, MEAN (ReductionParameter)"), string::npos) << many;
  const string old = NetProblems("layers { type: RELUU }");
  EXPECT_NE(old.find(", RELU, "), string::npos) << old;
}

TEST(TextProblems, IncludeThoseAfterUnknownValues) {
  const string text = NetProblems(
      "layer {\n\tpooling_param { pool: AVERAGE, kernel_size: 2, kernal_size: 2 }\n}\n"
      "layers { type: BN; name: 'a' } # type: BN\nlayers { type: # BN\n  BN }\n"
      "layers { type: [RELUU] }\n");
  std::vector<string> places;
  std::istringstream lines(text);
  for (string line; std::getline(lines, line);) places.push_back(line.substr(0, line.find(": ")));
  EXPECT_EQ(places,
            (std::vector<string>{"file:2:31", "file:2:67", "file:4:16", "file:6:3", "file:7:16"}))
      << text;
}

TEST(TextProblems, AreWarningsInLayersOfWhichOnlyShapesMatter) {
  string path;
  MakeTempFilename(&path);
  std::ofstream(path) << "layers { name: 'd' type: MY_DATA top: 'x' data_param { speed: 2 } }\n"
                         "layers { name: 'i' type: INNER_PRODUCT bottom: 'x' top: 'y' }\n"
                         "layers { name: 'e' type: MY_DATA top: 'z' my_param { source: 'a' } }\n";
  NetParameter net;
  const Warnings warnings;
  ReadNetParamsFromTextFileOrDie(
      path, &net, [](const LayerParameter& layer) { return layer.type() == "MY_DATA"; });
  ASSERT_EQ(net.layer_size(), 3);
  EXPECT_EQ(net.layer(0).type(), "MY_DATA");
  EXPECT_EQ(net.layer(1).type(), "InnerProduct");
  EXPECT_EQ(net.layer(2).type(), "MY_DATA");
  EXPECT_EQ(warnings.lines,
            std::vector<string>{path + ":1:26: not known here: MY_DATA, speed, my_param; it is "
                                       "passed over, as nothing but shapes matters of the layers "
                                       "that have it."});
  std::ofstream(path, std::ios::app) << "layers { type: RELU relu_param { speed: 2 } }\n";
  EXPECT_ERROR(
      ReadNetParamsFromTextFileOrDie(
          path, &net, [](const LayerParameter& layer) { return layer.type() == "MY_DATA"; }),
      "file:4:39: .*no field named \"speed\"");
}

bool IsMine(const LayerParameter& layer) { return layer.type() == "MY_LAYER"; }

TEST(TextProblems, AreWarningsInLayersOfASolversNetOfWhichOnlyShapesMatter) {
  string path;
  MakeTempFilename(&path);
  const string text =
      "train_net_param {\n"
      "  layer { name: 'a' type: 'MY_LAYER' bottom: 'x' top: 'y' my_param { size: 3 } }\n"
      "  layer { name: 'b' type: 'ReLU' bottom: 'y' top: 'y' }\n}\n"
      "test_net_param {\n  layers { name: 'c' type: RELU bottom: 'x' top: 'y' }\n}\n"
      "test_net_param {\n  layers { name: 'd' type: MY_LAYER bottom: 'x' top: 'y' speed: 2 }\n}\n";
  std::ofstream(path) << text;
  SolverParameter solver;
  const Warnings warnings;
  ReadSolverParamsFromTextFileOrDie(path, &solver, IsMine);
  ASSERT_EQ(solver.test_net_param_size(), 2);
  EXPECT_EQ(solver.train_net_param().layer(0).origin(), path + ":2");
  EXPECT_EQ(solver.test_net_param(0).layer(0).type(), "ReLU");
  EXPECT_EQ(solver.test_net_param(1).layer(0).type(), "MY_LAYER");
  EXPECT_EQ(solver.test_net_param(1).layer(0).origin(), path + ":9");
  EXPECT_EQ(warnings.lines,
            std::vector<string>{path + ":9:28: not known here: MY_LAYER, my_param, speed; it is "
                                       "passed over, as nothing but shapes matters of the layers "
                                       "that have it."});
  EXPECT_ERROR(ReadSolverParamsFromTextFileOrDie(path, &solver), "file:2:68: .*\"my_param\"");
}

TEST(TextProblems, AreNotExcusedAfterALayerOfWhichOnlyShapesMatter) {
  string path;
  MakeTempFilename(&path);
  const string layer = "layer { name: 'a' type: 'MY_LAYER' top: 'y' my_param { size: 3 } }\n";
  const auto write = [&](const string& text) { std::ofstream(path) << text; };
  NetParameter net;
  for (const string behind :
       {"state { phase: TEST depth: 3 }", "state { phase: VALIDATE }", "depth: 3"}) {
    write(layer + behind);
    EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net, IsMine),
                 "file:2:[0-9]*: [^\n]*\"(depth|VALIDATE)\"");
  }
  SolverParameter solver;
  for (const string behind : {"train_state { depth: 3 }", "solver_mode: TPU", "depth: 3"}) {
    write("net_param {\n" + layer + "}\n" + behind);
    EXPECT_ERROR(ReadSolverParamsFromTextFileOrDie(path, &solver, IsMine),
                 "file:4:[0-9]*: [^\n]*\"(depth|TPU)\"");
  }
}

TEST(TextProblems, NameTheUnknownTypeOfALayerWithAnUnknownField) {
  string path;
  MakeTempFilename(&path);
  std::ofstream(path) << "layer { name: 'x' type: 'LayerOfAFork' fork_param { a: 1 } }\n"
                      << "layer { name: 'y' type: 'ReLU' fork_param { a: 1 } }\n";
  NetParameter net;
  EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net),
               "has no field named \"fork_param\".*Layers of type LayerOfAFork are not known here: "
               "docs/add-a-layer.md");
}

TEST(TextProblems, IdentifyAFileThatIsNoText) {
  string path;
  MakeTempFilename(&path);
  const auto said = [&](const string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    NetParameter net;
    return "^" + path + ": ";
  };
  NetParameter net;
  string where = said(string("\x0a\x04name\x12\x00\x01", 9));
  EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net), where + "is a binary file");
  where = said(string("\xFF\xFEn\0a\0", 6));
  EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net), where + "is text in UTF-16");
  where = said("\x89HDF\r\n");
  EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net), where + "is an HDF5 file");
  where = said("");
  EXPECT_ERROR(ReadNetParamsFromTextFileOrDie(path, &net), where + "there is no layer in it");
}

TEST(TextProblems, ExplainCurlyQuotes) {
  const string text = NetProblems("name: \xE2\x80\x9Cn\xE2\x80\x9D\n");
  EXPECT_EQ(
      text,
      "file:1:7: a character outside of ASCII is not allowed here; use straight quotes, \" or '");
}

TEST(TextProblems, SuggestTheTypeInTheRightFormat) {
  EXPECT_EQ(NetProblems("layer { type: INNER_PRODUCT }"),
            "file:1:15: Expected string, got: INNER_PRODUCT. In 'layer' it is type: "
            "\"InnerProduct\"; words are types in the older 'layers'");
  EXPECT_EQ(NetProblems("layers { type: \"InnerProduct\" }"),
            "file:1:16: Expected integer or identifier, got: \"InnerProduct\". In the older "
            "'layers' it is type: INNER_PRODUCT; strings are types in 'layer'");
  EXPECT_EQ(NetProblems("layer { name: Ip }"), "file:1:15: Expected string, got: Ip");
}

TEST(TextProblems, NamePlaceAndNearestNameOfEveryUnknownField) {
  EXPECT_EQ(NetProblems("name: 'n'\nlayer {\n  nmae: 'a'\n  pooling_param { kernal_size: 2 }\n}\n"
                        "nothing_like_it { a: 1 b { c: 2 } }\n"),
            "file:3:7: Message type \"caffe.LayerParameter\" has no field named \"nmae\"; did you "
            "mean \"name\"?\n"
            "file:4:30: Message type \"caffe.PoolingParameter\" has no field named "
            "\"kernal_size\"; did you mean \"kernel_size\"?\n"
            "file:6:17: Message type \"caffe.NetParameter\" has no field named "
            "\"nothing_like_it\"");
}

TEST(TextProblems, IncludeThoseBeforeASyntaxError) {
  const string text = NetProblems("typo: 1\nlayer { name 5 }\ntypo: 2\n");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("no field named \"typo\""), string::npos) << text;
  EXPECT_NE(text.find("\nfile:2:14: "), string::npos) << text;
}

TEST(TextProblems, IncludeAnUnknownEnumerationValue) {
  const string text = NetProblems("layer { pooling_param { pool: MIN } }");
  EXPECT_NE(text.find("file:1:"), string::npos) << text;
  EXPECT_NE(text.find("\"MIN\""), string::npos) << text;
}

TEST(TextProblems, AreTwentyLinesAtMost) {
  string text;
  for (int i = 0; i < 50; ++i) text += "wrong_" + std::to_string(i) + ": 1\n";
  const string told = NetProblems(text);
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), static_cast<int>(kMaxReportedProblems));
  EXPECT_NE(told.find("\n... and 30 more"), string::npos) << told;
}

TEST(TextProblems, ExplainATruncatedFile) {
  for (const char* cut : {"layer { name: 'a'", "layer { pooling_param {", "layer {\n  name:"}) {
    EXPECT_NE(NetProblems(cut).find("the file ends in the middle of a message"), string::npos)
        << NetProblems(cut);
  }
}

TEST(TextProblems, ExplainASolverInsteadOfANet) {
  EXPECT_EQ(NetProblems("net: 'n.prototxt'\nbase_lr: 0.1\nmax_iter: 5\n"),
            "file: is a solver, it has base_lr, max_iter, net; a net is needed here");
  SolverParameter solver;
  EXPECT_EQ(ProblemsOf("name: 'n' layer { name: 'a' }", &solver),
            "file: is a net, it has layer, name; a solver is needed here");
}

TEST(TextProblems, WarnOnceOfFieldsOfForksWithoutEffect) {
  const Warnings warnings;
  EXPECT_EQ(NetProblems("default_forward_type: FLOAT16\n"
                        "layer { quantization_param { bw: 8 } }\n"
                        "layer { quantization_param { bw: 8 precision: 'x' } }\n"),
            "");
  EXPECT_EQ(warnings.lines,
            (std::vector<string>{
                "file:2:28: quantization_param of intel/caffe has no effect here: nothing is "
                "computed in integers (2 times).",
                "file:1:21: default_forward_type of NVIDIA/caffe has no effect here: all is "
                "computed in single precision."}));
}

TEST(TextProblems, IncludeFieldsOfForksThatChangeResults) {
  SolverParameter solver;
  const Warnings warnings;
  EXPECT_EQ(ProblemsOf("base_lr: 1\nlarc: true\n", &solver),
            "file:2:5: Message type \"caffe.SolverParameter\" has no field named \"larc\"; "
            "NVIDIA/caffe has it, and it is not supported here");
  EXPECT_EQ(warnings.lines, std::vector<string>());
}

TEST(TextProblems, ListNoFieldOfAForkThatCaffeProtoHas) {
  const google::protobuf::FileDescriptor* file = NetParameter::descriptor()->file();
  for (int i = 0; i < file->message_type_count(); ++i) {
    const google::protobuf::Descriptor* message = file->message_type(i);
    for (int j = 0; j < message->field_count(); ++j)
      EXPECT_EQ(FindForkField(message->name(), message->field(j)->name()), nullptr)
          << message->field(j)->full_name();
  }
  EXPECT_NE(FindForkField("LayerParameter", "quantization_param"), nullptr);
}

TEST(TextProblems, IgnoreAByteOrderMark) {
  string path;
  MakeTempFilename(&path);
  for (const string text : {"\xEF\xBB\xBFname: 'n'", "name: 'n'", ""}) {
    std::ofstream(path, std::ios::binary) << text;
    NetParameter net;
    ASSERT_TRUE(ReadProtoFromTextFile(path, &net)) << text;
    EXPECT_EQ(net.name(), text.empty() ? "" : "n");
  }
  std::ofstream(path, std::ios::binary) << "\xEF\xBBname: 'n'";
  NetParameter net;
  EXPECT_FALSE(ReadProtoFromTextFile(path, &net));
}

}  // namespace
}  // namespace caffe
