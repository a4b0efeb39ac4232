#include "caffe/syncedmem.hpp"

#include <cstdlib>
#include <cstring>

#include "caffe/core/mode_device.hpp"
#include "caffe/util/deferred_work.hpp"
#include "layrub/device/device.hpp"
#include "layrub/device/pool.hpp"

namespace caffe {
namespace {

void* AllocateFrom(layrub::Pool* pool, size_t bytes, const char* where) {
  void* memory = pool->Allocate(static_cast<int64_t>(bytes));
  CHECK(memory) << "Out of memory" << where << ": " << bytes
                << " bytes for a blob outside the plan do not fit beside " << pool->used()
                << " bytes in use.";
  return memory;
}

}  // namespace

void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda) {
  if (size == 0) size = 1;
  layrub::Device* const device = ModeDevice();
  *use_cuda = device != nullptr;
  *ptr = device ? device->AllocateHost(static_cast<int64_t>(size)) : std::malloc(size);
  CHECK(*ptr) << "host allocation of size " << size << " failed";
}

void CaffeFreeHost(void* ptr, bool use_cuda) {
  if (use_cuda) {
    Caffe::device().FreeHost(ptr);
  } else {
    std::free(ptr);
  }
}

SyncedMemory::~SyncedMemory() {
  ReleaseCpu();
  ReleaseGpu();
}

void SyncedMemory::ReleaseCpu() {
  if (cpu_pool_) cpu_pool_->Free(cpu_ptr_);
  cpu_ptr_ = nullptr;
  cpu_pool_ = nullptr;
}

void SyncedMemory::ReleaseGpu() {
  if (gpu_pool_) gpu_pool_->Free(gpu_ptr_);
  gpu_ptr_ = nullptr;
  gpu_pool_ = nullptr;
  device_ = nullptr;
}

void SyncedMemory::AllocateCpu() {
  if (cpu_ptr_) return;
  layrub::Device* const device = ModeDevice();
  cpu_pool_ = device ? &device->host_pool() : &layrub::Pool::Cpu();
  cpu_ptr_ = AllocateFrom(cpu_pool_, size_, "");
}

void SyncedMemory::AllocateGpu() {
  if (gpu_ptr_) return;
  device_ = &Caffe::device();
  gpu_pool_ = &device_->pool();
  gpu_ptr_ = AllocateFrom(gpu_pool_, size_, " on the device");
}

void SyncedMemory::ToCpu() {
  if (head_ == HEAD_AT_CPU || head_ == SYNCED) return;
  AllocateCpu();
  if (head_ == HEAD_AT_GPU) {
    device_->Copy(cpu_ptr_, gpu_ptr_, static_cast<int64_t>(size_));
    head_ = SYNCED;
  } else {
    head_ = HEAD_AT_CPU;
  }
}

void SyncedMemory::ToGpu() {
  if (head_ == HEAD_AT_GPU || head_ == SYNCED) return;
  AllocateGpu();
  if (head_ == HEAD_AT_CPU) {
    device_->Copy(gpu_ptr_, cpu_ptr_, static_cast<int64_t>(size_));
    head_ = SYNCED;
  } else {
    head_ = HEAD_AT_GPU;
  }
}

/// Returns the address of a planned value on the requested side. The value is on one side; while
/// somebody uses it on the other side, there is a copy outside the plan.
void* SyncedMemory::Planned(bool write, bool gpu) {
  const Binding* const asked = binding_;
  Resolver::Place place{write ? binding_->writable : binding_->readable, binding_->device};
  if (!place.address) place = binding_->resolver->Resolve(binding_->tensor, write);
  if (binding_ != asked) return Access(write, gpu);
  if (binding_->zero) {
    if (place.device) {
      place.device->Zero(place.address, static_cast<int64_t>(binding_->bytes));
    } else {
      std::memset(place.address, 0, binding_->bytes);
    }
    binding_->zero = !write;  // a value that is only read may be dropped with its zeros
  }
  shared_ptr<SyncedMemory>& sides = binding_->sides;
  if (!sides) {
    const bool on_device = place.device != nullptr;
    if (on_device == gpu) return place.address;
    sides.reset(new SyncedMemory(binding_->bytes));
    if (on_device) {
      sides->UseGpuData(place.address, place.device);
    } else {
      sides->set_cpu_data(place.address);
    }
    binding_->resolver->Copied(binding_->tensor, on_device);
  }
  return sides->Access(write, gpu);
}

/// Writes the zeros that SetZero has deferred, on the requested side.
void SyncedMemory::WriteZeros(bool gpu) {
  zero_ = false;
  if (gpu) {
    AllocateGpu();
    device_->Zero(gpu_ptr_, static_cast<int64_t>(size_));
    head_ = HEAD_AT_GPU;
  } else {
    AllocateCpu();
    std::memset(cpu_ptr_, 0, size_);
    head_ = HEAD_AT_CPU;
  }
}

void SyncedMemory::SetZero() {
  DeferredWork::FinishCurrent();
  if (user_owned()) {
    // The user may read the memory without requesting its address.
    if (cpu_ptr_) WriteZeros(false);
    if (gpu_ptr_) WriteZeros(true);
    if (cpu_ptr_ && gpu_ptr_) head_ = SYNCED;
  } else if (binding_ && binding_->sides) {
    binding_->sides->SetZero();
  } else {
    (binding_ ? binding_->zero : zero_) = true;
  }
}

bool SyncedMemory::TakeZero() {
  bool& zero = binding_ ? binding_->zero : zero_;
  const bool was = zero;
  zero = false;
  return was;
}

void* SyncedMemory::Access(bool write, bool gpu) {
  DeferredWork::FinishBeforeAccess(gpu);
  if (binding_) return Planned(write, gpu);
  if (zero_) WriteZeros(gpu);
  if (gpu) {
    ToGpu();
    if (write) head_ = HEAD_AT_GPU;
    return gpu_ptr_;
  }
  ToCpu();
  if (write) head_ = HEAD_AT_CPU;
  return cpu_ptr_;
}

const void* SyncedMemory::cpu_data() { return Access(false, false); }
void* SyncedMemory::mutable_cpu_data() { return Access(true, false); }
const void* SyncedMemory::gpu_data() { return Access(false, true); }
void* SyncedMemory::mutable_gpu_data() { return Access(true, true); }

void SyncedMemory::CheckUnplanned(const char* call) const {
  CHECK(!binding_) << "This blob's bytes belong to a memory plan: call " << call
                   << " before the first pass, or copy into mutable_cpu_data().";
}

void SyncedMemory::set_cpu_data(void* data) {
  CHECK(data) << "set_cpu_data needs an address.";
  CheckUnplanned("set_cpu_data");
  ReleaseCpu();
  cpu_ptr_ = data;
  head_ = HEAD_AT_CPU;
  zero_ = false;
}

void SyncedMemory::set_gpu_data(void* data) {
  CHECK(data) << "set_gpu_data needs an address.";
  CheckUnplanned("set_gpu_data");
  UseGpuData(data, &Caffe::device());
}

void SyncedMemory::UseGpuData(void* data, layrub::Device* device) {
  ReleaseGpu();
  device_ = device;
  gpu_ptr_ = data;
  head_ = HEAD_AT_GPU;
  zero_ = false;
}

void SyncedMemory::Bind(Binding* binding) {
  CHECK(!user_owned()) << "Memory that belongs to the user cannot be planned.";
  ReleaseCpu();
  ReleaseGpu();
  binding_ = binding;
  head_ = binding->device ? HEAD_AT_GPU : HEAD_AT_CPU;
  zero_ = false;
}

void SyncedMemory::Unbind(const void* value, size_t bytes) {
  if (!binding_) return;
  layrub::Device* const device = binding_->device;
  zero_ = value && binding_->zero;
  binding_ = nullptr;
  head_ = UNINITIALIZED;
  if (!value || zero_) return;
  CHECK_LE(bytes, size_);
  void* const to = mutable_cpu_data();
  if (device) {
    device->Copy(to, value, static_cast<int64_t>(bytes));
  } else {
    std::memcpy(to, value, bytes);
  }
}

#ifndef CPU_ONLY
void SyncedMemory::async_gpu_push(const cudaStream_t& stream) {
  CHECK(head_ == HEAD_AT_CPU) << "async_gpu_push needs its data on the host.";
  if (!gpu_ptr_) {
    // New memory is zeroed on the compute stream, on which its last owner may still be running. The
    // copy on another stream must wait for that.
    AllocateGpu();
    device_->Synchronize();
  }
  CUDA_CHECK(cudaMemcpyAsync(gpu_ptr_, cpu_ptr_, size_, cudaMemcpyHostToDevice, stream));
  head_ = SYNCED;
}
#endif

}  // namespace caffe
