#include <algorithm>
#include <cstdlib>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/plan_walk.hpp"

namespace layrub {
namespace {

double Estimate(const Variant& variant, size_t algorithm, const Machine& machine) {
  if (algorithm < variant.algorithms.size() && variant.algorithms[algorithm].seconds > 0)
    return variant.algorithms[algorithm].seconds;
  const double rate = variant.tf32 && machine.tf32_flops > 0 ? machine.tf32_flops : machine.flops;
  return std::max({variant.flops / rate, variant.bytes_moved / machine.memory_bandwidth,
                   variant.exchanged / machine.device_link}) +
         machine.latency;
}

/// Measured seconds of `variant` with `algorithm`, looked up in `variants`, those of its operation;
/// 0 if there are none.
double Measured(const Variant& variant, int32_t algorithm,
                const std::map<std::string, MeasuredVariant>& variants) {
  const auto found = variants.find(MeasuredName(variant, algorithm));
  const bool same = found != variants.end() && found->second.bytes_moved == variant.bytes_moved;
  return same ? found->second.seconds : 0;
}

/// Measured over estimated seconds of the first algorithm of `variant` that was measured; 0 if none
/// was.
double MeasuredRatio(const Variant& variant, const Machine& machine,
                     const std::map<std::string, MeasuredVariant>& variants) {
  const auto algorithms = static_cast<int32_t>(std::max<size_t>(variant.algorithms.size(), 1));
  for (int32_t i = 0; i < algorithms; ++i) {
    const double seconds = Measured(variant, i, variants);
    if (seconds > 0) return seconds / Estimate(variant, static_cast<size_t>(i), machine);
  }
  return 0;
}

}  // namespace

std::string MeasuredName(const Variant& variant, int32_t algorithm) {
  if (variant.algorithms.empty() || variant.algorithms[algorithm].name.empty()) return variant.name;
  return variant.name + "/" + variant.algorithms[algorithm].name;
}

double OpSeconds(const Op& op, int32_t variant, int32_t algorithm, const Machine& machine) {
  if (op.kind == OpKind::kFeed) return 0;
  const Variant& chosen = op.variants[variant];
  const double estimate = Estimate(chosen, static_cast<size_t>(algorithm), machine);
  const auto found = machine.measured.find(op.name);
  if (found == machine.measured.end()) return estimate;
  if (const double seconds = Measured(chosen, algorithm, found->second); seconds > 0)
    return seconds;
  double part = MeasuredRatio(chosen, machine, found->second);
  for (auto other = op.variants.begin(); part == 0 && other != op.variants.end(); ++other)
    part = MeasuredRatio(*other, machine, found->second);
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

std::vector<int64_t> HostAccessBytes(const Graph& graph, const Plan& plan) {
  std::vector<int64_t> bytes(plan.steps.size());
  const auto can_be_in_place = [&](const Home& home) {
    return home.tier == Tier::kHost && graph.tensors[home.tensor].host_access;
  };
  if (std::none_of(plan.homes.begin(), plan.homes.end(), can_be_in_place)) return bytes;
  for (PlanWalk walk(graph, plan); walk.Next();) {
    const Step& step = walk.step();
    if (step.kind != StepKind::kRun) continue;
    for (const TensorId t : graph.ops[step.op].variants[step.variant].reads) {
      const bool in_place = graph.tensors[t].host_access &&
                            walk.RangeOf(Tier::kDevice, t) == kNone &&
                            walk.RangeOf(Tier::kHost, t) != kNone;
      if (in_place) bytes[walk.number()] += graph.tensors[t].bytes;
    }
  }
  return bytes;
}

}  // namespace layrub
