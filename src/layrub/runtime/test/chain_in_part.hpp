#ifndef LAYRUB_RUNTIME_TEST_CHAIN_IN_PART_HPP_
#define LAYRUB_RUNTIME_TEST_CHAIN_IN_PART_HPP_

#include <cstdint>

#include "layrub/placement/test/plan_writer.hpp"
#include "layrub/runtime/test/chain.hpp"

namespace layrub::testing {

/// Bytes of A that stay on the device.
inline constexpr int64_t kPart = kBytes / 4;
/// The distance of the first move, less than the part's bytes, so that the ranges overlap.
inline constexpr int64_t kShift = 3 * kAlignment;
/// The offset of A, and that of its part during the eviction.
inline constexpr int64_t kOffsetOfA = 2 * kBytes, kOffsetOfPart = 5 * kBytes;

/// A plan of the Chain that offloads A except for kPart bytes when C is computed, and prefetches it
/// for B's backward. The part first slides over bytes that have left, then moves away to free its
/// place for the gradients, and goes back to where A was.
inline Plan ChainInPart() {
  const Graph graph = Chain();
  PlanWriter p(graph, kOffsetOfPart + kPart, kBytes);
  p.Home("input", 0);
  p.Home("weight", kBytes);
  p.Alloc("a", kOffsetOfA);
  const int32_t made = p.Run("a/forward");
  p.Alloc("b", 3 * kBytes);
  p.Run("b/forward");
  p.Alloc("a", 0, Tier::kHost);
  p.Wait(Lane::kSave, made);
  const int32_t saved = p.Offload("a", kPart, kBytes - kPart);
  p.Alias("c", "b");
  p.Run("c/forward");
  p.Free("b");
  p.Keep("a", kPart);
  p.EndPass(Pass::kForward);
  p.Wait(Lane::kCompute, saved);
  p.Move("a", kOffsetOfA + kShift, kPart);
  p.Move("a", kOffsetOfPart, kPart);
  p.Alloc("dc", kOffsetOfA);
  p.Run("dc/fill");
  p.Alloc("db", 4 * kBytes);
  p.Run("c/backward");
  p.Free("dc");
  const int32_t back = p.Move("a", kOffsetOfA, kPart);
  p.Alloc("a", kOffsetOfA, Tier::kDevice, kPart);
  p.Wait(Lane::kLoad, back);
  const int32_t fetched = p.Prefetch("a", kPart, kBytes - kPart);
  p.Wait(Lane::kCompute, fetched);
  p.Free("a", Tier::kHost);
  p.Alias("da", "db");
  p.Run("b/backward");
  p.Free("db");
  p.Free("a");
  p.EndPass(Pass::kBackward);
  p.Run("update");
  p.Free("da");
  p.EndPass(Pass::kUpdate);
  p.Readable("c");
  return p.plan;
}

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_CHAIN_IN_PART_HPP_
