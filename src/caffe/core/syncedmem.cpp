#include "caffe/syncedmem.hpp"

#include <cstdlib>
#include <cstring>

#include "layrub/pool.hpp"

namespace caffe {

void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda) {
  *use_cuda = false;
  *ptr = std::malloc(size > 0 ? size : 1);
  CHECK(*ptr) << "host allocation of size " << size << " failed";
}

void CaffeFreeHost(void* ptr, bool /*use_cuda*/) { std::free(ptr); }

SyncedMemory::~SyncedMemory() { ReleaseCpu(); }

void SyncedMemory::ReleaseCpu() {
  if (own_cpu_) layrub::Pool::Cpu().Free(cpu_ptr_);
  cpu_ptr_ = nullptr;
  own_cpu_ = false;
}

void SyncedMemory::ToCpu() {
  if (head_ != UNINITIALIZED) return;
  layrub::Pool& pool = layrub::Pool::Cpu();
  cpu_ptr_ = pool.Allocate(static_cast<int64_t>(size_));
  CHECK(cpu_ptr_) << "Out of memory: " << size_
                  << " bytes for a blob outside the plan do not fit beside " << pool.used()
                  << " bytes in use.";
  own_cpu_ = true;
  head_ = HEAD_AT_CPU;
}

void* SyncedMemory::Planned(bool write) {
  void* at = write ? binding_->writable : binding_->readable;
  return at ? at : binding_->resolver->Resolve(binding_->tensor, write);
}

const void* SyncedMemory::cpu_data() {
  if (binding_) return Planned(false);
  ToCpu();
  return cpu_ptr_;
}

void* SyncedMemory::mutable_cpu_data() {
  if (binding_) return Planned(true);
  ToCpu();
  return cpu_ptr_;
}

void SyncedMemory::set_cpu_data(void* data) {
  CHECK(data) << "set_cpu_data needs an address.";
  CHECK(!binding_) << "This blob's bytes belong to a memory plan: call set_cpu_data before the "
                      "first pass, or copy "
                      "into mutable_cpu_data().";
  ReleaseCpu();
  cpu_ptr_ = data;
  head_ = HEAD_AT_CPU;
}

void SyncedMemory::Bind(Binding* binding) {
  CHECK(!user_owned()) << "Memory that belongs to the user cannot be planned.";
  ReleaseCpu();
  binding_ = binding;
  head_ = HEAD_AT_CPU;
}

void SyncedMemory::Unbind(const void* value, size_t bytes) {
  if (!binding_) return;
  binding_ = nullptr;
  head_ = UNINITIALIZED;
  if (!value) return;
  CHECK_LE(bytes, size_);
  std::memcpy(mutable_cpu_data(), value, bytes);
}

#ifdef CPU_ONLY
const void* SyncedMemory::gpu_data() {
  LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode.";
  return nullptr;
}
void* SyncedMemory::mutable_gpu_data() {
  LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode.";
  return nullptr;
}
void SyncedMemory::set_gpu_data(void*) {
  LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode.";
}
#endif

}  // namespace caffe
