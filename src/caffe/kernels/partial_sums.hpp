#ifndef CAFFE_KERNELS_PARTIAL_SUMS_HPP_
#define CAFFE_KERNELS_PARTIAL_SUMS_HPP_

#include <cstdint>

#include "caffe/device_context.hpp"

namespace layrub {
class Pool;
}

namespace caffe {
namespace kernels {

/// Device memory for the partial sums of a kernel's blocks, which a second kernel adds up. During
/// an operation of a plan it is the plan's library_workspace(), which is unused between two
/// kernels; otherwise it is allocated from the device's pool. Valid for kernels that are queued
/// while this object exists.
class PartialSums {
 public:
  PartialSums(const DeviceContext& context, int64_t bytes);
  ~PartialSums();
  PartialSums(const PartialSums&) = delete;
  PartialSums& operator=(const PartialSums&) = delete;

  void* memory() const { return memory_; }

 private:
  layrub::Pool* pool_ = nullptr;  ///< owner of the memory; null if it is the plan's
  void* memory_;
};

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_PARTIAL_SUMS_HPP_
