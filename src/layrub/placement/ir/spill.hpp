#ifndef LAYRUB_PLACEMENT_IR_SPILL_HPP_
#define LAYRUB_PLACEMENT_IR_SPILL_HPP_

#include <cstdint>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"

namespace layrub::placement {

/// Sets the tier of each HostInterval: host memory as long as at most `host_bytes` of it are in use
/// during any run, otherwise the file. Values with the most copies for the runs during which they
/// occupy memory get it first. So a value that waits for long, such as history between two updates,
/// goes to the file first.
void SpillIntervals(const Graph& graph, const Program& program, int64_t host_bytes,
                    Lifetimes* lives);

}  // namespace layrub::placement

#endif  // LAYRUB_PLACEMENT_IR_SPILL_HPP_
