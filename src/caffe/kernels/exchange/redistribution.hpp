#ifndef CAFFE_KERNELS_EXCHANGE_REDISTRIBUTION_HPP_
#define CAFFE_KERNELS_EXCHANGE_REDISTRIBUTION_HPP_

#include <cstdint>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/kernels/exchange/boxes.hpp"
#include "caffe/kernels/exchange/in_flight.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// The communication that brings an array from one layout to another. Plain data, the same on all
/// devices.
class Redistribution {
 public:
  Redistribution() = default;
  /// Larger arrays are exchanged in rounds with at most `most_in_flight` numbers.
  Redistribution(const layrub::Layout& from, const layrub::Layout& to,
                 int64_t most_in_flight = kMostInFlight);

  /// True if no device's data changes.
  bool nothing() const { return stages_.empty(); }
  /// Maximum number of values that a device receives from others.
  int64_t received() const { return received_; }
  /// The numbers of the workspace that Run needs.
  int64_t workspace() const { return room_ + in_flight_; }

  /// Converts `x`, this member's part in the first layout, to `y`, its part in the last one. `x`,
  /// `y` and `workspace`, of workspace() numbers, are in memory of `context`. All members must call
  /// it at the same time: each sends what the others need and waits for what it needs. Summands are
  /// added in the order of ranks, so that all members get the same bits. `receiver` is -1 for all
  /// members. If there is only one stage, it may be the only member that gets a result; `y` of the
  /// others may then be null. Throws layrub::GroupFailed.
  template <typename Dtype>
  void Run(const DeviceContext& context, layrub::Communicator* communicator, const Dtype* x,
           Dtype* y, Dtype* workspace, int receiver = -1) const;

 private:
  /// What goes from one member to another, or stays.
  struct Part {
    int from = 0, to = 0;
    int64_t count = 0;
    std::vector<kernels::BoxPair> boxes;  ///< in the arrays of the sender and of the receiver
  };
  struct Stage {
    std::vector<Part> parts;  ///< by receiver, and then by sender
    int64_t count = 0;        ///< of a device's part afterwards
    bool adds = false;        ///< values are summed, or some are not part of a transfer
    int64_t largest = 0;      ///< count of a part
    int64_t quota = 0;        ///< numbers of each part that are exchanged in a round
    int64_t in_flight = 0;    ///< numbers of the buffers
  };
  template <typename Dtype>
  struct Call;

  static Stage StageOf(const layrub::Layout& from, const layrub::Layout& to,
                       const std::vector<layrub::Transfer>& transfers, int64_t most_in_flight);
  template <typename Dtype>
  void RunRound(const Call<Dtype>& call, const Stage& stage, int64_t begin) const;

  std::vector<Stage> stages_;
  int64_t received_ = 0;
  int64_t room_ = 0;  ///< numbers that are between the two stages
  int64_t in_flight_ = 0;
};

}  // namespace caffe

#endif  // CAFFE_KERNELS_EXCHANGE_REDISTRIBUTION_HPP_
