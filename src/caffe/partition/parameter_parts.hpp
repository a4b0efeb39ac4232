#ifndef CAFFE_PARTITION_PARAMETER_PARTS_HPP_
#define CAFFE_PARTITION_PARAMETER_PARTS_HPP_

#include <vector>

#include "caffe/net.hpp"
#include "caffe/util/redistribution.hpp"
#include "layrub/partition/layout.hpp"

namespace caffe {

/// The learnable parameters of a net that is divided among devices: each device has parts of them.
/// All members of the group call the same functions in the same order.
template <typename Dtype>
class ParameterParts {
 public:
  ParameterParts(Net<Dtype>* net, layrub::Communicator* group);

  /// Gradients of which each device has a summand become the sums.
  void SumGradients();
  /// `whole`, of the whole parameter `id` or its history, on rank 0 (null elsewhere), becomes what
  /// all have in `part`.
  void Gather(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const;
  /// The same for all members.
  void GatherForAll(int id, const Blob<Dtype>& part, Blob<Dtype>* whole) const;
  /// The other way round, on each device by itself.
  void TakePart(int id, const Blob<Dtype>& whole, Blob<Dtype>* part) const;

 private:
  struct Entry {
    layrub::Layout layout;
    Redistribution gather, sum;  ///< without levels: none
  };

  Net<Dtype>* const net_;
  layrub::Communicator* const group_;
  std::vector<Entry> entries_;  ///< by Net::learnable_params
};

/// The sums of squares of the gradients of the parameters that this device has, by
/// Net::learnable_params, become those of the whole parameters. Without a group: nothing.
template <typename Dtype>
void SumSquaresOverDevices(const Net<Dtype>& net, Dtype* squares);

}  // namespace caffe

#endif  // CAFFE_PARTITION_PARAMETER_PARTS_HPP_
