#ifndef TOOLS_LAYRUB_PLANNED_NETS_HPP_
#define TOOLS_LAYRUB_PLANNED_NETS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/solver_plans.hpp"

namespace layrub_tool {

/// The nets that a command which plans without their data is asked about.
struct WantedNets {
  caffe::NetParameter net;                 ///< in the phase that is planned
  std::vector<caffe::NetParameter> tests;  ///< of its solver; none in the TEST phase
  std::string solver_type;
  caffe::PlacementParameter placement;  ///< as net, solver and flags say
};

/// As --model, --solver, --phase and the flags of data and state say, for `command`.
WantedNets NetsOfFlags(const std::string& command);

/// The net for its shapes alone: without data, and without layers that are not here.
caffe::NetParameter ShapesOf(const caffe::NetParameter& net);

/// The name of the net, or where it has none, that of its file.
std::string NetName(const caffe::NetParameter& net);

/// The graphs of one iteration, from nets of shapes, which need neither the data nor the memory
/// that they speak of. kInvalid as Solver::MemoryGraphs.
layrub::Result<caffe::SolverGraphs> BuildGraphs(const WantedNets& nets,
                                                const caffe::PlacementOptions& options);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLANNED_NETS_HPP_
