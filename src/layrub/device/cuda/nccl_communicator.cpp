#ifdef USE_NCCL
#include <nccl.h>

#include <mutex>

#include "layrub/communicator.hpp"
#include "layrub/device/cuda/check.hpp"
#include "layrub/device/cuda/cuda_events.hpp"

/// Ends the program, naming the call, when it fails.
#define LAYRUB_NCCL(call)                                              \
  do {                                                                 \
    const ncclResult_t layrub_error = (call);                          \
    if (layrub_error != ncclSuccess) {                                 \
      LOG(FATAL) << #call << ": " << ncclGetErrorString(layrub_error); \
    }                                                                  \
  } while (0)

namespace layrub {
namespace {

/// What the members of a group share: why it has ended, and how to end what runs.
class Shared {
 public:
  explicit Shared(std::vector<ncclComm_t> comms) : comms_(std::move(comms)) {}
  ~Shared() {
    for (ncclComm_t comm : comms_) {
      if (!failed_) ncclCommDestroy(comm);
    }
  }

  ncclComm_t comm(int rank) const { return comms_[rank]; }
  int size() const { return static_cast<int>(comms_.size()); }

  void ThrowIfFailed() {
    const std::lock_guard lock(mutex_);
    if (failed_) throw GroupFailed(reason_);
  }

  void Abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (failed_) return;
    failed_ = true;
    reason_ = reason;
    for (ncclComm_t comm : comms_) ncclCommAbort(comm);
  }

 private:
  const std::vector<ncclComm_t> comms_;
  std::mutex mutex_;
  bool failed_ = false;
  std::string reason_;
};

ncclDataType_t TypeOf(const Values& values) {
  return values.element == Element::kFloat ? ncclFloat : ncclDouble;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(std::shared_ptr<Shared> shared, int rank, Device* device)
      : shared_(std::move(shared)), rank_(rank), device_(device) {
    device_->MakeCurrent();
    LAYRUB_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    computed_ = std::make_unique<CudaEvent>();
    exchanged_ = std::make_unique<CudaEvent>();
  }
  ~NcclCommunicator() override {
    device_->MakeCurrent();
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  int rank() const override { return rank_; }
  int size() const override { return shared_->size(); }
  Device* device() const override { return device_; }

  void Broadcast(const std::vector<Values>& values) override {
    Queue(values, [this](const Values& v) {
      return ncclBroadcast(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v), 0,
                           shared_->comm(rank_), stream_);
    });
  }

  void Sum(const std::vector<Values>& values) override {
    Queue(values, [this](const Values& v) {
      return ncclAllReduce(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v), ncclSum,
                           shared_->comm(rank_), stream_);
    });
  }

  void Wait() override {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(stream_, exchanged_.get(), ComputeStream());
  }

  void Abort(const std::string& reason) override { shared_->Abort(reason); }

 private:
  cudaStream_t ComputeStream() const { return static_cast<cudaStream_t>(device_->stream()); }

  /// What is queued on `to` from now on comes after what has been queued on `from`.
  static void Order(cudaStream_t from, CudaEvent* event, cudaStream_t to) {
    LAYRUB_CUDA(cudaEventRecord(event->get(), from));
    LAYRUB_CUDA(cudaStreamWaitEvent(to, event->get(), 0));
  }

  template <typename Call>
  void Queue(const std::vector<Values>& values, Call call) {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(ComputeStream(), computed_.get(), stream_);
    LAYRUB_NCCL(ncclGroupStart());
    for (const Values& v : values) LAYRUB_NCCL(call(v));
    LAYRUB_NCCL(ncclGroupEnd());
  }

  const std::shared_ptr<Shared> shared_;
  const int rank_;
  Device* const device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CudaEvent> computed_, exchanged_;
};

}  // namespace

Group ConnectGpus(const std::vector<Device*>& gpus) {
  std::vector<int> ids;
  for (const Device* gpu : gpus) ids.push_back(gpu->id());
  std::vector<ncclComm_t> comms(gpus.size());
  LAYRUB_NCCL(ncclCommInitAll(comms.data(), static_cast<int>(ids.size()), ids.data()));
  const auto shared = std::make_shared<Shared>(std::move(comms));
  Group group;
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    group.push_back(std::make_unique<NcclCommunicator>(shared, static_cast<int>(rank), gpus[rank]));
  }
  return group;
}

}  // namespace layrub

#else

#include "layrub/communicator.hpp"

namespace layrub {

Group ConnectGpus(const std::vector<Device*>&) { return {}; }

}  // namespace layrub

#endif  // USE_NCCL
