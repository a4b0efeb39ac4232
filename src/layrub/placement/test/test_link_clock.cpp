#include <gtest/gtest.h>

#include "layrub/placement/search/link_clock.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub::placement::search {
namespace {

using testing::LinkMachine;

constexpr int64_t kUnit = kAlignment;
constexpr int64_t kRoom = 10 * kUnit;

/// Of 4 units; a copy in either direction takes 4 s over a link of 1 unit a second.
Evicted FourUnits(RunId last, RunId release, bool saved) {
  return {4 * kUnit, 4 * kUnit, last, release, saved};
}

/// Runs of a second each, the device holding `units` during them.
void Runs(int count, int64_t units, LinkClock* clock) {
  for (int i = 0; i < count; ++i) clock->Run(1, units * kUnit);
}

TEST(LinkClock, WaitsForAllOfACopyThatFindsNoRoomBefore) {
  const Machine machine = LinkMachine(1);
  LinkClock clock(machine, kRoom);
  Runs(8, 8, &clock);
  EXPECT_DOUBLE_EQ(clock.Seconds(4 * kUnit), 4);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 4);
}

TEST(LinkClock, BeginsACopyAsEarlyAsThereIsRoom) {
  const Machine machine = LinkMachine(1);
  LinkClock clock(machine, kRoom);
  Runs(6, 8, &clock);
  Runs(3, 6, &clock);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 1);
  Runs(3, 6, &clock);
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(0, 0, true)), 0);
  // It left after run 9, and two runs came since.
  EXPECT_DOUBLE_EQ(clock.Wait(FourUnits(9, 9, true)), 2);
}

TEST(LinkClock, CopiesFollowEachOtherAndTakeRoom) {
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

TEST(LinkClock, ASaveDelaysWhoNeededItsRange) {
  const Machine machine = LinkMachine(1);
  // Used last by run 1, which ends at 2: saved at 6, its range needed by run 4, at 4.
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
