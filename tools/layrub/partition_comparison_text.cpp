// What `layrub compare --devices=N` prints and draws.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "layrub/base/bytes.hpp"
#include "layrub/json_text.hpp"
#include "layrub/number_text.hpp"
#include "layrub/partition_comparison.hpp"
#include "layrub/report/svg.hpp"
#include "layrub/tradeoff_figure.hpp"

namespace layrub_tool {

using layrub::FormatBytes;

namespace {

const std::vector<int> kColumnWidths = {11, 13, 13, 13, 9, 8, 13, 13, 7};

void Row(std::ostream& out, const PartitionComparison& comparison, const DividedPlan& row) {
  const ComparedPlan& plan = row.plan;
  const std::string budget = plan.budget_bytes ? FormatBytes(*plan.budget_bytes) : "-";
  if (!plan.fits) {
    WriteRow(out, kColumnWidths,
             {row.partition, budget, "-", "-", "-", "-", "-", "-", "-", Verdict(plan)});
    return;
  }
  WriteRow(out, kColumnWidths,
           {row.partition, budget, FormatBytes(plan.device_bytes), OffDevice(plan),
            FormatSeconds(plan.seconds), Percent(comparison.ideal_seconds(), plan.seconds),
            BytesOrDash(plan.received_bytes), BytesOrDash(plan.traffic_bytes),
            plan.recomputed_ops == 0 ? "-" : std::to_string(plan.recomputed_ops), Verdict(plan)});
}

/// If nothing fits: which budget would.
std::string WhatWouldFit(const PartitionComparison& comparison) {
  if (comparison.anything_fits()) return "";
  const DividedPlan* least = nullptr;
  for (const DividedPlan& row : comparison.plans) {
    const auto& bytes = row.plan.smallest_bytes;
    if (bytes && (!least || *bytes < *least->plan.smallest_bytes)) least = &row;
  }
  if (!least) return "Nothing fits into --host_memory: give more of it, or --spill_memory.\n";
  const std::string divided =
      least->partition == kOneDevice ? "one device" : "--partition=" + least->partition;
  return "Nothing fits. The least of all is " + divided +
         " with --device_memory=" + std::to_string(*least->plan.smallest_bytes) + ".\n";
}

/// The look of a partition in the picture.
Look LookOf(const std::string& partition) {
  if (partition == "auto") return {"series8", MarkShape::kLargeCircle};
  if (partition == "tofu") return {"series1", MarkShape::kSquare};
  if (partition == "data") return {"series6", MarkShape::kTriangle};
  if (partition == "chop") return {"series7", MarkShape::kDiamond};
  if (partition == "rows") return {"series5", MarkShape::kSquare};
  return {"series3", MarkShape::kCircle};
}

}  // namespace

std::string ToText(const PartitionComparison& comparison) {
  std::ostringstream out;
  out << comparison.net << " among " << comparison.devices
      << " devices, one iteration by the model of machine " << comparison.machine
      << ". One device whose memory held\neverything would take "
      << FormatSeconds(comparison.whole_seconds)
      << ". Each device takes memory, receives bytes from the others, and has traffic\nwith the "
         "host; "
         "speed is a part of that of "
      << comparison.devices << " devices that exchange nothing and hold everything.";
  if (comparison.limit_bytes)
    out << "\nA device has " << FormatBytes(*comparison.limit_bytes) << ".";
  out << "\n" << WhatWouldFit(comparison) << "\n";
  WriteRow(out, kColumnWidths,
           {"partition", "budget", "device", "host", "time", "speed", "received", "traffic",
            "again", "verdict"});
  for (const DividedPlan& row : comparison.plans) Row(out, comparison, row);
  return out.str();
}

std::string ToJson(const PartitionComparison& comparison) {
  using Json = nlohmann::ordered_json;
  const auto or_null = [](const std::optional<int64_t>& bytes) {
    return bytes ? Json(*bytes) : Json();
  };
  Json json = {{"net", comparison.net},
               {"machine", comparison.machine},
               {"devices", comparison.devices},
               {"limit_bytes", or_null(comparison.limit_bytes)},
               {"whole_seconds", comparison.whole_seconds},
               {"plans", Json::array()}};
  for (const DividedPlan& row : comparison.plans) {
    Json entry = {{"partition", row.partition},
                  {"strategy", row.plan.strategy},
                  {"budget_bytes", or_null(row.plan.budget_bytes)},
                  {"verdict", row.plan.fits ? "fits" : "does_not_fit"}};
    if (row.plan.fits) {
      entry["total_device_bytes"] = row.plan.device_bytes;
      entry["host_peak_bytes"] = row.plan.host_bytes;
      entry["spill_bytes"] = row.plan.spill_bytes;
      entry["predicted_seconds"] = row.plan.seconds;
      entry["received_bytes"] = row.plan.received_bytes;
      entry["traffic_bytes"] = row.plan.traffic_bytes;
      entry["recomputed_ops"] = row.plan.recomputed_ops;
    } else {
      entry["smallest_budget_bytes"] = or_null(row.plan.smallest_bytes);
    }
    json["plans"].push_back(entry);
  }
  return JsonText(json);
}

std::string ToSvg(const PartitionComparison& comparison) {
  const std::string devices = std::to_string(comparison.devices) + " devices";
  TradeoffFigure figure;
  figure.description =
      comparison.net + " among " + devices + ": time of an iteration against device memory";
  figure.heading = comparison.net + ", divided among " + devices;
  figure.subheading = "Time of an iteration, in times of the " +
                      TimeText(comparison.ideal_seconds()) + " of " + devices +
                      " that exchange nothing and hold everything (" + comparison.machine + ")";
  int64_t most = 0;
  for (const DividedPlan& row : comparison.plans) {
    if (!row.plan.fits) continue;
    most = std::max(most, row.plan.device_bytes);
    if (figure.curves.empty() || figure.curves.back().name != row.partition) {
      const Look look = LookOf(row.partition);
      figure.curves.push_back({row.partition, look, row.partition == "auto", {}});
      figure.keys.push_back({look, row.partition});
    }
    const double times = row.plan.seconds / comparison.ideal_seconds();
    figure.curves.back().points.push_back({row.plan.device_bytes, times,
                                           row.partition + ": " + SizeText(row.plan.device_bytes) +
                                               ", " + TimeText(row.plan.seconds) + " (" +
                                               Fixed(times, 2) + " x ideal)"});
  }
  for (TradeoffCurve& curve : figure.curves) {
    std::stable_sort(curve.points.begin(), curve.points.end(),
                     [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  }
  if (comparison.limit_bytes && *comparison.limit_bytes < most)
    figure.limits.push_back({*comparison.limit_bytes, comparison.machine + " has", true});
  return ToSvg(figure);
}

}  // namespace layrub_tool
