#ifndef CAFFE_SYNCEDMEM_HPP_
#define CAFFE_SYNCEDMEM_HPP_

#include <cstddef>

#include "caffe/common.hpp"

namespace caffe {

/// Host memory for data that crosses to a device (pinned when `*use_cuda` comes back true). Aborts
/// when there is none.
void CaffeMallocHost(void** ptr, size_t size, bool* use_cuda);
void CaffeFreeHost(void* ptr, bool use_cuda);

/// Answers for planned memory that is touched where its address is not at hand: outside a pass, or
/// inside an operation that did not declare it. Installed by Net, so that core needs to know
/// nothing of plans.
class Resolver {
 public:
  virtual ~Resolver() = default;
  /// The bytes of planned tensor `tensor`, valid until the net's next pass; aborts with a message
  /// that names the tensor and says what to do when there is no right value to give.
  virtual void* Resolve(int tensor, bool write) = 0;
};

/// The link from a SyncedMemory to a planned tensor. Owned by the net; its pointers are set only
/// while an operation runs that declared the access.
struct Binding {
  int tensor = -1;
  void* readable = nullptr;
  void* writable = nullptr;
  Resolver* resolver = nullptr;
};

/// A handle of bytes that a CPU side and a GPU side share. Who owns the bytes:
///   none  nothing has been touched yet; the first touch allocates zero-filled memory from the pool
///   pool  this object, until it is destroyed
///   user  the caller of set_cpu_data / set_gpu_data; never planned, never freed
///   plan  a net's plan: bound by Bind; addresses change from pass to pass
/// Not thread safe.
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

  enum SyncedHead { UNINITIALIZED, HEAD_AT_CPU, HEAD_AT_GPU, SYNCED };
  SyncedHead head() const { return head_; }
  size_t size() const { return size_; }

#ifndef CPU_ONLY
  void async_gpu_push(const cudaStream_t& stream);
#endif

  /// Hands the bytes to a plan: pool memory is freed and every later access goes to `binding`,
  /// which must outlive the bond. Binding again replaces the bond. User-owned memory may not be
  /// bound.
  void Bind(Binding* binding);
  /// Ends the bond. The contents become the `bytes` (at most size()) at `value`, copied into pool
  /// memory, or, when `value` is null, untouched.
  void Unbind(const void* value, size_t bytes);
  Binding* binding() const { return binding_; }
  bool user_owned() const { return cpu_ptr_ != nullptr && !own_cpu_; }

 private:
  void ToCpu();
  void ReleaseCpu();
  void* Planned(bool write);

  void* cpu_ptr_ = nullptr;
  size_t size_ = 0;
  SyncedHead head_ = UNINITIALIZED;
  bool own_cpu_ = false;
  Binding* binding_ = nullptr;

  DISABLE_COPY_AND_ASSIGN(SyncedMemory);
};

}  // namespace caffe

#endif  // CAFFE_SYNCEDMEM_HPP_
