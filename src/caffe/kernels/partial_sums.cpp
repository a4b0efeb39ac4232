#include "caffe/kernels/partial_sums.hpp"

#include "caffe/common.hpp"
#include "caffe/util/library_workspace.hpp"
#include "layrub/device/device.hpp"

namespace caffe {
namespace kernels {

PartialSums::PartialSums(const DeviceContext& context, int64_t bytes) {
  if (const LibraryWorkspace& planned = library_workspace(); planned.memory != nullptr) {
    CHECK_LE(bytes, planned.bytes);
    memory_ = planned.memory;
    return;
  }
  pool_ = context.device ? &context.device->pool() : &layrub::Pool::Cpu();
  memory_ = pool_->Allocate(bytes);
  CHECK(memory_) << "The device does not have " << bytes
                 << " bytes left for the sums of a kernel's blocks.";
}

PartialSums::~PartialSums() {
  if (pool_) pool_->Free(memory_);
}

}  // namespace kernels
}  // namespace caffe
