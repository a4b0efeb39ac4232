#ifndef TOOLS_LAYRUB_MACHINE_FILE_HPP_
#define TOOLS_LAYRUB_MACHINE_FILE_HPP_

#include <string>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub_tool {

/// The machine of --machine, a name or a file; without it, in GPU mode the device, by the data
/// sheet of its name or measured at the first call, else "cpu"; its link shared by as many solvers
/// as are to train together. Ends the program when there is none of this name, or with the key that
/// a file lacks.
layrub::Machine MachineFlag();

/// Warns when --machine holds measured operations but lacks some of `graph`: they are of another
/// net, batch or solver.
void WarnOfForeignProfile(const layrub::Graph& graph, const layrub::Machine& machine);

/// Writes `machine` with its measured operations as JSON, in the format that docs/will-it-fit.md
/// describes. Ends the program when that is not possible.
void WriteMachineFile(const std::string& path, const layrub::Machine& machine);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_MACHINE_FILE_HPP_
