#ifndef LAYRUB_RUNTIME_MEASURE_HPP_
#define LAYRUB_RUNTIME_MEASURE_HPP_

#include "layrub/device/backend.hpp"
#include "layrub/placement/cost/machine.hpp"

namespace layrub {

/// Measures copies between the tiers of `backend`, which must do nothing else meanwhile. Sets
/// link_down, link_up, link_both and latency of `machine` and, if there is a file tier, file_write
/// and file_read. Takes two buffers of `bytes` on each tier. Rates for which the buffers cannot be
/// allocated stay as they are.
void MeasureCopies(Backend* backend, int64_t bytes, Machine* machine);

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_MEASURE_HPP_
