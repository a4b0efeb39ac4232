// What `layrub compare` prints.
#include <nlohmann/json.hpp>
#include <sstream>

#include "layrub/base/bytes.hpp"
#include "layrub/comparison.hpp"
#include "layrub/json_text.hpp"
#include "layrub/number_text.hpp"

namespace layrub_tool {

using layrub::FormatBytes;

namespace {

const std::vector<int> kWidths = {14, 13, 13, 13, 9, 8, 13, 6};

void Row(std::ostream& out, const Comparison& comparison, const ComparedPlan& plan) {
  const std::string budget = plan.budget_bytes ? FormatBytes(*plan.budget_bytes) : "-";
  if (!plan.fits) {
    WriteRow(out, kWidths, {plan.strategy, budget, "-", "-", "-", "-", "-", "-", Verdict(plan)});
    return;
  }
  WriteRow(out, kWidths,
           {plan.strategy, budget, FormatBytes(plan.device_bytes), OffDevice(plan),
            FormatSeconds(plan.seconds), Fixed(plan.seconds / comparison.keep_seconds, 2),
            BytesOrDash(plan.traffic_bytes),
            plan.recomputed_ops == 0 ? "-" : std::to_string(plan.recomputed_ops), Verdict(plan)});
}

/// If nothing fits: which budget would.
std::string WhatWouldFit(const Comparison& comparison) {
  if (comparison.anything_fits()) return "";
  const ComparedPlan* least = nullptr;
  for (const ComparedPlan& plan : comparison.plans) {
    if (plan.smallest_bytes && (!least || *plan.smallest_bytes < *least->smallest_bytes))
      least = &plan;
  }
  if (!least) return "Nothing fits into --host_memory: give more of it, or --spill_memory.\n";
  return "Nothing fits. The least of all is --placement=" + least->strategy +
         " --device_memory=" + std::to_string(*least->smallest_bytes) + ".\n";
}

}  // namespace

std::string ToText(const Comparison& comparison) {
  std::ostringstream out;
  out << comparison.net << ", one iteration by the model of machine " << comparison.machine
      << ". Strategy keep takes " << FormatBytes(comparison.keep_bytes) << " and "
      << FormatSeconds(comparison.keep_seconds) << ";\nno plan takes less than "
      << FormatBytes(comparison.state_floor_bytes);
  if (comparison.state_floor_bytes < comparison.floor_bytes)
    out << ", none with weights and history on the device less than "
        << FormatBytes(comparison.floor_bytes);
  out << ".";
  if (comparison.limit_bytes)
    out << " The device has " << FormatBytes(*comparison.limit_bytes) << ".";
  out << "\n" << WhatWouldFit(comparison) << "\n";
  WriteRow(
      out, kWidths,
      {"strategy", "budget", "device", "host", "time", "x keep", "traffic", "again", "verdict"});
  for (const ComparedPlan& plan : comparison.plans) Row(out, comparison, plan);
  return out.str();
}

std::string ToJson(const Comparison& comparison) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<int64_t>& bytes) {
    return bytes ? Json(*bytes) : Json();
  };
  Json json = {{"net", comparison.net},
               {"machine", comparison.machine},
               {"limit_bytes", or_null(comparison.limit_bytes)},
               {"floor_bytes", comparison.floor_bytes},
               {"state_floor_bytes", comparison.state_floor_bytes},
               {"keep_budget_bytes", comparison.keep_bytes},
               {"keep_seconds", comparison.keep_seconds},
               {"plans", Json::array()},
               {"time_floor", Json::array()}};
  for (const ComparedPlan& plan : comparison.plans) {
    Json row = {{"strategy", plan.strategy},
                {"budget_bytes", or_null(plan.budget_bytes)},
                {"verdict", plan.fits ? "fits" : "does_not_fit"}};
    if (plan.fits) {
      row["total_device_bytes"] = plan.device_bytes;
      row["host_peak_bytes"] = plan.host_bytes;
      row["spill_bytes"] = plan.spill_bytes;
      row["predicted_seconds"] = plan.seconds;
      row["traffic_bytes"] = plan.traffic_bytes;
      row["recomputed_ops"] = plan.recomputed_ops;
    } else {
      row["smallest_budget_bytes"] = or_null(plan.smallest_bytes);
    }
    json["plans"].push_back(row);
  }
  for (const FloorPoint& point : comparison.time_floor)
    json["time_floor"].push_back(
        {{"budget_bytes", point.budget_bytes}, {"seconds", point.seconds}});
  return JsonText(json);
}

}  // namespace layrub_tool
