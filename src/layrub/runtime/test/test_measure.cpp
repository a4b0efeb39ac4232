#include <gtest/gtest.h>

#include "layrub/runtime/measure.hpp"

// An impossible size is asked for on purpose: the sanitizers' allocators shall say no as malloc
// does.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace layrub {
namespace {

TEST(MeasureCopies, FindsRatesOfThisMachine) {
  const auto backend = MakeCpuBackend();
  Machine machine;
  machine.link_down = machine.link_up = machine.link_both = machine.latency = 0;
  MeasureCopies(backend.get(), int64_t{1} << 20, &machine);
  // Memory moves more than 1 MB and less than 10 TB a second, however busy the machine is.
  for (const double rate : {machine.link_down, machine.link_up, machine.link_both}) {
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e13);
  }
  EXPECT_LE(machine.link_both, machine.link_down + machine.link_up);
  EXPECT_GT(machine.latency, 0);
  EXPECT_LT(machine.latency, 1);
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) EXPECT_EQ(backend->Allocated(tier), 0);
}

TEST(MeasureCopies, LeavesTheMachineAloneWhereThereIsNoMemory) {
  const auto backend = MakeCpuBackend();
  Machine machine;
  machine.link_down = 7;
  MeasureCopies(backend.get(), int64_t{1} << 60, &machine);
  EXPECT_EQ(machine.link_down, 7);
}

}  // namespace
}  // namespace layrub
