#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/strategies/strategies.hpp"

namespace layrub {

// What backward needs of the forward waits in the host tier; everything else, gradients above all,
// lives as under `liveness`. Source: Layrub (PPoPP 2018 poster; ACM TACO 15(3), article 37, 2018),
// inter-layer strategy.
Result<Decision> Inter(const Graph& graph, const Machine& machine, const Budget& budget) {
  Result<Decision> decision = Liveness(graph, machine, budget);
  if (decision.ok()) MoveBetweenPasses(graph, &decision.value());
  return decision;
}

}  // namespace layrub
