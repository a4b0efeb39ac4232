// What a proof wants of copies in pieces.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::GraphWriter;
using testing::Join;
using testing::PlanWriter;

/// Offsets and bytes.
using Pieces = std::vector<std::pair<int64_t, int64_t>>;

const Pieces kThree = {{0, 256}, {256, 512}, {768, 232}};

/// x (1000 bytes) is made, saved, comes back to the same bytes, and is read; y is made before it
/// comes back.
class CheckPieces : public ::testing::Test {
 protected:
  CheckPieces() {
    GraphWriter net;
    const TensorId x = net.Add("x", 1000, Role::kActivation);
    const TensorId y = net.Add("y", 256, Role::kActivation);
    net.Add("first", Pass::kForward, OpKind::kCompute, {}, {x});
    net.Add("second", Pass::kForward, OpKind::kCompute, {}, {y});
    net.Add("third", Pass::kForward, OpKind::kCompute, {x, y}, {});
    graph_ = net.graph;
  }

  struct Choices {
    Pieces saved = kThree;
    Pieces loaded = kThree;
    /// Of the pieces saved, the one that the first, second, ... piece loaded waits for; -1: none.
    std::vector<int> awaited = {0, 1, 2};
    /// Called before the second piece is saved, and before the second is loaded.
    std::function<void(PlanWriter*)> between_saves = [](PlanWriter*) {};
    std::function<void(PlanWriter*)> between_loads = [](PlanWriter*) {};
  };

  Plan PlanOf(const Choices& choices) const {
    PlanWriter p(graph_, 1280, 1024);
    p.Alloc("x", 0);
    const int32_t first = p.Run("first");
    p.Alloc("x", 0, Tier::kHost);
    p.Wait(Lane::kSave, first);
    std::vector<int32_t> saves;
    for (const auto& [offset, bytes] : choices.saved) {
      if (saves.size() == 1) choices.between_saves(&p);
      saves.push_back(p.Offload("x", offset, bytes));
    }
    p.Free("x");
    p.Alloc("x", 0);
    p.Alloc("y", 1024);
    p.Run("second");
    int32_t last = kNone;
    for (size_t i = 0; i < choices.loaded.size(); ++i) {
      if (i == 1) choices.between_loads(&p);
      const int awaited = i < choices.awaited.size() ? choices.awaited[i] : -1;
      if (awaited >= 0) p.Wait(Lane::kLoad, saves[awaited]);
      last = p.Prefetch("x", choices.loaded[i].first, choices.loaded[i].second);
    }
    if (last != kNone) p.Wait(Lane::kCompute, last);
    p.Run("third");
    for (const char* tensor : {"x", "y"}) p.Free(tensor);
    p.Free("x", Tier::kHost);
    p.EndPass(Pass::kForward);
    return p.plan;
  }

  ::testing::AssertionResult Objects(const Choices& choices, const std::string& words) const {
    return testing::Objects(graph_, PlanOf(choices), words);
  }

  Graph graph_;
};

TEST_F(CheckPieces, AcceptsThoseThatFollowOneAnother) {
  EXPECT_EQ(Join(Check(graph_, PlanOf({}))), "");
  EXPECT_EQ(Join(Check(graph_, PlanOf({.saved = {{0, 1000}}, .awaited = {0}}))), "");
  EXPECT_EQ(Join(Check(graph_, PlanOf({.saved = {{0, 0}}, .awaited = {0}}))), "");
  EXPECT_EQ(Join(Check(graph_, PlanOf({.loaded = {{0, 0}}, .awaited = {2}}))), "");
}

TEST_F(CheckPieces, OrdersThemByTheirBytes) {
  EXPECT_EQ(Join(Check(graph_, PlanOf({.loaded = {{0, 512}, {512, 488}}, .awaited = {1, 2}}))), "");
  EXPECT_TRUE(Objects({.awaited = {-1, 1, 2}},
                      "step 11 (prefetch x): reads x without waiting for step 4 (offload x)"));
  EXPECT_TRUE(Objects({.awaited = {0, -1, 2}},
                      "step 13 (prefetch x): writes x without waiting for step 5 (offload x)"));
  EXPECT_TRUE(Objects({.loaded = {{0, 512}, {512, 488}}, .awaited = {0, 2}},
                      "reads x without waiting for step 5 (offload x)"));
}

TEST_F(CheckPieces, ObjectsToGapsAndOverlaps) {
  EXPECT_TRUE(Objects({.saved = {{0, 256}, {512, 488}}},
                      "step 5 (offload x): copies 488 bytes from byte 512 on, where byte 256 is"));
  EXPECT_TRUE(
      Objects({.saved = {{0, 512}, {256, 744}}}, "from byte 256 on, where byte 512 is next"));
  EXPECT_TRUE(Objects({.loaded = {{256, 512}, {768, 232}}},
                      "begins at byte 256 of x, but the device range does not hold all bytes"));
  EXPECT_TRUE(Objects({.saved = {{256, 512}, {768, 232}}},
                      "reads x, of which the host range holds bytes [256, 1000) only"));
  EXPECT_TRUE(Objects({.loaded = {{-256, 512}, {256, 744}}}, "-256 on, where no piece may begin"));
  EXPECT_TRUE(Objects({.saved = {{256, 0}}, .awaited = {0}}, "256 on, where byte 0 is next"));
}

TEST_F(CheckPieces, ObjectsToBytesThatTheTensorDoesNotHave) {
  for (const int64_t bytes : {int64_t{233}, int64_t{256}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_TRUE(Objects({.saved = {{0, 256}, {256, 512}, {768, bytes}}},
                        "copies " + std::to_string(bytes) + " bytes from byte 768 on, but x has"));
  }
  EXPECT_TRUE(Objects({.saved = {{0, -256}, {256, 744}}}, "copies -256 bytes from byte 0 on, but"));
}

TEST_F(CheckPieces, ObjectsToPiecesThatAreNotAligned) {
  EXPECT_TRUE(Objects({.saved = {{0, 250}, {250, 750}}}, "so that the next piece is not aligned"));
}

TEST_F(CheckPieces, ObjectsToOtherStepsBetween) {
  const auto frees = [](PlanWriter* p) { p->Free("y"); };
  EXPECT_TRUE(Objects({.between_loads = frees},
                      "(free y): comes between step 12 (prefetch x) and the next piece"));
  const auto loads = [](PlanWriter* p) { p->Prefetch("x"); };
  EXPECT_TRUE(Objects({.between_saves = loads},
                      "(prefetch x): comes between step 4 (offload x) and the next piece"));
  const auto saves = [](PlanWriter* p) { p->Offload("x"); };
  EXPECT_TRUE(Objects({.between_saves = saves}, "comes between step 4 (offload x) and the next"));
  const auto waits = [](PlanWriter* p) { p->Wait(Lane::kCompute, 4); };
  EXPECT_EQ(Join(Check(graph_, PlanOf({.between_saves = waits}))), "");
}

TEST_F(CheckPieces, ObjectsToCopiesThatEndEarly) {
  EXPECT_TRUE(Objects({.saved = {{0, 256}, {256, 512}}, .awaited = {0, 1}},
                      "(free x): comes between step 5 (offload x) and the next piece"));
  EXPECT_TRUE(Objects({.saved = {{0, 256}, {256, 512}}, .awaited = {0, 1}},
                      "(prefetch x): reads x, whose host range was not written"));
  EXPECT_TRUE(Objects({.loaded = {{0, 256}, {256, 512}}},
                      "(compute third): reads x, whose device range was not written"));
  Plan plan = PlanOf({});
  plan.steps.push_back(plan.steps[4]);
  for (int32_t& end : plan.pass_end) ++end;
  EXPECT_TRUE(testing::Objects(graph_, plan, "(offload x) is not followed by the next piece"));
}

}  // namespace
}  // namespace layrub::placement
