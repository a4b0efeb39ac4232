// The problems reported for a net that cannot be made.
#include "caffe/net/net_problems.hpp"

#include <fstream>

#include "caffe/net/test/training.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/shape_only.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

const char kData[] = "layer { name: 'in' type: 'Input' top: 'data' }\n";

string Layer(const string& type, const string& bottom, const string& top, const string& more = "") {
  return "layer { name: 'x' type: '" + type + "' bottom: '" + bottom + "' top: '" + top + "' " +
         more + " }\n";
}

string Problems(const string& layers) {
  const NetParameter net = ParseNet(kData + layers);
  return NetProblems(net, net);
}

/// Reads a net as the commands do.
NetParameter ReadNet(const string& text, string* path) {
  MakeTempFilename(path);
  std::ofstream(*path) << text;
  NetParameter net;
  ReadNetParamsFromTextFileOrDie(*path, &net);
  return net;
}

TEST(NetProblems, AreEmptyForAValidNet) {
  EXPECT_EQ("", Problems(Layer("ReLU", "data", "data") + Layer("TanH", "data", "y")));
  EXPECT_EQ("", Problems("layer { name: 's' type: 'ShapeOnlySource' top: 'y' }"));
}

TEST(NetProblems, SuggestTheNearestType) {
  EXPECT_EQ("Layer x: unknown layer type: Relu; did you mean \"ReLU\"?",
            Problems(Layer("Relu", "data", "y")));
  EXPECT_EQ("Layer x: unknown layer type: Convoluton; did you mean \"Convolution\"?",
            Problems(Layer("Convoluton", "data", "y")));
}

TEST(NetProblems, ListAllTypesIfNoneIsSimilar) {
  const string text = Problems(Layer("Zzzzzzzzz", "data", "y"));
  EXPECT_EQ(0u, text.find("Layer x: unknown layer type: Zzzzzzzzz (known types: AbsVal, ")) << text;
  EXPECT_NE(string::npos, text.find(", Convolution, ")) << text;
  EXPECT_EQ(string::npos, text.find("RecurrentState")) << text;
  EXPECT_EQ(string::npos, text.find("ShapeOnlySource")) << text;
}

TEST(NetProblems, SayWhatToDoAboutMissingLayers) {
  const string layers = Layer("Zzzzzzzzz", "data", "y") + Layer("Relu", "data", "z") +
                        Layer("Qqqqqqqqq", "data", "w", "top: 'v'");
  EXPECT_NE(string::npos, Problems(layers).find("\nTo run the net, compile the layers that are "
                                                "missing into the program"));
  const ShapeOnlyScope planned;
  EXPECT_NE(string::npos, Problems(layers).find(": --top_shape=y:SHAPE,w:SHAPE,v:SHAPE"))
      << Problems(layers);
}

TEST(NetProblems, SuggestTheNearestFiller) {
  const string conv = "convolution_param { num_output: 1 kernel_size: 1 ";
  EXPECT_EQ(
      "Layer x: weight_filler: Unknown filler name: xaver; did you mean \"xavier\"?",
      Problems(Layer("Convolution", "data", "y", conv + "weight_filler { type: 'xaver' } }")));
  EXPECT_EQ(
      "Layer x: data_filler: Unknown filler name: gabor (there are bilinear, constant, gaussian, "
      "integer, msra, positive_unitball, uniform, xavier)",
      Problems(Layer("DummyData", "data", "y",
                     "dummy_data_param { data_filler { } data_filler { type: 'gabor' } }")));
}

TEST(NetProblems, SuggestTheNearestBlob) {
  EXPECT_EQ(
      "Unknown bottom blob 'dta' (layer 'x', bottom index 0): no layer above produces it; did you "
      "mean \"data\"?",
      Problems(Layer("ReLU", "dta", "y")));
}

TEST(NetProblems, SayIfABlobIsMadeTooLateOrInAnotherPhase) {
  EXPECT_EQ(
      "Unknown bottom blob 'late' (layer 'x', bottom index 0): no layer above produces it; layer "
      "maker does",
      Problems(Layer("ReLU", "late", "y") +
               "layer { name: 'maker' type: 'ReLU' bottom: 'data' top: 'late' }"));
  const auto elsewhere = [](const string& rules) {
    const NetParameter all =
        ParseNet("layer { name: 'in' type: 'Input' top: 'data' " + rules + "}");
    return NetProblems(ParseNet(Layer("ReLU", "data", "y")), all);
  };
  const string unknown =
      "Unknown bottom blob 'data' (layer 'x', bottom index 0): no layer above produces it; layer "
      "in does, but ";
  EXPECT_EQ(unknown + "only in phase TEST: plan, compare and time take --phase=TEST",
            elsewhere("include { phase: TEST }"));
  EXPECT_EQ(unknown + "its rules leave it out: see --level and --stage",
            elsewhere("include { stage: 'deploy' }"));
}

TEST(NetProblems, NameBothMakersOfABlob) {
  EXPECT_EQ("Top blob 'data' produced by multiple sources (layer x and layer in).",
            Problems("layer { name: 'y' type: 'ReLU' bottom: 'data' top: 'z' }" +
                     Layer("ReLU", "z", "data")));
}

TEST(NetProblems, IncludeInPlaceLayersOnBlobsThatOthersRead) {
  const string said =
      "Top blob 'data' produced by multiple sources (layer x and layer in): others read it too, so "
      "no layer can work on it in place; give the top a name of its own";
  EXPECT_EQ(said, Problems(Layer("Power", "data", "y") + Layer("ReLU", "data", "data")));
  // Readers before the first in-place layer do not read its result.
  const string relu = Layer("ReLU", "data", "data");
  EXPECT_EQ("", Problems(relu + relu + Layer("Power", "data", "y") + Layer("TanH", "data", "z")));
  EXPECT_NE("", Problems(relu + Layer("Power", "data", "y") + relu));
  EXPECT_NE("", Problems("layer { name: 'l' type: 'ReLU' bottom: 'data' top: 'y' loss_weight: 1 }" +
                         Layer("ReLU", "y", "y")));
}

TEST(NetProblems, AreReportedAllAtOnceWithTheirLines) {
  string path;
  const NetParameter net = ReadNet(kData + Layer("Relu", "data", "y") +
                                       Layer("TanH", "dat", "z", "propagate_down: [true, true]"),
                                   &path);
  EXPECT_EQ(
      "The net has 3 problems:\n" + path +
          ":2: Layer x: unknown layer type: Relu; did you mean \"ReLU\"?\n" + path +
          ":3: Layer x: propagate_down must be specified either 0 times or once for each "
          "bottom.\n" +
          path +
          ":3: Unknown bottom blob 'dat' (layer 'x', bottom index 0): no layer above produces "
          "it; did you mean \"data\"?",
      NetProblems(net, net));
}

TEST(NetProblems, EndWithTheNumberOfProblemsNotListed) {
  string layers;
  for (int i = 0; i < 25; ++i) layers += Layer("ReLU", "none", "y" + std::to_string(i));
  const string text = Problems(layers);
  EXPECT_EQ(0u, text.find("The net has 25 problems:\n"));
  EXPECT_EQ(text.size() - 15, text.find("\n... and 5 more")) << text;
}

TEST(Origins, SurviveUpgrades) {
  string path;
  const NetParameter net = ReadNet(
      "input: 'data'\ninput_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n"
      "layers { name: 'a' type: RELU bottom: 'data' top: 'a' }\n"
      "layers { name: 'b' type: TANH bottom: 'a' top: 'b' }\n",
      &path);
  ASSERT_EQ(3, net.layer_size());
  EXPECT_EQ("", net.layer(0).origin());
  EXPECT_EQ(path + ":3", net.layer(1).origin());
  EXPECT_EQ(path + ":4", net.layer(2).origin());
  EXPECT_EQ(string::npos, WithoutOrigins(net).DebugString().find(path));
}

TEST(Origins, AreLinesOfTheSolverIfItContainsTheNet) {
  string path;
  MakeTempFilename(&path);
  std::ofstream(path) << "net_param {\n  layer { name: 'a' type: 'ReLU' }\n}\n"
                         "test_net_param {\n\n  layer { name: 'b' type: 'ReLU' }\n}\n";
  SolverParameter solver;
  ReadSolverParamsFromTextFileOrDie(path, &solver);
  EXPECT_EQ(path + ":2", solver.net_param().layer(0).origin());
  EXPECT_EQ(path + ":6", solver.test_net_param(0).layer(0).origin());
  EXPECT_EQ(string::npos, WithoutOrigins(solver).DebugString().find("origin"));
}

TEST(Origins, AreNotWritten) {
  string path;
  const Net<float> net(ReadNet(
      "layer { name: 'in' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }", &path));
  EXPECT_NE("", net.layers()[0]->layer_param().origin());
  NetParameter written;
  net.ToProto(&written);
  EXPECT_EQ("", written.layer(0).origin());
}

TEST(Origins, AreNotPartOfWrittenText) {
  string path;
  const NetParameter net = ReadNet("layer { name: 'a' type: 'ReLU' }", &path);
  ASSERT_NE("", net.layer(0).origin());
  SolverParameter solver;
  *solver.add_test_net_param() = net;
  string text;
  WriteProtoToTextFile(net, path + ".net");
  ASSERT_TRUE(ReadFileToString(path + ".net", &text));
  EXPECT_EQ(WithoutOrigins(net).DebugString(), text);
  WriteProtoToTextFile(solver, path + ".solver");
  ASSERT_TRUE(ReadFileToString(path + ".solver", &text));
  EXPECT_EQ(WithoutOrigins(solver).DebugString(), text);
}

}  // namespace
}  // namespace caffe
