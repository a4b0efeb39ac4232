// A fake of the part of NCCL that is called, as a shared library with NCCL's name. It moves and
// sums memory of the fake runtime's devices on streams of that runtime, whose functions it takes
// from the program that opens it. With LAYRUB_OLD_NCCL it is a version without
// ncclCommInitRankConfig.
#include <nccl.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/cuda/test/fake_streams.hpp"

namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

enum class Kind { kBroadcast, kSum };

/// The arguments of a member in a round.
struct Part {
  Kind kind;
  const void* from;
  void* to;
  size_t count;
  ncclDataType_t type;
};

bool Match(const Part& a, const Part& b) {
  return a.kind == b.kind && a.count == b.count && a.type == b.type;
}

/// One collective call of the members of a clique, each on its own stream.
struct Round {
  explicit Round(size_t members) : parts(members), goes_on(members) {
    for (auto& mark : goes_on) mark = std::make_shared<Mark>();
  }
  std::vector<Part> parts;                      ///< by rank
  std::vector<std::shared_ptr<Mark>> has_come;  ///< in the order in which they came
  std::vector<std::shared_ptr<Mark>> goes_on;   ///< by rank
};

/// Numbers on the way from one member of a clique to another.
struct Message {
  struct End {
    bool known = false;
    void* numbers = nullptr;
    size_t count = 0;
    ncclDataType_t type = ncclFloat;
    std::shared_ptr<Mark> has_come, goes_on = std::make_shared<Mark>();
  };
  End sent, received;
};

struct Clique {
  size_t members = 0;
  bool aborted = false;
  std::set<size_t> connected;  ///< ranks that have ended a group
  std::vector<std::shared_ptr<Round>> rounds;
  /// By sender and receiver: messages that only one of the two has announced.
  std::map<std::pair<size_t, size_t>, std::deque<std::shared_ptr<Message>>> messages;
};

template <typename Number>
void Combine(const std::vector<Part>& parts) {
  const auto* const root = static_cast<const Number*>(parts[0].from);
  std::vector<Number> result(root, root + parts[0].count);
  for (size_t rank = 1; rank < parts.size() && parts[0].kind == Kind::kSum; ++rank) {
    for (size_t i = 0; i < result.size(); ++i)
      result[i] += static_cast<const Number*>(parts[rank].from)[i];
  }
  for (const Part& part : parts)
    std::memcpy(part.to, result.data(), result.size() * sizeof(Number));
}

ncclResult_t Result(cudaError_t error) {
  return error == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

struct Pending {
  ncclComm* comm;
  std::function<void(Runtime&)> come;
  std::function<void(Runtime&)> go_on = {};  ///< after all of the group have come
};
thread_local int groups = 0;                 ///< that are open
thread_local std::vector<Pending> in_group;  ///< what waits for their end

// Under the runtime's lock:
std::set<const ncclComm*> alive;
std::map<std::string, std::weak_ptr<Clique>> cliques;  ///< by the bytes of their ids
uint64_t ids = 0;

/// Returns false, and reports a violation, if the communicator has been freed.
bool MayUse(Runtime& runtime, const ncclComm* comm) {
  if (alive.count(comm) != 0) return true;
  runtime.Violate("NCCL is given a communicator that is gone");
  return false;
}

}  // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  size_t rank = 0;
  int device = 0;
  size_t rounds = 0;  ///< that it has joined
  int64_t bytes = 0;  ///< of device memory that it has taken
};

namespace {

/// Takes the communicator's device memory. Returns false if there is not enough.
bool TakeMemory(Runtime& runtime, ncclComm* comm) {
  if (comm->bytes > 0) return true;
  if (runtime.FreeBytes(comm->device) < runtime.options.nccl_bytes) return false;
  comm->bytes = runtime.options.nccl_bytes;
  runtime.devices[comm->device].libraries_bytes += comm->bytes;
  return true;
}

void GiveBack(Runtime& runtime, ncclComm* comm) {
  runtime.devices[comm->device].libraries_bytes -= comm->bytes;
  alive.erase(comm);
  delete comm;
}

#ifndef LAYRUB_OLD_NCCL
/// As NCCL 2.22 and newer.
bool TakesMemoryLater() {
  const char* const later = std::getenv("NCCL_RUNTIME_CONNECT");
  return later == nullptr || std::string(later) != "0";
}
#endif

/// Member `comm` joins its next round. The last member to join does the work.
void Come(Runtime& runtime, ncclComm* comm, const Part& part, cudaStream_t stream) {
  const std::shared_ptr<Clique> clique = comm->clique;
  if (stream->device != comm->device) runtime.Violate("NCCL is given a stream of another device");
  const size_t number = comm->rounds++;
  if (clique->rounds.size() == number)
    clique->rounds.push_back(std::make_shared<Round>(clique->members));
  const std::shared_ptr<Round> round = clique->rounds[number];
  round->parts[comm->rank] = part;
  round->has_come.push_back(std::make_shared<Mark>(Mark{stream, false, 0}));
  runtime.Put(stream, {.reach = round->has_come.back()});
  if (round->has_come.size() < clique->members) {
    runtime.Put(stream, {.wait = round->goes_on[comm->rank]});
    return;
  }
  for (const Part& other : round->parts) {
    if (!Match(part, other)) runtime.Violate("members of a clique do not agree");
  }
  for (const auto& mark : round->has_come) runtime.Put(stream, {.wait = mark});
  runtime.Put(stream, {.act = [clique, round, idle = runtime.options.idle] {
                if (clique->aborted || idle) return;
                round->parts[0].type == ncclFloat ? Combine<float>(round->parts)
                                                  : Combine<double>(round->parts);
              }});
  for (const auto& mark : round->goes_on) {
    mark->stream = stream;
    runtime.Put(stream, {.reach = mark});
  }
}

/// One end of the next message comes. The messages of a group do not wait for one another.
void Pass(const char* call, bool sends, void* numbers, size_t count, ncclDataType_t type, int peer,
          ncclComm* comm, cudaStream_t stream) {
  const auto message = std::make_shared<std::shared_ptr<Message>>();
  const auto completes = std::make_shared<bool>(false);
  const auto come = [=](Runtime& runtime) {
    const auto other = static_cast<size_t>(peer);
    auto& waiting =
        comm->clique->messages[sends ? std::pair(comm->rank, other) : std::pair(other, comm->rank)];
    const auto known = [&](const auto& one) { return (sends ? one->sent : one->received).known; };
    *completes = !waiting.empty() && !known(waiting.front());
    if (!*completes) waiting.push_back(std::make_shared<Message>());
    *message = *completes ? waiting.front() : waiting.back();
    if (*completes) waiting.pop_front();
    Message::End& end = sends ? (*message)->sent : (*message)->received;
    end.has_come = std::make_shared<Mark>(Mark{stream, false, 0});
    end.known = true;
    end.numbers = numbers;
    end.count = count;
    end.type = type;
    runtime.Put(stream, {.reach = end.has_come});
    const int64_t bytes = static_cast<int64_t>(count * (type == ncclFloat ? 4 : 8));
    if (!runtime.Holds(comm->device, numbers, bytes))
      runtime.Violate(std::string(call) + " is given memory that is not of its device");
  };
  const auto go_on = [=](Runtime& runtime) {
    Message::End &sent = (*message)->sent, &received = (*message)->received;
    if (!*completes) return runtime.Put(stream, {.wait = (sends ? sent : received).goes_on});
    if (sent.count != received.count || sent.type != received.type)
      runtime.Violate("two members of a clique do not agree on a message");
    runtime.Put(stream, {.wait = (sends ? received : sent).has_come});
    runtime.Put(stream,
                {.act = [clique = comm->clique, all = *message, idle = runtime.options.idle] {
                  if (clique->aborted || idle) return;
                  std::memcpy(all->received.numbers, all->sent.numbers,
                              all->sent.count * (all->sent.type == ncclFloat ? 4 : 8));
                }});
    for (const auto& mark : {sent.goes_on, received.goes_on}) {
      mark->stream = stream;
      runtime.Put(stream, {.reach = mark});
    }
  };
  in_group.push_back({comm, come, go_on});
}

/// If the test asks for it, members wait for each other at their first exchange.
bool Connecting(const Runtime& runtime, const ncclComm* comm) {
  const Clique& clique = *comm->clique;
  return runtime.options.members_connect && !clique.connected.empty() &&
         clique.connected.size() < clique.members;
}

template <typename Add>
ncclResult_t Queue(const char* call, ncclComm* comm, size_t count, ncclDataType_t type,
                   const Add& add) {
  return Result(Enter({call, static_cast<int64_t>(count)}, [&](Runtime& runtime) {
    if (type != ncclFloat && type != ncclDouble) return cudaErrorNotSupported;
    if (!MayUse(runtime, comm)) return cudaErrorInvalidValue;
    if (groups == 0) runtime.Violate("NCCL is called outside of a group");
    add();
    return cudaSuccess;
  }));
}

ncclResult_t QueueRound(const char* call, ncclComm* comm, const Part& part, cudaStream_t stream) {
  return Queue(call, comm, part.count, part.type, [&] {
    in_group.push_back({comm, [=](Runtime& then) { Come(then, comm, part, stream); }});
  });
}

ncclResult_t QueueMessage(const char* call, bool sends, void* numbers, size_t count,
                          ncclDataType_t type, int peer, ncclComm* comm, cudaStream_t stream) {
  if (peer < 0 || peer >= static_cast<int>(comm->clique->members)) return ncclInvalidArgument;
  return Queue(call, comm, count, type,
               [&] { Pass(call, sends, numbers, count, type, peer, comm, stream); });
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
#ifdef LAYRUB_OLD_NCCL
  *version = 21304;
#else
  *version = 22304;
#endif
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "unhandled cuda error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return Result(Enter({"ncclGetUniqueId"}, [&](Runtime&) {
    std::memset(id, 0, sizeof *id);
    ++ids;
    std::memcpy(id, &ids, sizeof ids);
    return cudaSuccess;
  }));
}

#ifndef LAYRUB_OLD_NCCL
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int count, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return Result(Enter({"ncclCommInitRankConfig"}, [&](Runtime& runtime) {
    if (config->blocking != 0) runtime.Violate("calls of NCCL may wait for others");
    if (groups == 0) runtime.Violate("NCCL waits for ranks that come later");
    std::weak_ptr<Clique>& known = cliques[std::string(id.internal, sizeof id.internal)];
    std::shared_ptr<Clique> clique = known.lock();
    if (!clique) known = clique = std::make_shared<Clique>();
    clique->members = static_cast<size_t>(count);
    *comm = new ncclComm{clique, static_cast<size_t>(rank), current_device};
    alive.insert(*comm);
    return TakesMemoryLater() || TakeMemory(runtime, *comm) ? cudaSuccess
                                                            : cudaErrorMemoryAllocation;
  }));
}
#endif

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  return Result(Enter({"ncclCommGetAsyncError"}, [&](Runtime& runtime) {
    if (!MayUse(runtime, comm)) return cudaErrorInvalidValue;
    *error = Connecting(runtime, comm) ? ncclInProgress : ncclSuccess;
    return cudaSuccess;
  }));
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return Result(Enter({"ncclCommDestroy"}, [&](Runtime& runtime) {
    if (!MayUse(runtime, comm)) return cudaErrorInvalidValue;
    GiveBack(runtime, comm);
    return cudaSuccess;
  }));
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return Result(Enter({"ncclCommAbort"}, [&](Runtime& runtime) {
    if (!MayUse(runtime, comm)) return cudaErrorInvalidValue;
    comm->clique->aborted = true;
    for (const auto& round : comm->clique->rounds) round->goes_on[comm->rank]->happened = true;
    for (const auto& [members, messages] : comm->clique->messages) {
      for (const auto& message : messages) {
        if (members.first == comm->rank) message->sent.goes_on->happened = true;
        if (members.second == comm->rank) message->received.goes_on->happened = true;
      }
    }
    GiveBack(runtime, comm);
    return cudaSuccess;
  }));
}

ncclResult_t ncclGroupStart() {
  return Result(Enter({"ncclGroupStart"}, [](Runtime&) {
    ++groups;
    return cudaSuccess;
  }));
}

ncclResult_t ncclGroupEnd() {
  bool connecting = false;
  std::vector<Pending> all;
  if (--groups == 0) all.swap(in_group);  // even where it fails
  const ncclResult_t result = Result(Enter({"ncclGroupEnd"}, [&](Runtime& runtime) {
    for (const Pending& pending : all) {
      if (!MayUse(runtime, pending.comm)) return cudaErrorInvalidValue;
      if (!TakeMemory(runtime, pending.comm)) return cudaErrorMemoryAllocation;
      pending.comm->clique->connected.insert(pending.comm->rank);
      connecting |= Connecting(runtime, pending.comm);
      pending.come(runtime);
    }
    for (const Pending& pending : all) {
      if (pending.go_on) pending.go_on(runtime);
    }
    return cudaSuccess;
  }));
  return connecting ? ncclInProgress : result;
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  if (root != 0) return ncclInvalidArgument;
  return QueueRound("ncclBroadcast", comm, {Kind::kBroadcast, from, to, count, type}, stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  if (operation != ncclSum) return ncclInvalidArgument;
  return QueueRound("ncclAllReduce", comm, {Kind::kSum, from, to, count, type}, stream);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return QueueMessage("ncclSend", true, const_cast<void*>(from), count, type, peer, comm, stream);
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return QueueMessage("ncclRecv", false, to, count, type, peer, comm, stream);
}

}  // extern "C"
