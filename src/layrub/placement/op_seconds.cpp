#include <algorithm>

#include "layrub/timeline.hpp"

namespace layrub {
namespace {

double Estimate(const Form& form, const Machine& machine) {
  return std::max(form.flops / machine.flops, form.bytes_moved / machine.memory_bandwidth) +
         machine.latency;
}

/// Seconds that were measured for `form` under the name of its operation; 0 for none.
double Measured(const Form& form, const std::map<std::string, MeasuredForm>& forms) {
  const auto found = forms.find(form.name);
  const bool same = found != forms.end() && found->second.bytes_moved == form.bytes_moved;
  return same ? found->second.seconds : 0;
}

}  // namespace

double OpSeconds(const Op& op, int32_t form, int32_t scratch, const Machine& machine) {
  const Form& chosen = op.forms[form];
  if (!chosen.scratch.empty() && chosen.scratch[scratch].seconds > 0)
    return chosen.scratch[scratch].seconds;
  const double estimate = Estimate(chosen, machine);
  const auto found = machine.measured.find(op.name);
  if (found == machine.measured.end()) return estimate;
  if (const double seconds = Measured(chosen, found->second); seconds > 0) return seconds;
  for (const Form& other : op.forms) {
    const double seconds = Measured(other, found->second);
    if (seconds > 0) return seconds * estimate / Estimate(other, machine);
  }
  return estimate;
}

}  // namespace layrub
