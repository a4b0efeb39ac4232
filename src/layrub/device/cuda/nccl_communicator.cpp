#ifdef USE_NCCL
#include <mutex>
#include <string>

#include "layrub/device/cuda/check.hpp"
#include "layrub/device/cuda/cuda_events.hpp"
#include "layrub/device/cuda/nccl_library.hpp"

namespace layrub {
namespace {

/// Fails when `call` has.
void Must(const Nccl& nccl, const char* call, ncclResult_t result) {
  if (result == ncclSuccess) return;
  Fail(std::string(call) + ": " + nccl.GetErrorString(result) + ".");
}

/// What the members of a group share: why it has ended, and how to end what runs.
class Shared {
 public:
  Shared(const Nccl& nccl, std::vector<ncclComm_t> comms) : nccl_(nccl), comms_(std::move(comms)) {}
  ~Shared() {
    for (ncclComm_t comm : comms_) {
      if (!failed_) nccl_.CommDestroy(comm);
    }
  }

  const Nccl& nccl() const { return nccl_; }
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
    for (ncclComm_t comm : comms_) nccl_.CommAbort(comm);
  }

 private:
  const Nccl nccl_;
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
    computed_ = std::make_unique<CudaEvent>();
    exchanged_ = std::make_unique<CudaEvent>();
    // Last: where a call fails, nobody gives it back.
    LAYRUB_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~NcclCommunicator() override {
    if (queued_) shared_->Abort("member " + std::to_string(rank_) + " has left its group");
    LAYRUB_CUDA_AT_END(cudaSetDevice(device_->id()));
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }

  int rank() const override { return rank_; }
  int size() const override { return shared_->size(); }
  Device* device() const override { return device_; }

  void Broadcast(const std::vector<Values>& values) override {
    Queue("ncclBroadcast", values, [this](const Values& v) {
      return shared_->nccl().Broadcast(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v), 0,
                                       shared_->comm(rank_), stream_);
    });
  }

  void Sum(const std::vector<Values>& values) override {
    Queue("ncclAllReduce", values, [this](const Values& v) {
      return shared_->nccl().AllReduce(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v),
                                       ncclSum, shared_->comm(rank_), stream_);
    });
  }

  void Wait() override {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(stream_, exchanged_.get(), ComputeStream());
    queued_ = false;
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
  void Queue(const char* name, const std::vector<Values>& values, Call call) {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(ComputeStream(), computed_.get(), stream_);
    queued_ = true;
    const Nccl& nccl = shared_->nccl();
    Must("ncclGroupStart", nccl.GroupStart());
    for (const Values& v : values) Must(name, call(v));
    Must("ncclGroupEnd", nccl.GroupEnd());
  }

  /// A call fails as well when another member ends the group meanwhile, whose reason counts then.
  void Must(const char* call, ncclResult_t result) {
    if (result != ncclSuccess) shared_->ThrowIfFailed();
    layrub::Must(shared_->nccl(), call, result);
  }

  const std::shared_ptr<Shared> shared_;
  const int rank_;
  Device* const device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CudaEvent> computed_, exchanged_;
  bool queued_ = false;  ///< something that no Wait has come after
};

}  // namespace

Group ConnectByNccl(const Nccl& nccl, const std::vector<Device*>& gpus) {
  std::vector<int> ids;
  for (const Device* gpu : gpus) ids.push_back(gpu->id());
  std::vector<ncclComm_t> comms(gpus.size());
  Must(nccl, "ncclCommInitAll",
       nccl.CommInitAll(comms.data(), static_cast<int>(ids.size()), ids.data()));
  const auto shared = std::make_shared<Shared>(nccl, std::move(comms));
  Group group;
  for (size_t rank = 0; rank < gpus.size(); ++rank) {
    group.push_back(std::make_unique<NcclCommunicator>(shared, static_cast<int>(rank), gpus[rank]));
  }
  return group;
}

Group ConnectGpus(const std::vector<Device*>& gpus, std::string* why_not) {
  const std::optional<Nccl> nccl = OpenNccl(kNcclFile, why_not);
  if (!nccl) return {};
  LOG(INFO) << "Gradients are summed by NCCL " << VersionOf(*nccl);
  return ConnectByNccl(*nccl, gpus);
}

}  // namespace layrub

#else

#include "layrub/device/communicator.hpp"

namespace layrub {

Group ConnectGpus(const std::vector<Device*>&, std::string* why_not) {
  *why_not = "this build has no NCCL, as there was no nccl.h.";
  return {};
}

}  // namespace layrub

#endif  // USE_NCCL
