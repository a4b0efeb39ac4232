#ifndef CAFFE_KERNELS_EXCHANGE_IN_FLIGHT_HPP_
#define CAFFE_KERNELS_EXCHANGE_IN_FLIGHT_HPP_

#include <cstdint>
#include <vector>

#include "caffe/device_context.hpp"
#include "layrub/device/communicator.hpp"

namespace caffe {

/// The most numbers that a member of a group has in buffers on their way to and from others. Larger
/// arrays are exchanged in several rounds.
inline constexpr int64_t kMostInFlight = int64_t{4} << 20;

/// Exchanges parcels in memory of `context`. What the context computes next waits for them.
inline void ExchangeOn(const DeviceContext& context, layrub::Communicator* communicator,
                       const std::vector<layrub::Parcel>& sent,
                       const std::vector<layrub::Parcel>& received) {
  if (sent.empty() && received.empty()) return;
  if (!context.gpu) return ExchangeByMessages(communicator, nullptr, sent, received);
  communicator->Exchange(sent, received);
  communicator->Wait();
}

}  // namespace caffe

#endif  // CAFFE_KERNELS_EXCHANGE_IN_FLIGHT_HPP_
