#ifndef TOOLS_LAYRUB_PARTITIONED_NETS_HPP_
#define TOOLS_LAYRUB_PARTITIONED_NETS_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "caffe/partition.hpp"
#include "layrub/planned_nets.hpp"

namespace layrub_tool {

/// Nets divided among devices, and figures about the division.
struct PartitionedNets {
  std::string name;  ///< of the partition
  int devices = 1;
  WantedNets local;  ///< the nets that each device runs
  caffe::NetAxes axes;
  layrub::partition::Partition partition;
  double search_seconds = 0;  ///< processor time
  int64_t received = 0;       ///< bytes that a device receives in an iteration
  /// Predicted time of an iteration of the whole net under strategy keep, on one device without a
  /// memory limit.
  double whole_seconds = 0;
};

/// Whether --devices is other than 1. Ends the program if --partition is given without it.
bool PartitionFlagGiven();
/// The values that --partition may have.
std::vector<std::string> PartitionNames();
/// Ends the program unless `name` is one of PartitionNames.
void CheckPartitionName(const std::string& name);

/// Divides nets among the devices of --devices.
class NetDivider {
 public:
  /// `machine`: one of the devices. Its link to the host is shared with the others. Ends the
  /// program if --devices is not a power of two.
  NetDivider(const WantedNets& nets, const layrub::Machine& machine);

  const caffe::NetAxes& axes() const { return axes_; }
  /// The partitions from which the partition `name` takes the one with the least predicted time of
  /// an iteration. Those of `auto` include those of every other name.
  std::vector<layrub::partition::Partition> Candidates(const std::string& name) const;
  /// The nets that each device runs.
  WantedNets Local(const layrub::partition::Partition& partition) const;

 private:
  const WantedNets nets_;
  const layrub::Machine machine_;
  const int levels_;
  const caffe::NetAxes axes_;
};

/// Divides the nets among --devices as --partition says. `auto` is the partition with the least
/// predicted time of an iteration within the budget of `options`. `alone` is the machine of
/// `options` with its link not shared. Ends the program if the flags are invalid.
PartitionedNets PartitionOfFlags(const WantedNets& nets, const caffe::PlacementOptions& options,
                                 const layrub::Machine& alone);

/// The predicted time of an iteration of the whole net under strategy keep, on one device of
/// `machine` without a memory limit.
double WholeSeconds(const WantedNets& nets, caffe::PlacementOptions options,
                    const layrub::Machine& machine);

/// The bytes that a device receives from others in an iteration under `plan`.
int64_t BytesReceived(const layrub::Graph& graph, const layrub::Plan& plan);

/// How each layer of the whole net is divided, by its name: the axes, level by level.
std::map<std::string, std::string> LayerAxes(const PartitionedNets& nets);

/// The first lines of the report for people.
std::string Heading(const PartitionedNets& nets);
/// How each layer is divided and why, for people.
std::string ToText(const PartitionedNets& nets, double seconds, bool all_layers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PARTITIONED_NETS_HPP_
