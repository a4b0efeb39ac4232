#include "caffe/memory_traits.hpp"

#include <algorithm>

#include "layrub/base/workspace.hpp"

namespace caffe {

std::vector<Workspace> Workspaces(const OperandForm& form) {
  if (!form.workspaces.empty()) return form.workspaces;
  if (form.scratch_bytes == 0) return {};
  return {Workspace{"", form.scratch_bytes}};
}

Workspace DirectWorkspace(const OperandForm& form) {
  std::vector<Workspace> choices = Workspaces(form);
  if (choices.empty()) return {};
  std::vector<layrub::WorkspaceCost> costs;
  for (const Workspace& choice : choices)
    costs.push_back({choice.bytes, choice.seconds, choice.deterministic});
  return choices[std::max(layrub::GrantedWorkspace(costs), 0)];
}

}  // namespace caffe
