#ifndef LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_
#define LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_

#include <string>

namespace layrub {

/// The name, for FindMachine, of the machine whose data sheet is about the GPU that its driver
/// calls `product`, such as "NVIDIA H200"; empty if there is none. Boards that share a chip's name
/// but not its clocks, memory or link (those for PCIe, mostly) are none of those known.
std::string KnownGpu(const std::string& product);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_KNOWN_GPUS_HPP_
