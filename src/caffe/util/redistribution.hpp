#ifndef CAFFE_UTIL_REDISTRIBUTION_HPP_
#define CAFFE_UTIL_REDISTRIBUTION_HPP_

#include <vector>

#include "layrub/device/communicator.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// The communication that brings an array from one layout to another. Plain data, the same on all
/// devices.
class Redistribution {
 public:
  Redistribution() = default;
  Redistribution(const layrub::Layout& from, const layrub::Layout& to);

  /// True if no device's data changes.
  bool nothing() const { return nothing_; }
  /// Maximum number of values that a device receives from others.
  int64_t received() const { return received_; }
  /// Number of values that each device must be able to hold between the first stage and the last.
  int64_t room() const { return room_; }

  /// Converts `x`, this member's part in the first layout, to `y`, its part in the last one. `room`
  /// is a buffer of room() values. All members must call it at the same time: each sends what the
  /// others need and waits for what it needs. Summands are added in the order of ranks, so that all
  /// members get the same bits. `receiver` is -1 for all members. If there is only one stage, it
  /// may be the only member that gets a result; `y` of the others may then be null. Throws
  /// layrub::GroupFailed.
  template <typename Dtype>
  void Run(layrub::Communicator* communicator, const Dtype* x, Dtype* y, Dtype* room,
           int receiver = -1) const;

 private:
  struct Stage {
    std::vector<int64_t> from_dims, to_dims;  ///< of a device's part
    std::vector<layrub::Transfer> transfers;
    bool adds = false;  ///< values are summed, or some are not part of a transfer
  };

  std::vector<Stage> stages_;
  int64_t received_ = 0, room_ = 0;
  bool nothing_ = true;
};

}  // namespace caffe

#endif  // CAFFE_UTIL_REDISTRIBUTION_HPP_
