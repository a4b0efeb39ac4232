#include <gtest/gtest.h>

#include <functional>

#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement {
namespace {

using testing::Chain;
using testing::HandMade;
using testing::Uses;

TEST(Validate, AcceptsAChain) {
  const Status status = Validate(Chain().graph);
  EXPECT_TRUE(status.ok()) << status.message;
}

TEST(Validate, AcceptsAGraphWithoutOperations) { EXPECT_TRUE(Validate(Graph{}).ok()); }

TEST(Validate, NamesWhatIsWrong) {
  struct Case {
    std::function<void(Graph*)> spoil;
    std::string message;
  };
  const std::vector<Case> cases{
      {[](Graph* g) { g->name = "my net"; }, "graph: the name 'my net'"},
      {[](Graph* g) { g->tensors[2].name = "x"; }, "tensor x: another tensor"},
      {[](Graph* g) { g->tensors[2].name = "a b"; }, "tensor a b: its name"},
      {[](Graph* g) { g->tensors[2].name = "-"; }, "tensor -: its name"},
      {[](Graph* g) { g->tensors[2].name = ""; }, "tensor : its name"},
      {[](Graph* g) { g->tensors[2].bytes = -1; }, "tensor a: its size is negative"},
      {[](Graph* g) { g->tensors[2].bytes = int64_t{1} << 61; }, "tensor a: with it the graph"},
      {[](Graph* g) { g->ops[1].name = "data/forward"; }, "operation data/forward: another"},
      {[](Graph* g) { g->ops[1].name = "a\tb"; }, "operation a\tb: its name"},
      {[](Graph* g) { std::swap(g->ops[3], g->ops[4]); }, "operation c/backward: it reads c"},
      {[](Graph* g) { g->ops[1].pass = Pass::kUpdate; },
       "operation b/forward: a forward operation"},
      {[](Graph* g) { g->ops[1].variants.clear(); }, "operation a/forward: it has no variant"},
      {[](Graph* g) { g->ops[1].variants.push_back({}); },
       "operation a/forward: a forward operation"},
      {[](Graph* g) { g->ops[1].variants[0].name = "x y"; },
       "operation a/forward: the name of variant"},
      {[](Graph* g) { g->ops[1].variants[0].reads = {7}; }, "tensor number 7 does not exist"},
      {[](Graph* g) { g->ops[1].variants[0].writes = {-1}; }, "tensor number -1 does not exist"},
      {[](Graph* g) {
         g->ops[1].variants[0].writes = {2, 2};
       },
       "writes a tensor twice"},
      {[](Graph* g) { g->ops[2].variants[0].reads = {3}; },
       "it reads b, which nothing has written"},
      {[](Graph* g) {
         g->ops[1].variants[0].may_alias = {{3, 1}};
       },
       "may_alias names b, which"},
      {[](Graph* g) {
         g->ops[1].variants[0].may_alias = {{2, 2}};
       },
       "two different tensors"},
      {[](Graph* g) {
         g->ops[1].variants[0].may_alias = {{2, 99}};
       },
       "two different tensors"},
      {[](Graph* g) {
         g->ops[1].variants[0].algorithms = {{1, 0, true}};
       },
       "x is not a workspace"},
      {[](Graph* g) {
         g->ops[1].variants[0].algorithms = {{99, 0, true}};
       },
       "tensor number 99"},
      {[](Graph* g) { g->ops[1].kind = OpKind::kFill; }, "operation a/forward: a fill writes"},
      {[](Graph* g) { g->ops[1].kind = OpKind::kFeed; },
       "operation a/forward: a feed is a forward"},
      {[](Graph* g) {
         g->ops[0].kind = OpKind::kFeed;
         g->ops[0].repeatable = true;
       },
       "operation data/forward: a feed is a forward"},
  };
  for (const Case& bad : cases) {
    Graph graph = Chain().graph;
    bad.spoil(&graph);
    const Status status = Validate(graph);
    EXPECT_EQ(status.code, Code::kInvalid) << bad.message;
    EXPECT_NE(status.message.find(bad.message), std::string::npos)
        << "expected " << bad.message << ", got " << status.message;
  }
}

TEST(Validate, RejectsAWorkspaceUsedByTwoOperationsOrAsAnOperand) {
  HandMade net = Chain();
  const TensorId work = net.Add("work", 1, Role::kWorkspace);
  net.graph.ops[1].variants[0].algorithms = {{work, 0, true}};
  EXPECT_TRUE(Validate(net.graph).ok());
  Graph shared = net.graph;
  shared.ops[2].variants[0].algorithms = {{work, 0, true}};
  EXPECT_NE(Validate(shared).message.find("belongs to a/forward"), std::string::npos);
  Graph operand = net.graph;
  operand.ops[1].variants[0].writes.push_back(work);
  EXPECT_NE(Validate(operand).message.find("cannot be an operand"), std::string::npos);
}

TEST(Validate, AllowsATensorToBeReadTwiceByOneOperation) {
  HandMade net;
  const TensorId x = net.Add("x", 1);
  const TensorId y = net.Add("y", 1);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("sum/forward", Uses({x, x}, {y}));
  EXPECT_TRUE(Validate(net.graph).ok());
}

TEST(StateBytes, SumsAlignedSizes) {
  HandMade net = Chain();
  net.graph.tensors[net.Add("bias", 1, Role::kParameter)].bytes = 1;
  net.Add("history", 2, Role::kHistory);
  EXPECT_EQ(StateBytes(net.graph), (1 + 1 + 2) * kAlignment);
}

TEST(KeepDeterministic, NamesAnOperationWithoutADeterministicAlgorithm) {
  Graph graph;
  graph.ops.resize(1);
  graph.ops[0].name = "conv/forward";
  graph.ops[0].variants.resize(1);
  Variant& variant = graph.ops[0].variants[0];
  variant.name = "x";
  EXPECT_TRUE(KeepDeterministic(&graph).ok());
  variant.algorithms = {{kNone, 3, true}, {kNone, 2, false}, {kNone, 1, true}};
  EXPECT_TRUE(KeepDeterministic(&graph).ok());
  EXPECT_EQ(variant.algorithms, (std::vector<Algorithm>{{kNone, 1, true}}));
  variant.algorithms = {{kNone, 2, false}};
  const Status status = KeepDeterministic(&graph);
  EXPECT_EQ(status.code, Code::kInvalid);
  EXPECT_NE(status.message.find("conv/forward"), std::string::npos);
}

}  // namespace
}  // namespace layrub::placement
