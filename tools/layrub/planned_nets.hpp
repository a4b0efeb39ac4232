#ifndef TOOLS_LAYRUB_PLANNED_NETS_HPP_
#define TOOLS_LAYRUB_PLANNED_NETS_HPP_

#include <string>
#include <vector>

#include "caffe/proto/caffe.pb.h"
#include "caffe/solver_plans.hpp"

namespace layrub_tool {

/// The nets that a command plans without their data.
struct WantedNets {
  caffe::NetParameter net;                 ///< in the phase that is planned
  std::vector<caffe::NetParameter> tests;  ///< the solver's test nets; none in the TEST phase
  caffe::SolverParameter solver;  ///< only its type, and what decides whether gradients must stay
  caffe::PlacementParameter placement;  ///< from net, solver and flags, the last wins
};

/// The nets that --model, --solver, --phase and the flags for data and state describe. Messages
/// name `command`.
WantedNets NetsOfFlags(const std::string& command);

/// A copy of the net that has only its shapes: data layers, and layers that this program may lack
/// (--top_shape), are replaced by layers with the same tops that cannot run.
caffe::NetParameter ShapesOf(const caffe::NetParameter& net);

/// The same nets without layers that this program lacks: ShapesOf for them alone.
WantedNets WithKnownLayers(WantedNets nets);

/// The name of the net or, if it has none, of its file.
std::string NetName(const caffe::NetParameter& net);

/// The graphs of one iteration. Needs neither the data nor the memory of the nets. Returns kInvalid
/// under the same conditions as Solver::MemoryGraphs.
layrub::Result<caffe::SolverGraphs> BuildGraphs(const WantedNets& nets,
                                                const caffe::PlacementOptions& options);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_PLANNED_NETS_HPP_
