#ifndef LAYRUB_PLACEMENT_COST_MACHINE_HPP_
#define LAYRUB_PLACEMENT_COST_MACHINE_HPP_

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "layrub/base/status.hpp"

namespace layrub {

/// A measured variant of an operation.
struct MeasuredVariant {
  /// Variant::bytes_moved at the measurement. An operation of the same name with other bytes, from
  /// another batch or net, does not count as measured.
  double bytes_moved = 0;
  double seconds = 0;  ///< while no copy runs
};

/// What the cost model knows of a device. Rates in units per second, sizes in bytes.
struct Machine {
  std::string name = "cpu";
  double flops = 5e10;             ///< sustained single precision FLOP/s
  double memory_bandwidth = 1e10;  ///< bytes/s of device memory
  double link_down = 5e9;          ///< bytes/s device -> host tier
  double link_up = 5e9;            ///< bytes/s host tier -> device
  double link_both = 8e9;          ///< bytes/s of both directions together
  double latency = 2e-6;           ///< seconds added to each operation or copy
  int64_t capacity = 0;            ///< bytes of device memory; 0: not known
  double tf32_flops = 0;  ///< as `flops`, for operations that may round to TF32; 0: no faster
  /// Speed of an operation during a copy, and of a copy during an operation, each relative to its
  /// speed alone. 1 where copies have engines of their own; less on a CPU, where they share cores
  /// and memory.
  double compute_while_copying = 1;
  double copy_while_computing = 1;
  /// Measured operations, by Op::name and MeasuredName. All others are estimated.
  std::unordered_map<std::string, std::map<std::string, MeasuredVariant>> measured = {};
  double file_write = 1.5e9;  ///< bytes/s device -> file
  double file_read = 2.5e9;   ///< bytes/s file -> device
  double device_link = 5e9;  ///< bytes/s that a device receives from others, while it sends as many
};

/// Returns a machine by its name, or kInvalid listing the known names.
/// src/layrub/placement/cost/machines.cpp says where the figures come from.
Result<Machine> FindMachine(const std::string& name);
std::vector<std::string> MachineNames();

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_COST_MACHINE_HPP_
