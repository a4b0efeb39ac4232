// What a proof wants of tensors that leave the device in part.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "layrub/placement/check/check.hpp"
#include "layrub/placement/test/needed_waits.hpp"
#include "layrub/placement/test/part_plan.hpp"
#include "layrub/placement/test/replay.hpp"
#include "layrub/placement/test/small_plan.hpp"

namespace layrub::placement {
namespace {

using testing::ExpectRight;
using testing::Join;
using testing::MovedPartPlan;
using testing::PartChoices;
using testing::PartPlan;
using testing::PlanWriter;

constexpr const char* kOnlyPart = "x, of which only a part is on the device";

class CheckParts : public ::testing::Test {
 protected:
  std::string Objections(const PartChoices& choices) const {
    return Join(Check(graph_, PartPlan(graph_, choices)));
  }
  ::testing::AssertionResult Objects(const PartChoices& choices, const std::string& words) const {
    return testing::Objects(graph_, PartPlan(graph_, choices), words);
  }

  const Graph graph_ = testing::PartNet();
};

TEST_F(CheckParts, AcceptsOneThatStaysWhereItIs) { ExpectRight(graph_, PartPlan(graph_)); }

TEST_F(CheckParts, AcceptsOneThatMovesToBytesOfWhichItLeavesSome) {
  ExpectRight(graph_, MovedPartPlan(graph_));
}

TEST_F(CheckParts, AcceptsCopiesThatBeginEarlierThanTheyHaveTo) {
  EXPECT_EQ(Objections({.saved = {{0, 0}}}), "");
  EXPECT_EQ(Objections({.saved = {{0, 0}}, .loaded = {{0, 0}}}), "");
  EXPECT_EQ(Objections({.kept = 512, .y_at = 768}), "");
}

TEST_F(CheckParts, AcceptsOneThatIsFreedEntirely) {
  const auto frees = [](PlanWriter* p) { p->Free("x"); };
  EXPECT_EQ(
      Objections({.whole_at = 512, .saved = {{0, 0}}, .loaded = {{0, 0}}, .meanwhile = frees}), "");
  EXPECT_EQ(
      Objections({.whole_at = 512, .saved = {{0, 0}}, .loaded = {{0, 0}}, .before_whole = frees}),
      "");
}

TEST_F(CheckParts, AcceptsATensorThatIsWholeAgainInTheHostTier) {
  const auto saves_again = [](PlanWriter* p) {
    const auto loaded = static_cast<int32_t>(p->plan.steps.size()) - 2;
    p->Wait(Lane::kSave, loaded);
    p->Offload("x");
  };
  const auto stays = [](PlanWriter* p) {
    p->Free("x");
    p->Readable("x");
  };
  EXPECT_EQ(Objections({.after_load = saves_again, .at_the_end = stays}), "");
}

TEST_F(CheckParts, AcceptsNothingThatGivesWrongValues) {
  int accepted = 0, wrong = 0;
  const auto from = [](int64_t begin) { return PartChoices::Copies{{begin, 1000 - begin}}; };
  for (int64_t number = 0; number < int64_t{3} * 4 * 4 * 4 * 4 * 2; ++number) {
    int64_t rest = number;
    const auto draw = [&rest](int64_t of) { return std::exchange(rest, rest / of) % of * 256; };
    PartChoices choices;
    choices.kept = 256 + draw(3);
    choices.saved = from(draw(4));
    choices.loaded = from(draw(4));
    choices.y_at = 512 + draw(4);
    const int64_t to = draw(4);
    if (to > 0) {
      choices.meanwhile = [to, &choices](PlanWriter* p) { p->Move("x", 256 + to, choices.kept); };
      choices.before_whole = [&choices](PlanWriter* p) { p->Move("x", 256, choices.kept); };
    }
    choices.waits_for_save = draw(2) > 0;
    choices.device_bytes = 2304;
    const Plan plan = PartPlan(graph_, choices);
    std::string seen;
    for (uint64_t seed = 0; seed < 10 && seen.empty(); ++seed)
      seen = testing::Replay(graph_, plan, seed);
    const std::string objections = Join(Check(graph_, plan));
    EXPECT_TRUE(seen.empty() || !objections.empty()) << seen << ToText(plan, graph_);
    accepted += objections.empty();
    wrong += !seen.empty();
  }
  EXPECT_GE(accepted, 50);
  EXPECT_GT(wrong, 500);
}

TEST_F(CheckParts, ObjectsToKeepingBytesThatAreNoPart) {
  EXPECT_TRUE(Objects({.kept = 1024}, "(free x): keeps 1024 bytes of x, which has 1000"));
  EXPECT_TRUE(Objects({.kept = 300}, "(free x): keeps 300 bytes of x, no multiple of 256"));
  EXPECT_TRUE(Objects({.kept = -256}, "(free x): keeps -256 bytes of x, no multiple of 256"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfAPart) {
  const auto keeps = [](PlanWriter* p) { p->Keep("x", 256); };
  EXPECT_TRUE(Objects({.kept = 512, .y_at = 768, .meanwhile = keeps},
                      "keeps 256 bytes of x, of which there is only a part already"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartInTheHostTier) {
  const auto keeps = [](PlanWriter* p) {
    p->Keep("x", 256);
    p->plan.steps.back().tier = Tier::kHost;
  };
  EXPECT_TRUE(Objects({.at_the_end = keeps}, "keeps 256 bytes of x in the host tier"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfASharedRange) {
  const auto shares = [](PlanWriter* p) {
    p->Alias("z", "x");
    p->Keep("x", 256);
  };
  EXPECT_TRUE(Objects({.keep = shares}, "x, which is not the only tensor in its range"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfAPersistentTensor) {
  const auto frees = [](PlanWriter* p) { p->Keep("w", 256); };
  EXPECT_TRUE(Objects({.meanwhile = frees}, "(free w): w is state and must never be freed"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfNothing) {
  const auto frees = [](PlanWriter* p) { p->Keep("y", 256); };
  EXPECT_TRUE(Objects({.meanwhile = frees}, "(free y): y has no device range"));
}

TEST_F(CheckParts, ObjectsToOperationsOnAPart) {
  Plan plan = PartPlan(graph_);
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kCompute && step.op == 1) step.op = 3;
  }
  EXPECT_TRUE(testing::Objects(graph_, plan, std::string("(compute fourth): reads ") + kOnlyPart));
  plan = PartPlan(graph_);
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kCompute && step.op == 1) step.op = 0;
  }
  EXPECT_TRUE(testing::Objects(graph_, plan, std::string("(compute first): writes ") + kOnlyPart));
}

TEST_F(CheckParts, ObjectsToCopiesOfAPart) {
  for (const int64_t offset : {0, 256}) {
    const auto saves = [&](PlanWriter* p) { p->Offload("x", offset, 1000 - offset); };
    EXPECT_TRUE(Objects({.meanwhile = saves}, std::string("(offload x): reads ") + kOnlyPart));
    const auto loads = [&](PlanWriter* p) { p->Prefetch("x", offset, 1000 - offset); };
    EXPECT_TRUE(Objects({.meanwhile = loads}, std::string("(prefetch x): writes ") + kOnlyPart));
  }
}

TEST_F(CheckParts, ObjectsToATensorThatIsPutOnAPart) {
  const auto aliases = [](PlanWriter* p) { p->Alias("z", "x"); };
  EXPECT_TRUE(Objects({.meanwhile = aliases}, std::string("(alias z): is put on ") + kOnlyPart));
}

TEST_F(CheckParts, ObjectsToAMoveOfMoreOrLessThanThereIs) {
  const auto moved = [&](int64_t bytes) {
    const auto moves = [bytes](PlanWriter* p) { p->Move("x", 256, bytes); };
    return MovedPartPlan(graph_, {.meanwhile = moves});
  };
  EXPECT_EQ(Join(Check(graph_, moved(512))), "");
  for (const int64_t bytes : {256, 768, 1000}) {
    EXPECT_TRUE(testing::Objects(graph_, moved(bytes),
                                 "(move x): moves " + std::to_string(bytes) +
                                     " bytes of x, of which 512 are on the device"));
  }
  EXPECT_TRUE(testing::Objects(graph_, moved(0), "moves all bytes of x, of which 512 are on"));
  const auto moves = [](PlanWriter* p) { p->Move("x", 512, 256); };
  EXPECT_TRUE(
      Objects({.after_load = moves}, "moves 256 bytes of x, of which all are on the device"));
}

TEST_F(CheckParts, ObjectsToAMoveOntoOtherTensorsOrOutOfTheArena) {
  const auto to = [](int64_t offset) {
    return [offset](PlanWriter* p) { p->Move("x", offset, 256); };
  };
  EXPECT_EQ(Objections({.whole_at = 512, .before_whole = to(512)}), "");
  EXPECT_TRUE(Objects({.meanwhile = to(0)}, "overlaps the live device range of w"));
  EXPECT_TRUE(Objects({.meanwhile = to(1792)}, "is not inside the device arena"));
  EXPECT_TRUE(Objects({.meanwhile = to(300)}, "offset 300 is not aligned"));
}

TEST_F(CheckParts, ObjectsToAMoveOntoBytesThatAreStillSaved) {
  const auto moves = [](PlanWriter* p) { p->Move("x", 512, 256); };
  EXPECT_TRUE(Objects({.whole_at = 512, .y_at = 768, .meanwhile = moves},
                      "(move x): writes x without waiting for step 4 (offload x)"));
}

TEST_F(CheckParts, ObjectsToBytesThatAreTakenWhileTheyAreSaved) {
  EXPECT_TRUE(Objects({.waits_for_save = false},
                      "(compute second): writes y without waiting for step 4 (offload x)"));
}

TEST_F(CheckParts, ObjectsToTensorsOnAPart) {
  EXPECT_TRUE(
      Objects({.kept = 512}, "(alloc y): range [512, +768) overlaps the live device range"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeThatBeginsElsewhere) {
  EXPECT_TRUE(Objects({.whole_at = 512},
                      "(alloc x): begins elsewhere than the part of x, which lies at 256"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeOnOtherTensors) {
  const auto takes = [](PlanWriter* p) { p->Alloc("y", 768); };
  EXPECT_TRUE(Objects({.before_whole = takes}, "overlaps the live device range of y"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeThatLeavesTheArena) {
  const auto moves = [](PlanWriter* p) { p->Move("x", 1024, 256); };
  EXPECT_TRUE(Objects({.whole_at = 1024, .before_whole = moves}, "is not inside the device arena"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeThatIsMadeWholeAgain) {
  const auto again = [](PlanWriter* p) { p->Alloc("x", 256); };
  EXPECT_TRUE(Objects({.before_load = again}, "(alloc x): x has a device range already"));
}

TEST_F(CheckParts, ObjectsToCopiesThatDoNotGoFromAnAlignedByteToTheEnd) {
  const auto object = [](int64_t offset, int64_t bytes) {
    return "copies " + std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
           " on, not from an aligned one to the end of x, which has 1000";
  };
  const PartChoices::Copies wrong = {{300, 700},  {1024, 256}, {-256, 1256}, {256, 512},
                                     {256, 1024}, {256, -256}, {256, 0},     {0, 512}};
  for (const auto& [offset, bytes] : wrong) {
    EXPECT_TRUE(Objects({.saved = {{offset, bytes}}}, "(offload x): " + object(offset, bytes)));
    EXPECT_TRUE(Objects({.loaded = {{offset, bytes}}}, "(prefetch x): " + object(offset, bytes)));
  }
}

TEST_F(CheckParts, ObjectsToALoadWithoutTheBytesBefore) {
  const std::string words = "but the device range does not hold all bytes before";
  EXPECT_TRUE(Objects({.loaded = {{512, 488}}}, "begins at byte 512 of x, " + words));
  const auto frees = [](PlanWriter* p) { p->Free("x"); };
  EXPECT_TRUE(Objects({.meanwhile = frees}, "begins at byte 256 of x, " + words));
}

TEST_F(CheckParts, ObjectsToALoadOfWhatTheHostTierDoesNotHave) {
  const std::string words = "reads x, of which the host range holds bytes [512, 1000) only";
  EXPECT_TRUE(Objects({.saved = {{512, 488}}}, "(prefetch x): " + words));
  EXPECT_TRUE(Objects({.saved = {{512, 488}}, .loaded = {{0, 0}}}, "(prefetch x): " + words));
  const auto saves_later_bytes = [](PlanWriter* p) {
    p->Offload("x", 512, 488);
    p->Keep("x", 256);
  };
  EXPECT_TRUE(Objects({.saved = {{0, 0}}, .keep = saves_later_bytes}, "(prefetch x): " + words));
}

TEST_F(CheckParts, ObjectsToReadersOfWhatHasNotComeBack) {
  const std::string words = " x, of which the device range holds bytes [0, 256) only";
  EXPECT_TRUE(Objects({.loaded = {}}, "(compute fourth): reads" + words));
  const auto saves = [](PlanWriter* p) { p->Offload("x"); };
  EXPECT_TRUE(Objects({.before_load = saves}, "(offload x): reads" + words));
  const auto moves = [](PlanWriter* p) { p->Move("x", 512); };
  EXPECT_TRUE(Objects({.before_load = moves}, "(move x): reads" + words));
}

TEST_F(CheckParts, ObjectsToAPartThatIsLeftOver) {
  const auto keeps = [](PlanWriter* p) {
    p->Keep("x", 256);
    p->Free("x", Tier::kHost);
  };
  EXPECT_TRUE(Objects({.at_the_end = keeps}, "at the end of the plan x still has a device range"));
}

TEST_F(CheckParts, ObjectsToReadableTensorsThatAreNotWholeInOneTier) {
  const std::string words = "at the end of the plan x does not have its whole value: its range ";
  const auto on_host = [](PlanWriter* p) {
    p->Free("x");
    p->Readable("x");
  };
  EXPECT_TRUE(Objects({.at_the_end = on_host}, words + "holds bytes [256, 1000) only"));
  const auto on_device = [](PlanWriter* p) {
    p->Free("x", Tier::kHost);
    p->Keep("x", 512);
    p->Readable("x");
  };
  EXPECT_TRUE(Objects({.at_the_end = on_device}, words + "holds bytes [0, 512) only"));
}

}  // namespace
}  // namespace layrub::placement
