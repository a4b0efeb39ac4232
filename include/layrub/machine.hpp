#ifndef LAYRUB_MACHINE_HPP_
#define LAYRUB_MACHINE_HPP_

#include <cstdint>
#include <string>

namespace layrub {

/// What the cost model knows of a device. Rates in units per second, sizes in bytes.
struct Machine {
  std::string name = "cpu";
  double flops = 5e10;             ///< sustained single precision FLOP/s
  double memory_bandwidth = 1e10;  ///< bytes/s of device memory
  double link_down = 5e9;          ///< bytes/s device -> host tier
  double link_up = 5e9;            ///< bytes/s host tier -> device
  double link_both = 8e9;          ///< bytes/s of both directions together
  double latency = 2e-6;           ///< seconds added to each operation or copy
};

}  // namespace layrub

#endif  // LAYRUB_MACHINE_HPP_
