#ifndef TOOLS_LAYRUB_PARTITIONED_NETS_HPP_
#define TOOLS_LAYRUB_PARTITIONED_NETS_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/partition.hpp"
#include "layrub/planned_nets.hpp"

namespace layrub_tool {

/// Nets divided among devices, and what that is worth.
struct PartitionedNets {
  std::string name;  ///< of the partition
  int devices = 1;
  WantedNets local;  ///< the nets that each device runs
  caffe::NetAxes axes;
  layrub::partition::Partition partition;
  double search_seconds = 0;  ///< of one processor
  int64_t received = 0;       ///< bytes that a device receives in an iteration
  /// An iteration of the whole net, with all tensors kept, on one device of any memory.
  double whole_seconds = 0;
};

/// --devices is given.
bool PartitionFlagGiven();
/// The names of --partition.
std::vector<std::string> PartitionNames();

/// The nets divided as --partition says among --devices; `auto` is the partition with which an
/// iteration is predicted to take the least time within the budget of `options`. `alone`: the
/// machine of `options`, but that it shares no link with others. Ends the program where the flags
/// make no sense.
PartitionedNets PartitionOfFlags(const WantedNets& nets, const caffe::PlacementOptions& options,
                                 const layrub::Machine& alone);

/// The bytes that a device receives in an iteration under `plan`.
int64_t BytesReceived(const layrub::Graph& graph, const layrub::Plan& plan);

/// The first lines of what is told to people.
std::string Heading(const PartitionedNets& nets);
/// How each layer is divided and why, for people.
std::string ToText(const PartitionedNets& nets, double seconds, bool all_layers);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PARTITIONED_NETS_HPP_
