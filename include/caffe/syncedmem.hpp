#ifndef CAFFE_SYNCEDMEM_HPP_
#define CAFFE_SYNCEDMEM_HPP_

#include <cstddef>
#include <cstdlib>

#include "caffe/common.hpp"

namespace layrub {
class Pool;
}

namespace caffe {

/// Allocates host memory for transfers to a device. In GPU mode it is pinned and `*use_cuda` is set
/// to true. Aborts if there is no memory.
void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda);
void CaffeFreeHost(void* ptr, bool use_cuda);

class SyncedMemory;

/// Finds planned memory that is accessed when its address is not known: outside a pass, or in an
/// operation that did not declare the access. Implemented by Net, so that SyncedMemory does not
/// depend on plans.
class Resolver {
 public:
  struct Place {
    void* address = nullptr;
    layrub::Device* device = nullptr;  ///< the device of `address`; null: the host
  };
  virtual ~Resolver() = default;
  /// Returns where planned tensor `tensor` is until the net's next pass. If there is no correct
  /// value to return, aborts with a message that names the tensor and says what to do. May rebind
  /// or unbind the calling SyncedMemory, which must then ignore the result.
  virtual Place Resolve(int tensor, bool write) = 0;
  /// Called when somebody uses a copy of `tensor` (Binding::sides) on the other side: on the host
  /// if `on_device`, else on the device. The copy must be written back and dropped before the value
  /// is used or moved.
  virtual void Copied(int tensor, bool on_device) = 0;
};

/// The link from a SyncedMemory to a planned tensor. Owned by the net. Its pointers are set only
/// while an operation runs that declared the access.
struct Binding {
  int tensor = -1;
  size_t bytes = 0;                  ///< of the tensor
  layrub::Device* device = nullptr;  ///< the device of `readable` and `writable`; null: the host
  void* readable = nullptr;
  void* writable = nullptr;
  Resolver* resolver = nullptr;
  /// The value and a copy of it on the other side, while somebody uses one.
  shared_ptr<SyncedMemory> sides;
  bool zero = false;  ///< set by SyncedMemory::SetZero: the value is zero, the bytes may not be yet
};

/// A buffer with a CPU side and a GPU side. The owner of the bytes is one of:
///   none  nothing was accessed yet; the first access allocates zero-filled memory from the pool
///   pool  this object, until it is destroyed
///   user  the caller of set_cpu_data / set_gpu_data; never planned, never freed
///   plan  a net's plan, after Bind; addresses change from pass to pass
/// The GPU side is on the device that is the calling thread's (Caffe::device) at the first access;
/// planned bytes are on the plan's device. Not thread safe.
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

  /// Sets the value to zero. The bytes are zeroed when an address is next requested.
  void SetZero();
  /// Cancels the zeroing that SetZero has asked for, if it has not been done yet. Returns true if
  /// there was such a request. The caller must then write the whole value, at the address that it
  /// requests next.
  bool TakeZero();

  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };
  SyncedHead head() const { return head_; }
  /// Whether cpu_data() would have to wait for the device.
  bool IsOnDeviceAlone() const {
    if (!binding_) return head_ == HEAD_AT_GPU;
    return binding_->sides ? binding_->sides->IsOnDeviceAlone() : binding_->device != nullptr;
  }
  size_t size() const { return size_; }

#ifndef CPU_ONLY
  /// Copies the CPU side, where the head must be, to the GPU side on `stream`. Both sides are in
  /// sync once the caller has waited for the stream.
  void async_gpu_push(const cudaStream_t& stream);
#endif

  /// Binds the bytes to a plan. Pool memory is freed and every later access uses `binding`, which
  /// must live until Unbind. Binding again replaces the binding. User-owned memory must not be
  /// bound.
  void Bind(Binding* binding);
  /// Ends the binding. Copies the `bytes` (at most size()) at `value`, on the host or the device,
  /// to host pool memory. If `value` is null, the contents are as if never accessed.
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
  bool zero_ = false;                 ///< as Binding::zero, for unplanned bytes
  layrub::Pool* cpu_pool_ = nullptr;  ///< the pool of cpu_ptr_; null: the user's memory
  layrub::Pool* gpu_pool_ = nullptr;  ///< the pool of gpu_ptr_; null: the user's memory
  layrub::Device* device_ = nullptr;  ///< the device of gpu_ptr_
  Binding* binding_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(SyncedMemory);
};

}  // namespace caffe

#endif  // CAFFE_SYNCEDMEM_HPP_
