#include <gtest/gtest.h>

#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/test/plan_writer.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Uses;

/// A graph that uses everything the format knows.
Graph Everything() {
  HandMade net;
  net.graph.name = "everything";
  const TensorId w = net.Add("w", 3, Role::kParameter);
  const TensorId dw = net.Add("w.grad", 3, Role::kParameterGradient);
  const TensorId h = net.Add("w.history", 3, Role::kHistory);
  const TensorId user = net.Add("input", 1, Role::kUser);
  const TensorId y = net.AddVersion("y", 5, 7);
  const TensorId y1 = net.AddVersion("y@1", 5, 7);
  const TensorId mask = net.Add("y:mask", 0, Role::kSaved);
  const TensorId work = net.Add("work", 11, Role::kWorkspace);
  const TensorId dy = net.Add("y.grad", 5, Role::kActivationGradient);
  net.graph.tensors[y1].keep = true;
  net.graph.tensors[h].host_access = true;
  net.Forward("conv/forward", Uses({user, w}, {y}));
  net.graph.ops[0].repeatable = true;
  net.graph.ops[0].variants[0].name = "only";
  net.graph.ops[0].variants[0].flops = 1e9 / 3;
  net.graph.ops[0].variants[0].bytes_moved = 12345678901.0;
  net.graph.ops[0].variants[0].algorithms = {{kNone, 0.1, true, {}}, {work, 1e-7, false, "fft"}};
  net.Forward("relu/forward", Uses({y}, {y1, mask}, {{y1, y}}));
  net.Run("y.grad/fill", Pass::kBackward, {Uses({}, {dy})}, OpKind::kFill);
  net.Run("conv/backward", Pass::kBackward,
          {Uses({user, dy, y1, dw}, {dw}), Uses({user, dy, mask, dw}, {dw})});
  net.Run("w/update", Pass::kUpdate, {Uses({w, dw, h}, {w, h})}, OpKind::kUpdate);
  return net.graph;
}

TEST(GraphText, ReadsBackWhatItWrote) {
  for (const Graph& graph : {Everything(), Chain().graph, Graph{}}) {
    const Result<Graph> read = GraphFromText(ToText(graph));
    ASSERT_TRUE(read.ok()) << read.status().message;
    EXPECT_EQ(read.value(), graph);
  }
}

TEST(GraphText, LooksAsDocumented) {
  Graph graph = Everything();
  graph.tensors.resize(5);
  graph.ops.resize(1);
  graph.ops[0].variants[0].algorithms.pop_back();
  EXPECT_EQ(ToText(graph),
            "layrub-graph 4\n"
            "graph everything\n"
            "tensor w 768 parameter state\n"
            "tensor w.grad 768 parameter_gradient state\n"
            "tensor w.history 768 history state host\n"
            "tensor input 256 user state\n"
            "tensor y 1280 activation blob=7\n"
            "op conv/forward forward compute repeatable\n"
            "variant only flops=333333333.33333331 bytes=12345678901\n"
            "reads input w\n"
            "writes y\n"
            "algorithm - seconds=0.10000000000000001 deterministic=1\n"
            "end\n");
}

TEST(GraphText, SkipsCommentsAndEmptyLines) {
  const Result<Graph> graph = GraphFromText("layrub-graph 4\n# a comment\n\ngraph small\nend");
  ASSERT_TRUE(graph.ok()) << graph.status().message;
  EXPECT_EQ(graph.value().name, "small");
}

TEST(GraphText, ErrorsNameTheLine) {
  const std::string head = "layrub-graph 4\ngraph g\ntensor x 4 activation\n";
  const std::string op = head + "op a forward compute\n";
  const std::string variant = op + "variant f flops=0 bytes=0\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "line 1: expected 'layrub-graph 4'"},
      {"layrub-graph 9\n", "line 1: expected 'layrub-graph 4'"},
      {"layrub-graph 1\n",
       "line 1: this is version 1 of the format, which older versions of Layrub"},
      {head + "tensor y 4\n", "line 4: expected 'tensor"},
      {head + "tensor y -4 activation\n", "line 4: expected 'tensor"},
      {head + "tensor y 4x activation\n", "line 4: expected 'tensor"},
      {head + "tensor y 99999999999999999999 activation\n", "line 4: expected 'tensor"},
      {head + "tensor y 4 colour\n", "line 4: expected 'tensor"},
      {head + "tensor y 4 activation sticky\n", "line 4: 'sticky' is not one of"},
      {head + "tensor x 4 activation\n", "line 4: another tensor is named x"},
      {head + "op a sideways compute\n", "line 4: expected 'op"},
      {head + "op a forward compute twice\n", "line 4: expected 'op"},
      {head + "variant f flops=0 bytes=0\n", "line 4: 'variant' has no operation"},
      {op + "reads x\n", "line 5: 'reads' has no variant"},
      {op + "variant f bytes=0 flops=0\n", "line 5: expected 'variant"},
      {variant + "reads x\nreads x\n", "line 7: the variant has another line of 'reads'"},
      {variant + "reads x  x\n", "line 6: there is no tensor ''"},
      {variant + "writes z\n", "line 6: there is no tensor 'z'"},
      {variant + "alias x\n", "line 6: expected 'alias"},
      {variant + "algorithm - seconds=1\n", "line 6: expected 'algorithm"},
      {variant + "algorithm - seconds=1 deterministic=2\n", "line 6: expected 'algorithm"},
      {variant + "algorithm - seconds=1 deterministic=1 name=\n", "line 6: expected 'algorithm"},
      {variant + "banana\n", "line 6: 'banana' is not a record"},
      {variant, "line 5: the text is cut off: its last line has to be 'end'"},
      {variant + "end\n# a comment\nreads x\n", "line 8: there is more after 'end'"},
      {variant + "end\nend\n", "line 7: there is more after 'end'"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = GraphFromText(text).status();
    EXPECT_EQ(status.code, Code::kInvalid);
    EXPECT_EQ(status.message.substr(0, message.size()), message);
  }
}

TEST(PlanText, ReadsBackWhatItWrote) {
  for (const Graph& graph : {Everything(), Chain().graph}) {
    for (const std::string& strategy : StrategyNames()) {
      const Result<Plan> plan = MakePlan(graph, {}, {}, strategy);
      ASSERT_TRUE(plan.ok()) << plan.status().message;
      const Result<Plan> read = PlanFromText(ToText(plan.value(), graph), graph);
      ASSERT_TRUE(read.ok()) << read.status().message;
      EXPECT_EQ(read.value(), plan.value());
    }
  }
  const Result<Plan> empty = PlanFromText(ToText(Plan{}, Graph{}), Graph{});
  ASSERT_TRUE(empty.ok());
  EXPECT_EQ(empty.value(), Plan{});
}

TEST(PlanText, NamesTheBytesOfParts) {
  const Graph graph = Chain().graph;
  testing::PlanWriter p(graph, 4096, 1024);
  p.Keep("x", 256);
  p.Move("x", 512, 256);
  p.Move("a", 1024);
  p.Free("a");
  p.Offload("x", 256, 768);
  p.Alloc("x", 512, Tier::kDevice, 256);
  p.Prefetch("x");
  EXPECT_EQ(testing::Steps(graph, p.plan),
            (std::vector<std::string>{"free device x 256 1024", "copy device device x 512 0 256",
                                      "copy device device a 1024", "free device a",
                                      "copy device host x 256 1024", "alloc device x 512 256 1024",
                                      "copy host device x"}));
  const Result<Plan> read = PlanFromText(ToText(p.plan, graph), graph);
  ASSERT_TRUE(read.ok()) << read.status().message;
  EXPECT_EQ(read.value(), p.plan);
}

TEST(PlanText, ErrorsNameTheLine) {
  const Graph graph = Chain().graph;
  const std::string head = "layrub-plan 5\nstrategy keep\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"layrub-graph 1\n", "line 1: expected 'layrub-plan 5'"},
      {head + "device_bytes many\n", "line 3: expected 'device_bytes <bytes>'"},
      {head + "host_bytes -1\n", "line 3: expected 'host_bytes <bytes>'"},
      {head + "spill_bytes\n", "line 3: expected 'spill_bytes <bytes>'"},
      {head + "0 copy file host x\n", "line 3: a copy begins or ends on the device"},
      {head + "pass_end 1 2\n", "line 3: expected 'pass_end"},
      {head + "readable x nothing\n", "line 3: the graph has no tensor 'nothing'"},
      {head + "banana\n", "line 3: 'banana' is not a record"},
      {head, "line 2: the text is cut off: its last line has to be 'end'"},
      {head + "end\n0 alloc device x 0\n", "line 4: there is more after 'end'"},
      {"layrub-plan 2\n",
       "line 1: this is version 2 of the format, which older versions of Layrub"},
      {head + "1 free device x\n", "line 3: step 0 is expected here, not 1"},
      {head + "0\n", "line 3: this is no kind of step"},
      {head + "0 offload x\n", "line 3: this is no kind of step"},
      {head + "0 alloc disk x 0\n", "line 3: expected '<step> alloc"},
      {head + "0 alloc device x\n", "line 3: expected '<step> alloc"},
      {head + "0 alloc device x 0 256\n", "line 3: expected '... <tensor> ... [<begin> <end>]"},
      {head + "0 free device\n", "line 3: expected '<step> free <device|host|file> <tensor> "},
      {head + "0 free device x half 1024\n", "line 3: expected '... <tensor>"},
      {head + "0 free device x 256 256\n", "line 3: tensor x has no bytes 256 to 256, it has 1024"},
      {head + "0 free device x -256 256\n", "line 3: tensor x has no bytes -256 to 256"},
      {head + "0 free device x 0 2048\n", "line 3: tensor x has no bytes 0 to 2048"},
      {head + "0 free device x 0 9223372036854775808\n", "line 3: expected '... <tensor>"},
      {head + "0 free device q\n", "line 3: the graph has no tensor 'q'"},
      {head + "0 alias x a\n", "line 3: expected '<step> alias"},
      {head + "0 alias x on q\n", "line 3: the graph has no tensor 'q'"},
      {head + "0 copy device x\n", "line 3: expected '<step> copy"},
      {head + "0 copy device disk x\n", "line 3: expected '<step> copy"},
      {head + "0 copy host host x\n", "line 3: a copy begins or ends on the device"},
      {head + "0 copy device device x\n", "line 3: expected '<step> copy"},
      {head + "0 copy device device x 512 0\n", "line 3: expected '... <tensor>"},
      {head + "0 copy device host q\n", "line 3: the graph has no tensor 'q'"},
      {head + "0 wait save 1\n", "line 3: expected '<step> wait"},
      {head + "0 wait sideways for 1\n", "line 3: expected '<step> wait"},
      {head + "0 run q variant=0 algorithm=0\n", "line 3: the graph has no operation 'q'"},
      {head + "0 run data/forward variant=0\n",
       "line 3: expected '<step> run <operation> variant=<n>"},
      {head + "0 run data/forward variant=0 algorithm=0 twice\n", "line 3: expected '<step> run"},
      {head + "0 run data/forward variant=1 algorithm=0\n",
       "line 3: operation data/forward has no variant 1"},
      {head + "0 run data/forward variant=0 algorithm=1\n",
       "line 3: operation data/forward has no algorithm 1"},
      {head + "0 run data/forward variant=-1 algorithm=0\n", "line 3: expected '<step> run"},
  };
  for (const auto& [text, message] : cases) {
    const Status status = PlanFromText(text, graph).status();
    EXPECT_EQ(status.code, Code::kInvalid);
    EXPECT_EQ(status.message.substr(0, message.size()), message);
  }
}

}  // namespace
}  // namespace layrub::placement
