#ifndef LAYRUB_PLACEMENT_COST_WORKSPACES_HPP_
#define LAYRUB_PLACEMENT_COST_WORKSPACES_HPP_

#include "layrub/base/status.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub {

/// Leaves each form one workspace (GrantedWorkspace): reproducible, and the same whatever budget,
/// strategy and machine; a layer called without a plan has the same. kInvalid names an operation
/// that has no reproducible one.
Status KeepDeterministic(Graph* graph);
/// Leaves each form the workspace number `choice`, or its last one: to measure one after the other.
void KeepWorkspace(int choice, Graph* graph);
/// The most workspaces that a form of the graph has to choose from.
int WorkspaceChoices(const Graph& graph);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_WORKSPACES_HPP_
