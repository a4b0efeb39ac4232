#include "caffe/pending_reads.hpp"

#include "caffe/common.hpp"

#include <utility>

#include "layrub/device/device.hpp"

namespace caffe {

PendingReads::~PendingReads() {
  try {
    Wait(reads_);
  } catch (...) {
    return;  // a failed device may still write the copies
  }
  Free(reads_);
}

void PendingReads::Add(const DeviceContext& context, const void* source, size_t bytes,
                       std::function<void(const void*)> look) {
  if (!context.gpu) return look(source);
  const auto size = static_cast<int64_t>(bytes);
  void* const copy = context.device->host_pool().Allocate(size);
  CHECK(copy) << "Out of memory: " << bytes
              << " bytes of host memory for a loss are not available.";
  reads_.push_back({context.device, copy, std::move(look)});
  context.device->QueueCopyToHost(copy, source, size);
}

void PendingReads::Look() {
  Wait(reads_);
  const struct Freed {
    const std::vector<Read> reads;
    ~Freed() { Free(reads); }
  } done{std::exchange(reads_, {})};
  for (const Read& read : done.reads) read.look(read.copy);
}

void PendingReads::Wait(const std::vector<Read>& reads) {
  const layrub::Device* waited = nullptr;
  for (const Read& read : reads) {
    if (read.device != waited) read.device->Synchronize();
    waited = read.device;
  }
}

void PendingReads::Free(const std::vector<Read>& reads) {
  for (const Read& read : reads) read.device->host_pool().Free(read.copy);
}

}  // namespace caffe
