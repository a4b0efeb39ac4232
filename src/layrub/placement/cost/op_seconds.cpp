#include <algorithm>
#include <cstdlib>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub {
namespace {

double Estimate(const Form& form, size_t scratch, const Machine& machine) {
  if (scratch < form.scratch.size() && form.scratch[scratch].seconds > 0)
    return form.scratch[scratch].seconds;
  const double rate = form.tf32 && machine.tf32_flops > 0 ? machine.tf32_flops : machine.flops;
  return std::max({form.flops / rate, form.bytes_moved / machine.memory_bandwidth,
                   form.exchanged / machine.device_link}) +
         machine.latency;
}

/// Seconds that were measured for `form` with `scratch` under the name of its operation; 0 for
/// none.
double Measured(const Form& form, int32_t scratch,
                const std::map<std::string, MeasuredForm>& forms) {
  const auto found = forms.find(MeasuredName(form, scratch));
  const bool same = found != forms.end() && found->second.bytes_moved == form.bytes_moved;
  return same ? found->second.seconds : 0;
}

/// As Measured, for the first workspace of `form` that was measured, over what is estimated for it.
double MeasuredPart(const Form& form, const Machine& machine,
                    const std::map<std::string, MeasuredForm>& forms) {
  const auto variants = static_cast<int32_t>(std::max<size_t>(form.scratch.size(), 1));
  for (int32_t i = 0; i < variants; ++i) {
    const double seconds = Measured(form, i, forms);
    if (seconds > 0) return seconds / Estimate(form, static_cast<size_t>(i), machine);
  }
  return 0;
}

}  // namespace

std::string MeasuredName(const Form& form, int32_t scratch) {
  if (form.scratch.empty() || form.scratch[scratch].name.empty()) return form.name;
  return form.name + "/" + form.scratch[scratch].name;
}

double OpSeconds(const Op& op, int32_t form, int32_t scratch, const Machine& machine) {
  if (op.kind == OpKind::kFeed) return 0;
  const Form& chosen = op.forms[form];
  const double estimate = Estimate(chosen, static_cast<size_t>(scratch), machine);
  const auto found = machine.measured.find(op.name);
  if (found == machine.measured.end()) return estimate;
  if (const double seconds = Measured(chosen, scratch, found->second); seconds > 0) return seconds;
  double part = MeasuredPart(chosen, machine, found->second);
  for (auto other = op.forms.begin(); part == 0 && other != op.forms.end(); ++other)
    part = MeasuredPart(*other, machine, found->second);
  return part > 0 ? part * estimate : estimate;
}

double CopyRate(Lane lane, const Machine& machine) {
  switch (lane) {
    case Lane::kSave:
      return machine.link_down;
    case Lane::kSpill:
      return machine.file_write;
    case Lane::kFetch:
      return machine.file_read;
    case Lane::kLoad:
    case Lane::kCompute:
      break;
  }
  return machine.link_up;
}

double MoveSeconds(int64_t bytes, int64_t distance, const Machine& machine) {
  if (bytes == 0 || distance == 0) return 0;
  const int64_t pieces = (bytes - 1) / distance + 1;
  return 2 * static_cast<double>(bytes) / machine.memory_bandwidth +
         static_cast<double>(pieces) * machine.latency;
}

std::vector<int64_t> MoveDistances(const Graph& graph, const Plan& plan) {
  std::vector<int64_t> distances;
  for (PlanWalk walk(graph, plan); walk.Next();) distances.push_back(std::abs(walk.distance()));
  return distances;
}

}  // namespace layrub
