#include <gtest/gtest.h>

#include <functional>

#include "layrub/placement/test/hand_made.hpp"
#include "layrub/placement/uses.hpp"

namespace layrub {
namespace {

using testing::Chain;
using testing::HandMade;

std::string Refusal(const Graph& graph, const Decision& decision) {
  const Status status = Schedule(graph, decision).status();
  EXPECT_EQ(status.code, Code::kInvalid);
  return status.message;
}

TEST(Lifetimes, NamesWhatADecisionAsksForInVain) {
  const HandMade net = Chain();
  struct Case {
    std::function<void(Decision*)> spoil;
    std::string message;
  };
  const std::vector<Case> cases{
      {[](Decision* d) { d->runs.pop_back(); }, "the decision is for another graph"},
      {[](Decision* d) { d->tensors.pop_back(); }, "the decision is for another graph"},
      {[](Decision* d) { d->runs[1].form = 1; }, "a/forward: it has no form 1"},
      {[](Decision* d) { d->runs[1].scratch = 1; }, "a/forward: it has no scratch variant 1"},
      {[](Decision* d) {
         d->tensors[0].gaps = {{1, 1, 3, 4}};
       },
       "tensor w: it stays resident"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{0, 1, 5, 6}};
       },
       "tensor x: a gap does not lie"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{1, 2, 3, 5}};
       },
       "tensor x: a gap does not lie"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{6, 6, 7, 7}};
       },
       "tensor x: a gap does not lie"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{1, 0, 5, 6}};
       },
       "after a/forward is not in the"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{1, 5, 5, 6}};
       },
       "after a/forward is not in the"},
      {[](Decision* d) {
         d->tensors[1].gaps = {{1, 2, 7, 6}};
       },
       "after a/forward is not in the"},
      {[](Decision* d) {
         d->runs[4].aliases = {{5, 2}};
       },
       "form '' does not allow it"},
      {[](Decision* d) {
         d->runs[4].aliases = {{5, 3}, {5, 4}};
       },
       "already lies on another"},
      {[](Decision* d) {
         d->runs[4].aliases = {{5, 3}};
         d->tensors[3].whole = true;
       },
       "one of them is resident for the whole iteration"},
  };
  for (const Case& bad : cases) {
    Decision decision = DefaultDecision(net.graph);
    bad.spoil(&decision);
    const std::string message = Refusal(net.graph, decision);
    EXPECT_NE(message.find(bad.message), std::string::npos)
        << "expected " << bad.message << ", got " << message;
  }
}

TEST(Lifetimes, RefusesAnAliasThatIsTooLargeOrLosesAValue) {
  HandMade net = Chain();
  net.graph.tensors[5].bytes += 1;
  Decision decision = DefaultDecision(net.graph);
  decision.runs[4].aliases = {{5, 4}};
  EXPECT_NE(Refusal(net.graph, decision).find("the output is larger"), std::string::npos);

  net = Chain();
  net.graph.tensors[4].keep = true;
  EXPECT_NE(Refusal(net.graph, decision).find("the input's value is still needed"),
            std::string::npos);
}

}  // namespace
}  // namespace layrub
