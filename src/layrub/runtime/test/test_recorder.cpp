#include <gtest/gtest.h>

#include "layrub/device/copy_lane.hpp"
#include "layrub/runtime/recorder.hpp"

namespace layrub {
namespace {

/// A plan of one operation.
Plan OneStep() {
  Plan plan;
  plan.steps.resize(1);
  plan.steps[0].kind = StepKind::kRun;
  plan.steps[0].op = 0;
  return plan;
}

TEST(Recorder, RecordsWhenAStepBeganAndEnded) {
  const Plan plan = OneStep();
  const auto backend = MakeCpuBackend();
  Recorder recorder(plan, backend.get());
  recorder.Start();
  recorder.Begin(0);
  recorder.End(0);
  backend->Synchronize();
  recorder.Finish();
  ASSERT_EQ(recorder.timeline().spans.size(), 1u);
  EXPECT_LE(recorder.timeline().spans[0].begin, recorder.timeline().spans[0].end);
  EXPECT_LT(recorder.timeline().seconds, 10);
}

TEST(Recorder, GivesAnEmptyTimelineIfTimesAreForgotten) {
  const Plan plan = OneStep();
  const auto backend = MakeCpuBackend();
  Recorder recorder(plan, backend.get());
  recorder.Start();
  recorder.Begin(0);
  recorder.End(0);
  for (uint64_t i = 0; i < TicketTimes::kKept; ++i) backend->Record(Lane::kCompute);
  backend->Synchronize();
  recorder.Finish();
  EXPECT_TRUE(recorder.timeline().spans.empty());
  EXPECT_EQ(recorder.timeline().seconds, 0);
  EXPECT_EQ(recorder.timeline().stalled, 0);
}

}  // namespace
}  // namespace layrub
