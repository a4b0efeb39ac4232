#ifndef TOOLS_LAYRUB_PARTITION_COMPARISON_HPP_
#define TOOLS_LAYRUB_PARTITION_COMPARISON_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layrub/base/status.hpp"
#include "layrub/compared_plan.hpp"
#include "layrub/planned_nets.hpp"

namespace layrub_tool {

/// A plan for each of the devices among which a partition divides the net.
struct DividedPlan {
  std::string partition;  ///< or kOneDevice: the whole net, on one of the devices
  ComparedPlan plan;
};
inline constexpr char kOneDevice[] = "one device";

/// Plans of several partitions of a net, each in rising budgets.
struct PartitionComparison {
  std::string net;
  std::string machine;
  int devices = 1;
  double whole_seconds = 0;  ///< of an iteration on one device whose memory holds everything
  /// Upper limit of the budgets that are tried if none were asked for; none: no limit.
  std::optional<int64_t> limit_bytes;
  std::vector<DividedPlan> plans;

  /// Of an iteration on `devices` such devices that exchange nothing.
  double ideal_seconds() const { return whole_seconds / devices; }
  bool anything_fits() const;
};

/// Divides the nets among --devices by each partition, or by those that --partition lists, and
/// plans for one of the devices, within each of `budgets` and by the strategy of `options`. If
/// `budgets` is empty, the budgets of a partition are its smallest, some larger ones, and what it
/// takes to keep everything, none above the budget of `options`. `alone` is the machine of
/// `options` with its link not shared. Shows progress on a terminal. Returns kInvalid if a graph is
/// malformed.
layrub::Result<PartitionComparison> ComparePartitions(const WantedNets& nets,
                                                      const caffe::PlacementOptions& options,
                                                      const layrub::Machine& alone,
                                                      const std::vector<int64_t>& budgets);

/// For people: a row for each plan.
std::string ToText(const PartitionComparison& comparison);
/// For programs: the keys are documented in docs/will-it-fit.md.
std::string ToJson(const PartitionComparison& comparison);
/// The picture: predicted time against the memory of a device.
std::string ToSvg(const PartitionComparison& comparison);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PARTITION_COMPARISON_HPP_
