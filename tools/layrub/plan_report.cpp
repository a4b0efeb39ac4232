#include "layrub/plan_report.hpp"

#include <iomanip>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "layrub/bytes.hpp"
#include "layrub/strategy.hpp"

namespace layrub_tool {

using layrub::FormatBytes;
using layrub::Graph;
using layrub::MakePlan;
using layrub::Result;

namespace {

std::string PeakOp(const Graph& graph, const PlanReport& report) {
  return report.peak.op == layrub::kNone ? "" : graph.ops[report.peak.op].name;
}

const char* RoleText(layrub::Role role) {
  switch (role) {
    case layrub::Role::kParameter:
      return "parameters";
    case layrub::Role::kParameterGradient:
      return "their gradients";
    case layrub::Role::kHistory:
      return "solver history";
    case layrub::Role::kActivation:
      return "activations";
    case layrub::Role::kActivationGradient:
      return "their gradients";
    case layrub::Role::kSaved:
      return "saved for backward";
    case layrub::Role::kScratch:
      return "workspace";
    case layrub::Role::kUser:
      return "inputs";
  }
  return "";
}

}  // namespace

Result<PlanReport> MakeReport(const Graph& graph, const caffe::PlacementOptions& options) {
  PlanReport report;
  report.budget = options.budget;
  Result<layrub::Plan> plan = MakePlan(graph, options.machine, options.budget, options.strategy);
  report.fits = plan.status();
  if (report.fits.code == layrub::Code::kDoesNotFit)
    plan = MakePlan(graph, options.machine, {}, options.strategy);
  if (!plan.ok()) return plan.status();
  report.plan = std::move(plan.value());
  const Result<layrub::Plan> keep = MakePlan(graph, options.machine, {}, "keep");
  if (!keep.ok()) return keep.status();
  report.peak = layrub::FindPeak(graph, report.plan);
  for (const layrub::Step& step : report.plan.steps) {
    if (step.kind != layrub::StepKind::kRecompute) continue;
    ++report.recomputed_ops;
    report.recomputed_flops += graph.ops[step.op].forms[step.form].flops;
  }
  report.persistent_bytes = layrub::PersistentBytes(graph);
  report.keep_peak_bytes = keep.value().device_bytes;
  report.floor_bytes = layrub::FloorBytes(graph);
  return report;
}

std::string ToJson(const Graph& graph, const PlanReport& report) {
  nlohmann::ordered_json breakdown;
  for (size_t role = 0; role < report.peak.by_role.size(); ++role) {
    breakdown[layrub::Name(static_cast<layrub::Role>(role))] = report.peak.by_role[role];
  }
  breakdown["gaps"] = report.peak.gaps;
  const nlohmann::ordered_json json = {
      {"verdict", report.fits.ok() ? "fits" : "does_not_fit"},
      {"strategy", report.plan.strategy},
      {"device_peak_bytes", report.plan.device_bytes},
      {"persistent_bytes", report.persistent_bytes},
      {"keep_peak_bytes", report.keep_peak_bytes},
      {"floor_bytes", report.floor_bytes},
      {"recomputed_ops", report.recomputed_ops},
      {"recomputed_flops", report.recomputed_flops},
      {"host_peak_bytes", report.plan.host_bytes},
      {"peak_op", PeakOp(graph, report)},
      {"breakdown", breakdown},
  };
  return json.dump(2) + "\n";
}

std::string ToText(const Graph& graph, const PlanReport& report) {
  std::ostringstream out;
  const auto row = [&out](const std::string& name, int64_t bytes, const std::string& note) {
    out << "  " << std::left << std::setw(20) << name << std::right << std::setw(14)
        << FormatBytes(bytes);
    out << (note.empty() ? "" : "   " + note) << "\n";
  };
  const bool limited = report.budget.device != std::numeric_limits<int64_t>::max();
  const std::string need = FormatBytes(report.plan.device_bytes);
  if (!report.fits.ok()) {
    out << "Does not fit: " << report.fits.message << "\n";
  } else if (limited) {
    out << "Fits: " << report.plan.strategy << " needs " << need << " of "
        << FormatBytes(report.budget.device) << " device memory.\n";
  } else {
    out << report.plan.strategy << " needs " << need << " device memory.\n";
  }
  out << "\nDevice memory at the peak, " << PeakOp(graph, report) << ":\n";
  for (size_t role = 0; role < report.peak.by_role.size(); ++role) {
    if (report.peak.by_role[role] > 0)
      row(RoleText(static_cast<layrub::Role>(role)), report.peak.by_role[role], "");
  }
  if (report.peak.gaps > 0) row("unused", report.peak.gaps, "between tensors");
  row("total", report.plan.device_bytes, "");
  out << "\nFor comparison:\n";
  row("plain Caffe (keep)", report.keep_peak_bytes, "everything stays where it is");
  row("floor", report.floor_bytes, "no plan that keeps the state resident needs less");
  row("state", report.persistent_bytes, "parameters, gradients, history, inputs: always resident");
  out << "\nHost memory:\n";
  row("moved off the device", report.plan.host_bytes, "");
  if (report.recomputed_ops > 0) {
    out << "\nRuns again: " << report.recomputed_ops << " forward operations, "
        << report.recomputed_flops / 1e9 << " GFLOP an iteration.\n";
  }
  return out.str();
}

}  // namespace layrub_tool
