#include <gtest/gtest.h>

#include "layrub/runtime/measure.hpp"

// An impossible size is requested on purpose: the sanitizers' allocators must return null as malloc
// does.
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace layrub {
namespace {

TEST(MeasureCopies, MeasuresRatesOfThisMachine) {
  const auto backend = MakeCpuBackend();
  Machine machine;
  machine.link_down = machine.link_up = machine.link_both = machine.latency = 0;
  MeasureCopies(backend.get(), int64_t{1} << 20, &machine);
  // Memory copies at between 1 MB and 10 TB per second on any machine, however busy.
  for (const double rate : {machine.link_down, machine.link_up, machine.link_both}) {
    EXPECT_GT(rate, 1e6);
    EXPECT_LT(rate, 1e13);
  }
  EXPECT_LE(machine.link_both, machine.link_down + machine.link_up);
  EXPECT_GT(machine.latency, 0);
  EXPECT_LT(machine.latency, 1);
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) EXPECT_EQ(backend->Allocated(tier), 0);
}

TEST(MeasureCopies, LeavesTheMachineUnchangedWithoutMemory) {
  const auto backend = MakeCpuBackend();
  Machine machine;
  machine.link_down = 7;
  MeasureCopies(backend.get(), int64_t{1} << 60, &machine);
  EXPECT_EQ(machine.link_down, 7);
}

}  // namespace
}  // namespace layrub
