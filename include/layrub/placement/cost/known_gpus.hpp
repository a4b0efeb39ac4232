#ifndef LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_
#define LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_

#include <string>

namespace layrub {

/// Returns the name, for FindMachine, of the machine with the data sheet of the GPU that its driver
/// calls `product`, such as "NVIDIA H200". Returns "" if there is none. Boards that share a chip's
/// name but not its clocks, memory or link (mostly those for PCIe) do not match.
std::string KnownGpu(const std::string& product);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_
