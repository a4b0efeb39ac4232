#ifndef LAYRUB_RUNTIME_MEASURE_HPP_
#define LAYRUB_RUNTIME_MEASURE_HPP_

#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/machine.hpp"

namespace layrub {

/// Copies between the tiers of `backend`, which does nothing else meanwhile, and sets link_down,
/// link_up, link_both and latency of `machine`, and, where there is a file, file_write and
/// file_read. Takes two buffers of `bytes` on each tier; leaves alone what there is no room to
/// measure.
void MeasureCopies(Backend* backend, int64_t bytes, Machine* machine);

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_MEASURE_HPP_
