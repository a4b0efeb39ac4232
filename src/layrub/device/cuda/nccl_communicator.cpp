#ifdef USE_NCCL
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "layrub/device/cuda/check.hpp"
#include "layrub/device/cuda/cuda_events.hpp"
#include "layrub/device/cuda/nccl_library.hpp"
#include "layrub/device/mailboxes.hpp"

namespace layrub {
namespace {

bool Fine(ncclResult_t result) { return result == ncclSuccess || result == ncclInProgress; }

/// What the members of a group share: why it has ended, and how to end what runs.
///
/// ncclCommAbort frees the communicator, so that no member may be in a call about it, nor about to
/// make one: each communicator has a lock, held from the look at `failed_` to the end of the calls,
/// which Abort takes one after the other. For Abort not to wait for a member that waits for the
/// others in a call, no call may wait: the communicators are non-blocking ones, whose calls return
/// while connections are still being made. Members then ask, again and again and with the lock open
/// in between, whether they are. A group that stayed open after a failure would take in what its
/// thread asks of NCCL later: Calls ends each that it begins.
class Shared {
 public:
  /// Connects the current process's `gpus`, by rank.
  Shared(const Nccl& nccl, const std::vector<Device*>& gpus) : nccl_(nccl), members_(gpus.size()) {
    try {
      Connect(gpus);
    } catch (...) {
      End();
      throw;
    }
  }
  ~Shared() { End(); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  int size() const { return static_cast<int>(members_.size()); }

  void ThrowIfFailed() {
    const std::lock_guard lock(mutex_);
    if (failed_) throw GroupFailed(reason_);
  }

  /// Makes `calls(comm)` of member `rank`, named `name`, in a group of NCCL's, and waits until NCCL
  /// has taken them. Fails when they do; throws GroupFailed when the group has ended.
  template <typename Body>
  void Calls(int rank, const char* name, const Body& calls) {
    Member& member = members_[static_cast<size_t>(rank)];
    ncclResult_t result = ncclSuccess;
    {
      const std::lock_guard lock(member.mutex);
      ThrowIfFailed();
      result = InGroup(&name, [&] { return calls(nccl_, member.comm); });
    }
    Must(name, result);
    Await(&member, name);
  }

  Mailboxes& mailboxes() { return mailboxes_; }

  void Abort(const std::string& reason) {
    const std::lock_guard ending(ending_);  // who comes second waits until all has ended
    {
      const std::lock_guard lock(mutex_);
      if (failed_) return;
      failed_ = true;
      reason_ = reason;
    }
    mailboxes_.Fail(reason);
    for (Member& member : members_) {
      const std::lock_guard lock(member.mutex);
      nccl_.CommAbort(member.comm);
    }
  }

 private:
  struct Member {
    std::mutex mutex;  ///< of all calls about `comm`
    ncclComm_t comm = nullptr;
    Device* gpu = nullptr;
    int64_t bytes = 0;  ///< of `gpu` that NCCL has taken, beyond what libraries were expected to
  };

  void Connect(const std::vector<Device*>& gpus) {
    std::vector<int64_t> before;
    for (Device* const gpu : gpus) before.push_back(gpu->Usage().library_bytes);
    ncclUniqueId id;
    Must("ncclGetUniqueId", nccl_.GetUniqueId(&id));
    // All memory is taken now, when plans can still leave it, and not by the first exchanges, as is
    // NCCL's custom from 2.22 on.
    setenv("NCCL_RUNTIME_CONNECT", "0", 0);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const char* name = "ncclCommInitRankConfig";
    const ncclResult_t result = InGroup(&name, [&] {
      ncclResult_t made = ncclSuccess;
      for (size_t rank = 0; rank < members_.size() && Fine(made); ++rank) {
        gpus[rank]->MakeCurrent();
        made = nccl_.CommInitRankConfig(&members_[rank].comm, size(), id, static_cast<int>(rank),
                                        &config);
      }
      return made;
    });
    Must(name, result);
    for (Member& member : members_) Await(&member, name);
    connected_ = true;
    for (size_t rank = 0; rank < members_.size(); ++rank) {
      Member& member = members_[rank];
      member.gpu = gpus[rank];
      member.bytes = member.gpu->Usage().library_bytes - before[rank];
      member.gpu->ExpectLibraries(member.bytes);
    }
  }

  /// The result of what is called in a group, or of the group; then `*name` becomes the name of
  /// what has failed.
  template <typename Body>
  ncclResult_t InGroup(const char** name, const Body& body) {
    const ncclResult_t begun = nccl_.GroupStart();
    if (!Fine(begun)) {
      *name = "ncclGroupStart";
      return begun;
    }
    const ncclResult_t called = body();
    const ncclResult_t ended = nccl_.GroupEnd();
    if (!Fine(called)) return called;
    if (!Fine(ended)) *name = "ncclGroupEnd";
    return ended;
  }

  /// Until NCCL has done for `member` what is more than queueing.
  void Await(Member* member, const char* name) {
    while (true) {
      ncclResult_t state = ncclSuccess;
      {
        const std::lock_guard lock(member->mutex);
        ThrowIfFailed();
        const ncclResult_t asked = nccl_.CommGetAsyncError(member->comm, &state);
        if (asked != ncclSuccess) {
          state = asked;
          name = "ncclCommGetAsyncError";
        }
      }
      if (state != ncclInProgress) return Must(name, state);
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  /// A call fails as well when another member ends the group meanwhile, whose reason counts then.
  void Must(const char* call, ncclResult_t result) {
    if (Fine(result)) return;
    ThrowIfFailed();
    Fail(std::string(call) + ": " + nccl_.GetErrorString(result) +
         (result == ncclUnhandledCudaError
              ? ": if it found no memory, which it needs beside the plan, give a smaller "
                "--device_memory."
              : "."));
  }

  void End() {
    for (const Member& member : members_) {
      if (member.gpu != nullptr) member.gpu->ExpectLibraries(-member.bytes);
      if (failed_ || member.comm == nullptr) continue;
      connected_ ? nccl_.CommDestroy(member.comm) : nccl_.CommAbort(member.comm);
    }
  }

  const Nccl nccl_;
  std::vector<Member> members_;
  Mailboxes mailboxes_;
  bool connected_ = false;
  std::mutex ending_;
  std::mutex mutex_;  ///< of the two below
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
    Queue("ncclBroadcast", values, [this](const Nccl& nccl, const Values& v, ncclComm_t comm) {
      return nccl.Broadcast(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v), 0, comm,
                            stream_);
    });
  }

  void Sum(const std::vector<Values>& values) override {
    Queue("ncclAllReduce", values, [this](const Nccl& nccl, const Values& v, ncclComm_t comm) {
      return nccl.AllReduce(v.first, v.first, static_cast<size_t>(v.count), TypeOf(v), ncclSum,
                            comm, stream_);
    });
  }

  void Wait() override {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(stream_, exchanged_.get(), ComputeStream());
    queued_ = false;
  }

  void Synchronize() override {
    Wait();
    LAYRUB_CUDA(cudaStreamSynchronize(stream_));
    shared_->ThrowIfFailed();  // who ends the group ends the wait
  }

  using Communicator::Receive;
  using Communicator::Send;
  void Send(int to, std::string message, Channel channel) override {
    shared_->mailboxes().Send(rank_, to, std::move(message), channel);
  }
  std::optional<std::string> Receive(int from, double seconds, Channel channel) override {
    return shared_->mailboxes().Receive(from, rank_, seconds, channel);
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
    shared_->Calls(rank_, name, [&](const Nccl& nccl, ncclComm_t comm) {
      ncclResult_t result = ncclSuccess;
      for (size_t i = 0; i < values.size() && Fine(result); ++i)
        result = call(nccl, values[i], comm);
      return result;
    });
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
  const auto shared = std::make_shared<Shared>(nccl, gpus);
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

bool HasNccl() {
  std::string why_not;
  return OpenNccl(kNcclFile, &why_not).has_value();
}

}  // namespace layrub

#else

#include "layrub/device/communicator.hpp"

namespace layrub {

Group ConnectGpus(const std::vector<Device*>&, std::string* why_not) {
  *why_not = "this build has no NCCL, as there was no nccl.h.";
  return {};
}

bool HasNccl() { return false; }

}  // namespace layrub

#endif  // USE_NCCL
