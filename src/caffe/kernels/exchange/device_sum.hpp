#ifndef CAFFE_KERNELS_EXCHANGE_DEVICE_SUM_HPP_
#define CAFFE_KERNELS_EXCHANGE_DEVICE_SUM_HPP_

#include <cstdint>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/kernels/exchange/in_flight.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// Each device of a group has an array; this adds the arrays up. Plain data.
class DeviceSum {
 public:
  DeviceSum() = default;
  /// Two devices add up their arrays if they differ only in levels of share kPart. Larger arrays
  /// are added up in rounds with at most `most_in_flight` numbers.
  explicit DeviceSum(const std::vector<layrub::Level>& levels,
                     int64_t most_in_flight = kMostInFlight);

  /// True if each device's array is a sum of its own.
  bool nothing() const { return parts_ == 1; }
  /// The numbers of the workspace that Run needs for `count` numbers.
  int64_t workspace(int64_t count) const;

  /// Replaces `numbers` by their sum. Both arrays are in memory of `context`. All members must call
  /// it at the same time. All that add up get the same bits; outside of a GPU, numbers are added in
  /// the order of ranks. Throws layrub::GroupFailed.
  template <typename Dtype>
  void Run(const DeviceContext& context, layrub::Communicator* communicator, int64_t count,
           Dtype* numbers, Dtype* workspace) const;

 private:
  /// The numbers that each member adds up in a round.
  int64_t Quota(int64_t count) const;
  template <typename Dtype>
  void RunRound(const DeviceContext& context, layrub::Communicator* communicator, int64_t count,
                int64_t quota, Dtype* numbers, Dtype* workspace) const;

  int devices_ = 1, parts_ = 1;  ///< of the group; that add up theirs
  int summed_ = 0;               ///< the bits of a rank in which these differ
  int64_t most_in_flight_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_KERNELS_EXCHANGE_DEVICE_SUM_HPP_
