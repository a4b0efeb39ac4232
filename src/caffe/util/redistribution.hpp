#ifndef CAFFE_UTIL_REDISTRIBUTION_HPP_
#define CAFFE_UTIL_REDISTRIBUTION_HPP_

#include <vector>

#include "layrub/device/communicator.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// How an array goes from one layout to another. Plain data; the same for all devices.
class Redistribution {
 public:
  Redistribution() = default;
  Redistribution(const layrub::Layout& from, const layrub::Layout& to);

  /// No device has anything else than before.
  bool nothing() const { return nothing_; }
  /// The most numbers that a device receives from others.
  int64_t received() const { return received_; }
  /// Numbers between the first stage and the last one that each device needs room for.
  int64_t room() const { return room_; }

  /// `x` and `y`: what this member has in the first layout, and has room for in the last one. All
  /// members call it at the same time; each sends what the others need and waits for what it needs.
  /// Summands are added in the order of ranks, so that all have the same bits. Throws
  /// layrub::GroupFailed. `receiver`: where there is one stage, member `receiver` alone gets
  /// anything (`y` of the others may be null); -1: all.
  template <typename Dtype>
  void Run(layrub::Communicator* communicator, const Dtype* x, Dtype* y, Dtype* room,
           int receiver = -1) const;

 private:
  struct Stage {
    std::vector<int64_t> from_dims, to_dims;  ///< of what a device has
    std::vector<layrub::Transfer> transfers;
    bool adds = false;  ///< numbers are sums, or some are no transfer's
  };

  std::vector<Stage> stages_;
  int64_t received_ = 0, room_ = 0;
  bool nothing_ = true;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_REDISTRIBUTION_HPP_
