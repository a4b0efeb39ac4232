// The picture of `layrub compare`.
#include <algorithm>

#include "layrub/comparison.hpp"
#include "layrub/number_text.hpp"
#include "layrub/report/svg.hpp"
#include "layrub/tradeoff_figure.hpp"

namespace layrub_tool {

namespace {

/// How a plan saves memory.
enum Kind { kNothing, kCopies, kRecomputes, kBoth, kAuto };
constexpr struct {
  Look look;
  const char* text;
} kKinds[] = {{{"series3", MarkShape::kCircle}, "moves nothing"},
              {{"series1", MarkShape::kSquare}, "copies to the host"},
              {{"series6", MarkShape::kTriangle}, "computes again"},
              {{"series7", MarkShape::kDiamond}, "both"},
              {{"series8", MarkShape::kLargeCircle}, "auto, in several budgets"}};

Kind KindOf(const ComparedPlan& plan) {
  if (plan.strategy == "auto") return kAuto;
  if (plan.traffic_bytes > 0) return plan.recomputed_ops > 0 ? kBoth : kCopies;
  return plan.recomputed_ops > 0 ? kRecomputes : kNothing;
}

using Plans = std::vector<const ComparedPlan*>;

/// The plans that fit, by strategy in the order of the comparison, each in rising bytes.
std::vector<Plans> Fitting(const Comparison& comparison) {
  std::vector<Plans> fitting;
  for (const ComparedPlan& plan : comparison.plans) {
    if (!plan.fits) continue;
    if (fitting.empty() || fitting.back()[0]->strategy != plan.strategy) fitting.emplace_back();
    fitting.back().push_back(&plan);
  }
  for (Plans& plans : fitting) {
    std::stable_sort(plans.begin(), plans.end(), [](const auto* a, const auto* b) {
      return a->device_bytes < b->device_bytes;
    });
  }
  return fitting;
}

void AddLimits(const Comparison& comparison, TradeoffFigure* figure) {
  const bool state_leaves = comparison.state_floor_bytes < comparison.floor_bytes;
  figure->limits.push_back(
      {comparison.state_floor_bytes, state_leaves ? "state floor" : "memory floor"});
  if (state_leaves) figure->limits.push_back({comparison.floor_bytes, "floor"});
  int64_t most = comparison.keep_bytes;
  for (const ComparedPlan& plan : comparison.plans) most = std::max(most, plan.device_bytes);
  if (comparison.limit_bytes && *comparison.limit_bytes < most)
    figure->limits.push_back({*comparison.limit_bytes, comparison.machine + " has", true});
}

}  // namespace

std::string ToSvg(const Comparison& comparison) {
  const auto times = [&](double seconds) { return seconds / comparison.keep_seconds; };
  TradeoffFigure figure;
  figure.description = comparison.net + ": time of an iteration against device memory";
  figure.heading = comparison.net + ": what less memory costs";
  figure.subheading = "Time of an iteration, in times of keep's " +
                      TimeText(comparison.keep_seconds) + ", by the model of machine " +
                      comparison.machine;
  bool drawn[std::size(kKinds)] = {};
  bool keep_fits = false;
  for (const Plans& plans : Fitting(comparison)) {
    const Kind kind = KindOf(*plans[0]);
    drawn[kind] = true;
    keep_fits |= plans[0]->strategy == "keep";
    TradeoffCurve curve{plans[0]->strategy, kKinds[kind].look, kind == kAuto, {}};
    for (const ComparedPlan* plan : plans) {
      curve.points.push_back({plan->device_bytes, times(plan->seconds),
                              plan->strategy + ": " + SizeText(plan->device_bytes) + ", " +
                                  TimeText(plan->seconds) + " (" + Fixed(times(plan->seconds), 2) +
                                  " x keep)"});
    }
    figure.curves.push_back(std::move(curve));
  }
  for (size_t kind = 0; kind < std::size(kKinds); ++kind) {
    if (drawn[kind]) figure.keys.push_back({kKinds[kind].look, kKinds[kind].text});
  }
  if (!keep_fits) figure.empty_marks.push_back({comparison.keep_bytes, 1, "keep: does not fit"});
  for (const FloorPoint& point : comparison.time_floor)
    figure.floor.push_back({point.budget_bytes, times(point.seconds), ""});
  figure.floor_name = "time floor: no plan is faster";
  AddLimits(comparison, &figure);
  return ToSvg(figure);
}

}  // namespace layrub_tool
