#ifndef CAFFE_PARTITION_PARAMETER_PARTS_HPP_
#define CAFFE_PARTITION_PARAMETER_PARTS_HPP_

#include <vector>

#include "caffe/kernels/exchange/device_sum.hpp"
#include "caffe/kernels/exchange/redistribution.hpp"
#include "caffe/net.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// The learnable parameters of a net that is divided among devices, each of which has parts of
/// them. All members of the group must call the same functions in the same order.
template <typename Dtype>
class ParameterParts {
 public:
  /// What plans leave of a device for sums, with every partition.
  static constexpr int64_t kWorkspaceBytes = kMostInFlight * int64_t{sizeof(Dtype)};

  /// Make it before plans: it takes memory of the group's devices, and lets NCCL take its.
  ParameterParts(Net<Dtype>* net, layrub::Communicator* group);
  ~ParameterParts();

  /// Replaces gradients of which each device has a summand by their sums.
  void SumGradients();
  /// Gathers parameter `id`, or its history, from the `part` of all devices into `whole` on rank 0.
  /// `whole` is null elsewhere.
  void Gather(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const;
  /// The same, with the result on all members.
  void GatherForAll(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const;
  /// Copies this device's part of `whole` to `part`. Exchanges nothing.
  void TakePart(int id, const Blob<Dtype>& whole, Blob<Dtype>* part) const;

 private:
  struct Entry {
    layrub::Layout layout;
    Redistribution gather;  ///< nothing to do if without levels
    DeviceSum sum;          ///< of the gradient
  };

  void Connect();

  Net<Dtype>* const net_;
  layrub::Communicator* const group_;
  Blob<Dtype> workspace_;       ///< of sums
  std::vector<Entry> entries_;  ///< by Net::learnable_params
};

/// Replaces the parts of states that recurrent layers of this device's `net` have saved in
/// `progress` by the whole states. All members of the group must call it with what they saved at
/// the same time.
template <typename Dtype>
void GatherStates(const Net<Dtype>& net, layrub::Communicator* group, NetProgress* progress);

/// `squares` has the sums of squares of the gradients of this device's parts, by
/// Net::learnable_params, in memory of `context`. Replaces them by those of the whole parameters.
/// Does nothing without a group.
template <typename Dtype>
void SumSquaresOverDevices(const DeviceContext& context, const Net<Dtype>& net, Dtype* squares);

}  // namespace caffe

#endif  // CAFFE_PARTITION_PARAMETER_PARTS_HPP_
