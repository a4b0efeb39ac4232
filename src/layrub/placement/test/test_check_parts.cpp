// Check on plans with partly evicted tensors.
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

constexpr const char* kOnlyPart = "x, but its device range has only bytes [0, 256)";

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

TEST_F(CheckParts, AcceptsAPartThatStaysInPlace) { ExpectRight(graph_, PartPlan(graph_)); }

TEST_F(CheckParts, AcceptsAPartThatMovesToAnOverlappingRange) {
  ExpectRight(graph_, MovedPartPlan(graph_));
}

TEST_F(CheckParts, AcceptsCopiesOfMoreThanTheMissingBytes) {
  EXPECT_EQ(Objections({.saved = {{0, 0}}}), "");
  EXPECT_EQ(Objections({.saved = {{0, 0}}, .loaded = {{0, 0}}}), "");
  EXPECT_EQ(Objections({.kept = 512, .y_at = 768}), "");
}

TEST_F(CheckParts, AcceptsAPartThatIsFreedEntirely) {
  const auto frees = [](PlanWriter* p) { p->Free("x", 0, 256); };
  PartChoices choices = {.whole_at = 512, .lacks = 0, .saved = {{0, 0}}, .loaded = {{0, 0}}};
  choices.meanwhile = frees;
  EXPECT_EQ(Objections(choices), "");
  choices.meanwhile = nullptr;
  choices.before_whole = frees;
  EXPECT_EQ(Objections(choices), "");
}

TEST_F(CheckParts, AcceptsPartsOfPartsAndPartsThatEndTheirTensor) {
  const auto keeps_less = [](PlanWriter* p) { p->Free("x", 256, 512); };
  EXPECT_EQ(Objections({.kept = 512, .lacks = 256, .y_at = 768, .meanwhile = keeps_less}), "");
  const auto keeps_the_end = [](PlanWriter* p) { p->Free("x", 0, 768); };
  const auto takes_the_rest = [](PlanWriter* p) { p->Alloc("x", 256, Tier::kDevice, 768); };
  PartChoices choices = {.y_at = 256, .saved = {{0, 768}}, .loaded = {{0, 768}}};
  choices.keep = keeps_the_end;
  Plan plan = PartPlan(graph_, choices);
  for (Step& step : plan.steps) {  // here x lacks its first bytes
    if (step.kind != StepKind::kAlloc || step.tensor != 1 || step.begin == 0) continue;
    step.begin = 0;
    step.end = 768;
  }
  EXPECT_EQ(Join(Check(graph_, plan)), "");
  choices.before_whole = takes_the_rest;
  EXPECT_TRUE(Objects(choices, "(alloc x): x has a device range already, with bytes [768, 1024)"));
}

TEST_F(CheckParts, AcceptsAPartInTheHostTier) {
  Plan plan = PartPlan(graph_);
  for (Step& step : plan.steps) {
    if (step.tensor == 1 && step.tier == Tier::kHost && step.kind != StepKind::kCopy)
      step.begin = 256;
  }
  EXPECT_EQ(Join(Check(graph_, plan)), "");
  const auto frees = [](PlanWriter* p) { p->Free("x", 512, 1000, Tier::kHost); };
  EXPECT_TRUE(Objects({.meanwhile = frees},
                      "(prefetch x): reads x, but its host range has only bytes [0, 512)"));
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

TEST_F(CheckParts, ObjectsToBytesThatTheTensorDoesNotHave) {
  for (const auto& [begin, end] :
       {std::pair<int64_t, int64_t>{1024, 1000}, {-256, 1000}, {0, 1024}, {256, 256}}) {
    const std::string bytes = "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
    const std::string words = "is of bytes " + bytes + ", but the tensor has 1000";
    const auto frees = [begin = begin, end = end](PlanWriter* p) { p->Free("x", begin, end); };
    EXPECT_TRUE(Objects({.keep = frees}, "(free x): " + words));
    const auto takes = [begin = begin, end = end](PlanWriter* p) {
      p->Free("x", 0, 256);
      p->Alloc("x", 256);
      p->plan.steps.back().begin = begin;
      p->plan.steps.back().end = end;
    };
    EXPECT_TRUE(Objects({.meanwhile = takes}, "(alloc x): " + words));
    const auto saves = [begin = begin, end = end](PlanWriter* p) {
      p->Offload("x");
      p->plan.steps.back().begin = begin;
      p->plan.steps.back().end = end;
    };
    EXPECT_TRUE(Objects({.meanwhile = saves}, "(offload x): " + words));
  }
  EXPECT_TRUE(Objects({.kept = 300}, "(free x): is of bytes [300, 1000), which are not aligned"));
  const auto frees = [](PlanWriter* p) { p->Free("x", 256, 600); };
  EXPECT_TRUE(Objects({.keep = frees}, "is of bytes [256, 600), which are not aligned"));
}

TEST_F(CheckParts, ObjectsToFreeingMissingOrMiddleBytes) {
  const auto frees = [](int64_t begin, int64_t end) {
    return [=](PlanWriter* p) { p->Free("x", begin, end); };
  };
  EXPECT_TRUE(Objects({.meanwhile = frees(0, 1000)},
                      "gives bytes [0, 1024) of x back, which has [0, 256)"));
  EXPECT_TRUE(Objects({.meanwhile = frees(256, 512)},
                      "gives bytes [256, 512) of x back, which has [0, 256)"));
  EXPECT_TRUE(Objects({.keep = frees(256, 512)},
                      "gives bytes [256, 512) of x back, from the middle of [0, 1024)"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfASharedRange) {
  const auto shares = [](PlanWriter* p) {
    p->Alias("z", "x");
    p->Keep("x", 256);
  };
  EXPECT_TRUE(Objects({.keep = shares}, "which is not the only tensor in its range"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfState) {
  const auto frees = [](PlanWriter* p) { p->Free("w"); };
  EXPECT_TRUE(Objects({.meanwhile = frees}, "(free w): w gives its home back"));
}

TEST_F(CheckParts, ObjectsToKeepingAPartOfNothing) {
  const auto frees = [](PlanWriter* p) { p->Keep("y", 256); };
  EXPECT_TRUE(Objects({.meanwhile = frees}, "(free y): y has no device range"));
}

TEST_F(CheckParts, ObjectsToOperationsOnAPart) {
  Plan plan = PartPlan(graph_);
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kRun && step.op == 1) step.op = 3;
  }
  EXPECT_TRUE(testing::Objects(graph_, plan, std::string("(compute fourth): reads ") + kOnlyPart));
  plan = PartPlan(graph_);
  for (Step& step : plan.steps) {
    if (step.kind == StepKind::kRun && step.op == 1) step.op = 0;
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

TEST_F(CheckParts, ObjectsToAnAliasOnAPart) {
  const auto aliases = [](PlanWriter* p) { p->Alias("z", "x"); };
  EXPECT_TRUE(Objects({.meanwhile = aliases},
                      "(alias z): is put on x, but only a part of that is on the device"));
}

TEST_F(CheckParts, ObjectsToAMoveOfOtherBytesThanThePart) {
  const auto moved = [&](int64_t bytes) {
    const auto moves = [bytes](PlanWriter* p) { p->Move("x", 256, bytes); };
    return MovedPartPlan(graph_, {.meanwhile = moves});
  };
  EXPECT_EQ(Join(Check(graph_, moved(512))), "");
  for (const int64_t bytes : {256, 768, 1000}) {
    EXPECT_TRUE(testing::Objects(graph_, moved(bytes),
                                 "(move x): moves bytes [0, " + std::to_string(bytes) +
                                     ") of x, but bytes [0, 512) are on the device"));
  }
  const auto moves = [](PlanWriter* p) { p->Move("x", 512, 256); };
  EXPECT_TRUE(Objects({.after_load = moves},
                      "moves bytes [0, 256) of x, but bytes [0, 1024) are on the device"));
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

TEST_F(CheckParts, ObjectsToRangesThatOverlapAPart) {
  EXPECT_TRUE(
      Objects({.kept = 512}, "(alloc y): range [512, +768) overlaps the live device range"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeAtAnotherOffset) {
  EXPECT_TRUE(Objects({.whole_at = 512},
                      "(alloc x): lies elsewhere than the part of x: bytes [0, 256) are at 256"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeThatOverlapsOtherTensors) {
  const auto takes = [](PlanWriter* p) { p->Alloc("y", 768); };
  EXPECT_TRUE(Objects({.before_whole = takes}, "overlaps the live device range of y"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeThatLeavesTheArena) {
  const auto moves = [](PlanWriter* p) { p->Move("x", 1024, 256); };
  EXPECT_TRUE(Objects({.whole_at = 1024, .before_whole = moves}, "is not inside the device arena"));
}

TEST_F(CheckParts, ObjectsToGrowingAWholeRange) {
  const auto again = [](PlanWriter* p) { p->Alloc("x", 256, Tier::kDevice, 256); };
  EXPECT_TRUE(Objects({.before_load = again}, "(alloc x): x has a device range already"));
}

TEST_F(CheckParts, ObjectsToAWholeRangeWithoutItsFirstBytes) {
  EXPECT_TRUE(
      Objects({.loaded = {{512, 488}}},
              "(compute fourth): reads x, but its device range holds only bytes [512, 1000)"));
  const auto frees = [](PlanWriter* p) { p->Free("x", 0, 256); };
  EXPECT_TRUE(
      Objects({.lacks = 0, .meanwhile = frees},
              "(compute fourth): reads x, but its device range holds only bytes [256, 1000)"));
}

TEST_F(CheckParts, AcceptsACopyInTwoSteps) {
  EXPECT_EQ(Objections({.saved = {{256, 256}, {512, 488}}, .loaded = {{256, 256}, {512, 488}}}),
            "");
  EXPECT_TRUE(Objects({.loaded = {{256, 256}}},
                      "(compute fourth): reads x, but its device range holds only bytes [0, 512)"));
}

TEST_F(CheckParts, ObjectsToAPrefetchOfBytesThatTheHostTierLacks) {
  const std::string words = "reads x, but its host range holds only bytes [512, 1000)";
  EXPECT_TRUE(Objects({.saved = {{512, 488}}}, "(prefetch x): " + words));
  EXPECT_TRUE(Objects({.saved = {{512, 488}}, .loaded = {{0, 0}}}, "(prefetch x): " + words));
  const auto saves_later_bytes = [](PlanWriter* p) {
    p->Offload("x", 512, 488);
    p->Keep("x", 256);
  };
  EXPECT_EQ(Objections({.saved = {{0, 0}}, .keep = saves_later_bytes}).find("holds"),
            std::string::npos)
      << "both are of one value";
}

TEST_F(CheckParts, ObjectsToReadsBeforeTheRestIsPrefetched) {
  const std::string words = " x, but its device range holds only bytes [0, 256)";
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
  EXPECT_TRUE(Objects({.at_the_end = on_host}, words + "holds [256, 1000) only"));
  const auto on_device = [](PlanWriter* p) {
    p->Free("x", Tier::kHost);
    p->Keep("x", 512);
    p->Readable("x");
  };
  EXPECT_TRUE(Objects({.at_the_end = on_device}, words + "holds [0, 512) only"));
}

}  // namespace
}  // namespace layrub::placement
