#ifndef CAFFE_SYNCEDMEM_HPP_
#define CAFFE_SYNCEDMEM_HPP_

#include <cstddef>
#include <cstdlib>

#include "caffe/common.hpp"

namespace layrub {
class Pool;
}

namespace caffe {

/// Host memory for data that crosses to a device: pinned in GPU mode, which `*use_cuda` tells.
/// Aborts when there is none.
void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda);
void CaffeFreeHost(void* ptr, bool use_cuda);

class SyncedMemory;

/// Answers for planned memory that is touched where its address is not at hand: outside a pass, or
/// inside an operation that did not declare it. Installed by Net, so that core needs to know
/// nothing of plans.
class Resolver {
 public:
  struct Place {
    void* address = nullptr;
    layrub::Device* device = nullptr;  ///< whose memory it is; null: the host's
  };
  virtual ~Resolver() = default;
  /// Where planned tensor `tensor` is until the net's next pass; aborts with a message that names
  /// the tensor and says what to do when there is no right value to give. May bind the memory that
  /// asks anew, or end its bond; the answer is then of no account.
  virtual Place Resolve(int tensor, bool write) = 0;
  /// Somebody works on a copy of `tensor` (Binding::sides) on the other side than `on_device` says:
  /// before the value is used or moves, the copy has to be written back and dropped.
  virtual void Copied(int tensor, bool on_device) = 0;
};

/// The link from a SyncedMemory to a planned tensor. Owned by the net; its pointers are set only
/// while an operation runs that declared the access.
struct Binding {
  int tensor = -1;
  size_t bytes = 0;                  ///< of the tensor
  layrub::Device* device = nullptr;  ///< where `readable` and `writable` are; null: on the host
  void* readable = nullptr;
  void* writable = nullptr;
  Resolver* resolver = nullptr;
  /// The value where it is and a copy of it on the other side, while somebody uses one.
  shared_ptr<SyncedMemory> sides;
  bool zero = false;  ///< SyncedMemory::SetZero: the value is zero, the bytes may not be yet
};

/// A handle of bytes that a CPU side and a GPU side share. Who owns the bytes:
///   none  nothing has been touched yet; the first touch allocates zero-filled memory from the pool
///   pool  this object, until it is destroyed
///   user  the caller of set_cpu_data / set_gpu_data; never planned, never freed
///   plan  a net's plan: bound by Bind; addresses change from pass to pass
/// The GPU side is on the calling thread's device (Caffe::device) when it is first touched; what a
/// plan has on a device is on the plan's. Not thread safe.
class SyncedMemory {
 public:
  SyncedMemory() : SyncedMemory(0) {}
  explicit SyncedMemory(size_t size) : size_(size) {}
  ~SyncedMemory();

  const void* cpu_data();
  void set_cpu_data(void* data);
  const void* gpu_data();
  void set_gpu_data(void* data);
  void* mutable_cpu_data();
  void* mutable_gpu_data();

  /// The value is zero. Its bytes become so when somebody asks for an address.
  void SetZero();
  /// Whether the value is zero by SetZero and nobody has asked for a mutable address since. True
  /// spares the zeros: the caller writes all of the value, at the address that it asks for next.
  bool TakeZero();

  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };
  SyncedHead head() const { return head_; }
  /// True: cpu_data() would have to wait for the device.
  bool IsOnDeviceAlone() const {
    if (!binding_) return head_ == HEAD_AT_GPU;
    return binding_->sides ? binding_->sides->IsOnDeviceAlone() : binding_->device != nullptr;
  }
  size_t size() const { return size_; }

#ifndef CPU_ONLY
  /// Copies the CPU side, where the head must be, to the GPU side on `stream`; both are in sync
  /// when the caller has waited for the stream.
  void async_gpu_push(const cudaStream_t& stream);
#endif

  /// Hands the bytes to a plan: pool memory is freed and every later access goes to `binding`,
  /// which must outlive the bond. Binding again replaces the bond. User-owned memory may not be
  /// bound.
  void Bind(Binding* binding);
  /// Ends the bond. The contents become the `bytes` (at most size()) at `value`, on the host or the
  /// device, copied into pool memory of the host, or, when `value` is null, untouched.
  void Unbind(const void* value, size_t bytes);
  Binding* binding() const { return binding_; }
  bool user_owned() const { return (cpu_ptr_ && !cpu_pool_) || (gpu_ptr_ && !gpu_pool_); }

 private:
  void ToCpu();
  void ToGpu();
  void AllocateCpu();
  void AllocateGpu();
  void ReleaseCpu();
  void ReleaseGpu();
  void UseGpuData(void* data, layrub::Device* device);
  void CheckUnplanned(const char* call) const;
  void* Access(bool write, bool gpu);
  void WriteZeros(bool gpu);
  void* Planned(bool write, bool gpu);

  void* cpu_ptr_ = nullptr;
  void* gpu_ptr_ = nullptr;
  size_t size_ = 0;
  SyncedHead head_ = UNINITIALIZED;
  bool zero_ = false;                 ///< as Binding::zero, of bytes that are not a plan's
  layrub::Pool* cpu_pool_ = nullptr;  ///< of cpu_ptr_; null: the user's
  layrub::Pool* gpu_pool_ = nullptr;  ///< of gpu_ptr_; null: the user's
  layrub::Device* device_ = nullptr;  ///< of gpu_ptr_
  Binding* binding_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(SyncedMemory);
};

}  // namespace caffe

#endif  // CAFFE_SYNCEDMEM_HPP_
