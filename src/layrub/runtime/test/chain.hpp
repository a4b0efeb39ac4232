#ifndef LAYRUB_RUNTIME_TEST_CHAIN_HPP_
#define LAYRUB_RUNTIME_TEST_CHAIN_HPP_

#include <cstdint>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// Bytes of every tensor of the chain; offsets below are multiples of it.
inline constexpr int64_t kBytes = 8192;

enum Tensors : TensorId { kInput, kWeight, kA, kB, kC, kDiffC, kDiffB, kDiffA };
enum Ops : OpId { kForwardA, kForwardB, kForwardC, kFillC, kBackwardC, kBackwardB, kUpdateWeight };

/// input -> A -> B -> C and back; C may lie on B and A's gradient on B's.
Graph Chain();

/// The chain with feeds from the host: `x`, of which A is made, then `y` and `z`, of which C is
/// made, too. In a tight plan they take bytes that other tensors have used.
Graph FedChain();

/// A plan that offloads A after B was computed and prefetches it for B's backward. C is aliased on
/// B.
Plan ChainPlan();

// Steps for plans made by hand.
Step Alloc(TensorId tensor, int slot, Tier tier = Tier::kDevice);
Step Free(TensorId tensor, Tier tier = Tier::kDevice);
Step Alias(TensorId tensor, TensorId on);
Step Offload(TensorId tensor);
Step Prefetch(TensorId tensor);
Step Wait(Lane lane, int32_t target);
Step Compute(OpId op);

}  // namespace layrub::testing

#endif  // LAYRUB_RUNTIME_TEST_CHAIN_HPP_
