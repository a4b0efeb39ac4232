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

/// The state that the members of a group share: the communicators, and whether and why the group
/// has ended.
///
/// ncclCommAbort frees the communicator, so no member may be in a call with it or about to make
/// one. Therefore each communicator has a lock, held from the check of `failed_` to the end of the
/// calls; Abort takes these locks one after the other. Abort must not wait for a member that waits
/// inside a call for the others. So the communicators are non-blocking: their calls return while
/// connections are still being made, and members then poll for completion, releasing the lock
/// between polls. An NCCL group that stayed open after a failure would swallow the thread's later
/// calls of NCCL, so Calls ends each group that it begins.
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

  /// Makes the calls of NCCL in `calls` for member `rank` within one NCCL group, and waits until
  /// NCCL has accepted them. An error is a failure that names `name`. Throws GroupFailed when the
  /// group has ended.
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
    const std::lock_guard ending(ending_);  // a second caller waits until the first has finished
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
    std::mutex mutex;  ///< held during all calls that use `comm`
    ncclComm_t comm = nullptr;
    Device* gpu = nullptr;
    int64_t bytes = 0;  ///< of `gpu` taken by NCCL, added to what libraries are expected to take
  };

  void Connect(const std::vector<Device*>& gpus) {
    std::vector<int64_t> before;
    for (Device* const gpu : gpus) before.push_back(gpu->Usage().library_bytes);
    ncclUniqueId id;
    Must("ncclGetUniqueId", nccl_.GetUniqueId(&id));
    // Makes NCCL take all its memory now, while plans can still leave room for it. From 2.22 on it
    // would do so at the first exchange.
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
      member.gpu->AddExpectedLibraryBytes(member.bytes);
    }
  }

  /// Calls `body` within an NCCL group. Returns the first error, or success. If starting or ending
  /// the group failed, sets `*name` to the name of that call.
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

  /// Waits until NCCL has accepted the calls of `member`, connections included.
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

  /// Fails if `result` is an error. If another member has ended the group meanwhile, throws
  /// GroupFailed with that member's reason instead.
  void Must(const char* call, ncclResult_t result) {
    if (Fine(result)) return;
    ThrowIfFailed();
    Fail(std::string(call) + ": " + nccl_.GetErrorString(result) +
         (result == ncclUnhandledCudaError
              ? ": if it ran out of memory, which it needs beside the plan, give a smaller "
                "--device_memory."
              : "."));
  }

  void End() {
    for (const Member& member : members_) {
      if (member.gpu != nullptr) member.gpu->AddExpectedLibraryBytes(-member.bytes);
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
    // Last: if a later call failed, nobody would destroy the stream.
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

  void Exchange(const std::vector<Parcel>& sent, const std::vector<Parcel>& received) override {
    struct Call {
      const Parcel& parcel;
      bool sends;
    };
    std::vector<Call> calls;
    for (const Parcel& parcel : sent) calls.push_back({parcel, true});
    for (const Parcel& parcel : received) calls.push_back({parcel, false});
    Queue("ncclSend or ncclRecv", calls, [this](const Nccl& nccl, const Call& c, ncclComm_t comm) {
      const auto& [member, v] = c.parcel;
      const auto count = static_cast<size_t>(v.count);
      return c.sends ? nccl.Send(v.first, count, TypeOf(v), member, comm, stream_)
                     : nccl.Recv(v.first, count, TypeOf(v), member, comm, stream_);
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
    shared_->ThrowIfFailed();  // an abort of the group also ends the wait
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

  /// Makes later work on `to` wait for the work queued so far on `from`.
  static void Order(cudaStream_t from, CudaEvent* event, cudaStream_t to) {
    LAYRUB_CUDA(cudaEventRecord(event->get(), from));
    LAYRUB_CUDA(cudaStreamWaitEvent(to, event->get(), 0));
  }

  /// Makes a call of NCCL for each of `all`.
  template <typename Argument, typename Call>
  void Queue(const char* name, const std::vector<Argument>& all, Call call) {
    shared_->ThrowIfFailed();
    device_->MakeCurrent();
    Order(ComputeStream(), computed_.get(), stream_);
    queued_ = true;
    shared_->Calls(rank_, name, [&](const Nccl& nccl, ncclComm_t comm) {
      ncclResult_t result = ncclSuccess;
      for (size_t i = 0; i < all.size() && Fine(result); ++i) result = call(nccl, all[i], comm);
      return result;
    });
  }

  const std::shared_ptr<Shared> shared_;
  const int rank_;
  Device* const device_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CudaEvent> computed_, exchanged_;
  bool queued_ = false;  ///< something for which Wait has not been called
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
  LOG(INFO) << "GPUs exchange values by NCCL " << VersionOf(*nccl);
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
  *why_not = "this build has no NCCL, because nccl.h was not found.";
  return {};
}

bool HasNccl() { return false; }

}  // namespace layrub

#endif  // USE_NCCL
