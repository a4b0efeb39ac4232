#include "layrub/device/cuda/cuda_device.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "layrub/base/bytes.hpp"
#include "layrub/device/cuda/check.hpp"
#include "layrub/device/cuda/nvml_library.hpp"

namespace layrub {
namespace {

/// Roughly what CUDA's libraries take for kernel code and buffers.
constexpr int64_t kLibraryBytes = int64_t{512} << 20;

/// Returns the result of an allocation, or nullptr if CUDA is out of memory. Any other error is a
/// failure.
void* OrNull(cudaError_t error, void* memory, const char* call, int64_t bytes) {
  if (error == cudaSuccess) return memory;
  cudaGetLastError();  // it would be reported by the next check of a kernel
  if (error != cudaErrorMemoryAllocation) {
    Fail(std::string(call) + " of " + std::to_string(bytes) +
         " bytes: " + cudaGetErrorString(error));
  }
  return nullptr;
}

/// The memory of the current device.
GpuMemory MemoryNow() {
  size_t free = 0, total = 0;
  LAYRUB_CUDA(cudaMemGetInfo(&free, &total));
  return {static_cast<int64_t>(total), static_cast<int64_t>(free)};
}

/// Returns how many bytes of the current device other processes use: those that were not free
/// `before` there was a context. CUDA does not tell whose they are, and NVML's lists of processes
/// are empty in a container.
int64_t BytesOfOthers(const std::optional<GpuMemory>& before, std::string why_not) {
  const GpuMemory now = MemoryNow();
  if (before) {
    // NVML also counts the driver's own part in the total. The free bytes are the same to both.
    if (before->total - before->total / 8 <= now.total)
      return std::max<int64_t>(now.total - std::max(before->free, now.free), 0);
    why_not = "NVML reports the whole GPU, but this process has only a part of it.";
  }
  LOG_FIRST_N(WARNING, 1) << "GPU memory of other processes counts as this process's: " << why_not;
  return 0;
}

bool IsOnDevice(const void* address) {
  cudaPointerAttributes attributes;
  LAYRUB_CUDA(cudaPointerGetAttributes(&attributes, address));
  return attributes.type == cudaMemoryTypeDevice;
}

/// The capture of the calling thread. `device` is null if it captures nothing.
struct Capture {
  const CudaDevice* device = nullptr;
  std::unique_ptr<CudaStream> stream = {};
};
thread_local Capture capture;

class CudaGraph final : public CapturedWork {
 public:
  CudaGraph(CudaDevice* device, cudaGraphExec_t work) : device_(device), work_(work) {}
  ~CudaGraph() override { cudaGraphExecDestroy(work_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  void Queue() override {
    device_->MakeCurrent();
    LAYRUB_CUDA(cudaGraphLaunch(work_, static_cast<cudaStream_t>(device_->stream())));
  }

 private:
  CudaDevice* const device_;
  const cudaGraphExec_t work_;
};

}  // namespace

CudaStream::CudaStream(unsigned int flags) {
  LAYRUB_CUDA(cudaStreamCreateWithFlags(&stream_, flags));
}

// No check: if the driver was shut down before, it has destroyed the stream.
CudaStream::~CudaStream() { cudaStreamDestroy(stream_); }

CudaDevice::CudaDevice(int id) : id_(id) {
  std::string why_not;
  const std::optional<GpuMemory> before = QueryNvml(id, &why_not);
  MakeCurrent();  // this, or the first query, makes the context
  usage_.others_bytes = BytesOfOthers(before, why_not);
  usage_.context_bytes = UsedBytes();
  usage_.peak_bytes = usage_.context_bytes;
  usage_.expected_library_bytes = kLibraryBytes;
  compute_ = std::make_unique<CudaStream>(cudaStreamDefault);
  beside_ = std::make_unique<CudaStream>(cudaStreamNonBlocking);
}

void* CudaDevice::stream() const {
  return (capture.device == this ? capture.stream : compute_)->get();
}

bool CudaDevice::BeginCapture() {
  if (capture.device != nullptr) throw std::logic_error("CudaDevice: a capture has begun already");
  MakeCurrent();
  std::unique_ptr<CudaStream> stream = TakeIdle();
  LAYRUB_CUDA(cudaStreamBeginCapture(stream->get(), cudaStreamCaptureModeThreadLocal));
  capture = {this, std::move(stream)};
  return true;
}

std::unique_ptr<CudaStream> CudaDevice::TakeIdle() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return std::make_unique<CudaStream>(cudaStreamNonBlocking);
  std::unique_ptr<CudaStream> stream = std::move(idle_.back());
  idle_.pop_back();
  return stream;
}

void CudaDevice::GiveIdle(std::unique_ptr<CudaStream> stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  idle_.push_back(std::move(stream));
}

std::unique_ptr<CapturedWork> CudaDevice::EndCapture() {
  if (capture.device != this) throw std::logic_error("CudaDevice: no capture has begun");
  std::unique_ptr<CudaStream> stream = std::exchange(capture, {}).stream;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t work = nullptr;
  cudaError_t error = cudaStreamEndCapture(stream->get(), &graph);
  GiveIdle(std::move(stream));
  if (error == cudaSuccess) error = cudaGraphInstantiate(&work, graph, 0);
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (error == cudaSuccess) return std::make_unique<CudaGraph>(this, work);
  cudaGetLastError();  // it would be reported by the next check of a kernel
  LOG(ERROR) << "CUDA cannot make a graph of captured work: " << cudaGetErrorString(error) << ".";
  return nullptr;
}

void CudaDevice::MakeCurrent() {
  int current = -1;
  if (cudaGetDevice(&current) == cudaSuccess && current == id_) return;
  LAYRUB_CUDA(cudaSetDevice(id_));
}

void* CudaDevice::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - kAlignment) return nullptr;
  MakeCurrent();
  void* memory = nullptr;
  const int64_t size = Aligned(bytes > 0 ? bytes : 1);
  const std::lock_guard<std::mutex> lock(mutex_);
  const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(size));
  if (OrNull(error, memory, "cudaMalloc", size) == nullptr) return nullptr;
  sizes_[memory] = size;
  allocated_ += size;
  Look();
  return memory;
}

void CudaDevice::Free(void* memory) {
  if (memory == nullptr) return;
  cudaSetDevice(id_);  // no check; keeps another GPU from getting a context
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto size = sizes_.find(memory); size != sizes_.end()) {
    allocated_ -= size->second;
    sizes_.erase(size);
  }
  // At the end of the process the driver may be shut down already. It has then freed everything.
  const cudaError_t error = cudaFree(memory);
  if (error != cudaErrorCudartUnloading) LAYRUB_CUDA_AT_END(error);
}

void CudaDevice::Zero(void* memory, int64_t bytes) {
  MakeCurrent();
  LAYRUB_CUDA(
      cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), static_cast<cudaStream_t>(stream())));
}

void* CudaDevice::AllocateHost(int64_t bytes) {
  if (bytes < 0 || bytes > INT64_MAX - kAlignment) return nullptr;
  MakeCurrent();
  void* memory = nullptr;
  const int64_t size = Aligned(bytes > 0 ? bytes : 1);
  const cudaError_t error =
      cudaHostAlloc(&memory, static_cast<size_t>(size), cudaHostAllocPortable);
  return OrNull(error, memory, "cudaHostAlloc", size);
}

void CudaDevice::FreeHost(void* memory) {
  if (memory == nullptr) return;
  cudaSetDevice(id_);  // no check; keeps another GPU from getting a context
  const cudaError_t error = cudaFreeHost(memory);
  if (error != cudaErrorCudartUnloading) LAYRUB_CUDA_AT_END(error);
}

void CudaDevice::HostSource::Zero(void* memory, int64_t bytes) {
  std::memset(memory, 0, static_cast<size_t>(bytes));
}

void CudaDevice::Copy(void* to, const void* from, int64_t bytes) {
  if (bytes <= 0 || to == from) return;
  MakeCurrent();
  // cudaMemcpyDefault: CUDA sees from the addresses where the memory is.
  const auto size = static_cast<size_t>(bytes);
  if (capture.device == this) {
    if (!IsOnDevice(to) || !IsOnDevice(from))
      Fail(
          "A layer whose traits say that it only queues work (MemoryTraits::capturable) copies to "
          "or from the host: correct its traits, or give --debug=no_cuda_graphs.");
    LAYRUB_CUDA(cudaMemcpyAsync(to, from, size, cudaMemcpyDefault, capture.stream->get()));
  } else {
    // On the default stream. Waits unless both addresses are on the device.
    LAYRUB_CUDA(cudaMemcpy(to, from, size, cudaMemcpyDefault));
  }
}

void CudaDevice::QueueCopyToHost(void* to, const void* from, int64_t bytes) {
  MakeCurrent();
  LAYRUB_CUDA(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost,
                              static_cast<cudaStream_t>(stream())));
}

void CudaDevice::CopyConcurrently(void* to, const void* from, int64_t bytes) {
  if (bytes <= 0 || to == from) return;
  MakeCurrent();
  LAYRUB_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDefault, beside_->get()));
  LAYRUB_CUDA(cudaStreamSynchronize(beside_->get()));
}

void CudaDevice::Synchronize() {
  MakeCurrent();
  LAYRUB_CUDA(cudaStreamSynchronize(compute_->get()));
  LAYRUB_CUDA(cudaStreamSynchronize(nullptr));  // a user's kernel may be the last one
}

int64_t CudaDevice::total_bytes() const {
  cudaDeviceProp properties;
  LAYRUB_CUDA(cudaGetDeviceProperties(&properties, id_));
  return static_cast<int64_t>(properties.totalGlobalMem);
}

int64_t CudaDevice::free_bytes() const {
  const_cast<CudaDevice*>(this)->MakeCurrent();
  size_t free = 0, total = 0;
  LAYRUB_CUDA(cudaMemGetInfo(&free, &total));
  return static_cast<int64_t>(free);
}

/// Returns the bytes of the current device in use, without those of other processes at the start.
int64_t CudaDevice::UsedBytes() const {
  const GpuMemory now = MemoryNow();
  return std::max<int64_t>(now.total - now.free - usage_.others_bytes, 0);
}

/// Compares the bytes in use with those allocated here. Needs the mutex.
void CudaDevice::Look() {
  const int64_t gone = UsedBytes();
  usage_.library_bytes = std::max<int64_t>(gone - usage_.context_bytes - allocated_, 0);
  usage_.peak_bytes = std::max(usage_.peak_bytes, gone);
}

DeviceUsage CudaDevice::Usage() {
  MakeCurrent();
  const std::lock_guard<std::mutex> lock(mutex_);
  Look();
  return usage_;
}

void CudaDevice::AddExpectedLibraryBytes(int64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  usage_.expected_library_bytes += bytes;
}

/// The workspace that NVIDIA recommends for cuBLAS on this kind of GPU.
int64_t CudaDevice::library_workspace_bytes() const {
  int major = 0;
  LAYRUB_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, id_));
  return int64_t{major >= 9 ? 32 : 4} << 20;
}

std::string CudaDevice::Describe() const {
  cudaDeviceProp properties;
  LAYRUB_CUDA(cudaGetDeviceProperties(&properties, id_));
  int runtime = 0, driver = 0;
  LAYRUB_CUDA(cudaRuntimeGetVersion(&runtime));
  LAYRUB_CUDA(cudaDriverGetVersion(&driver));
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  std::ostringstream text;
  text << properties.name << "\n  memory: " << FormatBytes(total_bytes()) << ", free "
       << FormatBytes(free_bytes()) << "\n  multiprocessors: " << properties.multiProcessorCount
       << ", compute capability " << properties.major << "." << properties.minor
       << "\n  copy engines: " << properties.asyncEngineCount << "\n  CUDA: runtime "
       << version(runtime) << ", driver " << version(driver);
  return text.str();
}

std::unique_ptr<Backend> CudaDevice::MakeBackend(const std::string& spill_file) {
  return MakeCudaBackend(this, spill_file);
}

namespace {

struct Found {
  int count = 0;
  std::string why;
};

const Found& Gpus() {
  static const Found found = [] {
    Found gpus;
    const cudaError_t error = cudaGetDeviceCount(&gpus.count);
    if (error == cudaSuccess && gpus.count > 0) return gpus;
    cudaGetLastError();
    gpus.count = 0;
    gpus.why = "Cannot use a GPU: ";
    gpus.why += error == cudaSuccess ? "there is none" : cudaGetErrorString(error);
    gpus.why += ".";
    return gpus;
  }();
  return found;
}

}  // namespace

bool HasGpuBackend() { return true; }

int GpuCount() { return Gpus().count; }

std::string NoGpuReason() { return Gpus().why; }

Device& Gpu(int id) {
  static std::mutex mutex;
  // Never destroyed: blobs with static storage may free memory at any time.
  static auto* const devices = new std::vector<CudaDevice*>(GpuCount(), nullptr);
  if (id < 0 || id >= GpuCount()) Fail("There is no GPU " + std::to_string(id) + ".");
  const std::lock_guard<std::mutex> lock(mutex);
  CudaDevice*& device = (*devices)[id];
  if (device == nullptr) device = new CudaDevice(id);
  return *device;
}

}  // namespace layrub
