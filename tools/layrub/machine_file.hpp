#ifndef TOOLS_LAYRUB_MACHINE_FILE_HPP_
#define TOOLS_LAYRUB_MACHINE_FILE_HPP_

#include <string>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub_tool {

/// The machine that --machine names, a known name or a file. Without the flag: in GPU mode the
/// device, by its data sheet if its name is known and else measured at the first call; in CPU mode
/// the GPU that --gpu names, or "cpu". The solvers that train together share its link. Ends the
/// program if the name is unknown, or if a key of the file is missing or invalid.
layrub::Machine MachineFlag();

/// Warns if `machine` has measured operations but not all those of `graph`, because it was measured
/// with another net, batch or solver.
void WarnIfProfileLacksOperations(const layrub::Graph& graph, const layrub::Machine& machine);

/// Writes `machine` with its measured operations as JSON, in the format that docs/will-it-fit.md
/// describes. Ends the program if the file cannot be written.
void WriteMachineFile(const std::string& path, const layrub::Machine& machine);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_MACHINE_FILE_HPP_
