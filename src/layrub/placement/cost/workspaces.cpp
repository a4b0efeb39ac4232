#include "layrub/placement/cost/workspaces.hpp"

#include <algorithm>

#include "layrub/placement/cost/scratch.hpp"

namespace layrub {

Status KeepDeterministic(Graph* graph) {
  for (Op& op : graph->ops) {
    for (Form& form : op.forms) {
      if (form.scratch.empty()) continue;
      const int32_t granted = placement::cost::GrantedScratch(*graph, form);
      if (granted == kNone) {
        return Status::Invalid("operation " + op.name + " has no deterministic workspace in form " +
                               form.name);
      }
      form.scratch = {form.scratch[granted]};
    }
  }
  return Status::Ok();
}

void KeepWorkspace(int choice, Graph* graph) {
  for (Op& op : graph->ops) {
    for (Form& form : op.forms) {
      if (form.scratch.empty()) continue;
      form.scratch = {form.scratch[std::min<size_t>(choice, form.scratch.size() - 1)]};
    }
  }
}

int WorkspaceChoices(const Graph& graph) {
  size_t most = 0;
  for (const Op& op : graph.ops) {
    for (const Form& form : op.forms) most = std::max(most, form.scratch.size());
  }
  return static_cast<int>(most);
}

}  // namespace layrub
