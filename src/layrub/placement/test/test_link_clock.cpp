#include <gtest/gtest.h>

#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement::search {
namespace {

using testing::LinkMachine;

constexpr int64_t kUnit = kAlignment;
constexpr int64_t kRoom = 10 * kUnit;

/// A tensor of 4 units. A copy in either direction takes 4 s over a link of 1 unit a second.
Evicted FourUnits(RunId last, RunId release, bool saved) {
  return {4 * kUnit, 4 * kUnit, last, release, saved};
}

/// Runs of a second each, during which the device holds `units`.
void Runs(int count, int64_t units, LinkClock* clock) {
  for (int i = 0; i < count; ++i) clock->Run(1, units * kUnit);
}

TEST(LinkClock, WaitsForAWholeCopyIfItCannotBeginEarlier) {
  const Machine machine = LinkMachine(1);
  LinkClock clock(machine, kRoom);
  Runs(8, 8, &clock);
  EXPECT_DOUBLE_EQ(clock.Seconds(4 * kUnit), 4);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 4);
}

TEST(LinkClock, BeginsACopyAsEarlyAsTheCapacityAllows) {
  const Machine machine = LinkMachine(1);
  LinkClock clock(machine, kRoom);
  Runs(6, 8, &clock);
  Runs(3, 6, &clock);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 1);
  Runs(3, 6, &clock);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 0);
  // It was evicted after run 9, and there were two runs since.
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(9, 9, true)), 2);
}

TEST(LinkClock, CopiesOneAfterTheOtherAndCountsTheirBytes) {
  const Machine machine = LinkMachine(1);
  LinkClock clock(machine, kRoom);
  Runs(8, 2, &clock);
  clock.Fetch(FourUnits(0, 0, true));
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 4);  // the link has just become free
  LinkClock full(machine, 9 * kUnit);
  Runs(8, 2, &full);
  full.Fetch(FourUnits(0, 0, true));
  Runs(6, 4, &full);
  EXPECT_DOUBLE_EQ(full.Wait(FourUnits(0, 0, true)), 0);
}

TEST(LinkClock, DelaysTheRunThatNeedsARangeBeforeItIsSaved) {
  const Machine machine = LinkMachine(1);
  // Its last use, run 1, ends at 2; it is saved at 6, but run 4 needs its range at 4.
  LinkClock clock(machine, kRoom);
  Runs(4, 6, &clock);
  Runs(1, 10, &clock);
  Runs(5, 6, &clock);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(1, 1, false)), 2);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(1, 1, true)), 0);
  // A second one is saved after it.
  clock.Fetch(FourUnits(1, 1, false));
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(1, 1, false)), (10 - 4) + 4);
}

}  // namespace
}  // namespace layrub::placement::search
