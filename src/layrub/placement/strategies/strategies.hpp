#ifndef LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
#define LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_

#include "layrub/strategy.hpp"

namespace layrub {

// One function per strategy, each in the file of its name; registry.cpp lists them.
Result<Decision> Keep(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Liveness(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Intra(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Inter(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Auto(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Hybrid(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> Sqrt(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> VdnnAll(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> VdnnAllFast(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> VdnnConv(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> VdnnConvFast(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> VdnnDyn(const Graph& graph, const Machine& machine, const Budget& budget);
Result<Decision> SuperNeurons(const Graph& graph, const Machine& machine, const Budget& budget);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_STRATEGIES_STRATEGIES_HPP_
