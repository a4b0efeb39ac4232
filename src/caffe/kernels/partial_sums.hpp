#ifndef CAFFE_KERNELS_PARTIAL_SUMS_HPP_
#define CAFFE_KERNELS_PARTIAL_SUMS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace layrub {
class Pool;
}

namespace caffe {
namespace kernels {

/// Memory of a device for what the blocks of a kernel have summed, until a kernel that is queued
/// after it has added that up. While an operation of a plan runs, it is the plan's
/// library_workspace(), which nobody needs between two kernels; else it is of the device's pool.
/// Valid for kernels that are queued while this lives.
class PartialSums {
 public:
  PartialSums(const DeviceContext& context, int64_t bytes);
  ~PartialSums();
  PartialSums(const PartialSums&) = delete;
  PartialSums& operator=(const PartialSums&) = delete;

  void* memory() const { return memory_; }

 private:
  layrub::Pool* pool_ = nullptr;  ///< whose the memory is; none where it is the plan's
  void* memory_;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PARTIAL_SUMS_HPP_
