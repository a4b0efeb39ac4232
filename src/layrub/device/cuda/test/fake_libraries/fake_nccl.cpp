// The part of NCCL that is called, as a shared library of its name: it adds up memory of the fake
// runtime's devices, on streams of that runtime, whose functions it takes from the program that
// opens it. With LAYRUB_OLD_NCCL, one from before there was ncclCommAbort.
#include <nccl.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "layrub/device/cuda/test/fake_streams.hpp"

namespace {

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

enum class Kind { kBroadcast, kSum };

/// What a member brings to a round.
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

/// What the members of a clique do together, on a stream of each.
struct Round {
  explicit Round(size_t members) : parts(members), goes_on(members) {
    for (auto& mark : goes_on) mark = std::make_shared<Mark>();
  }
  std::vector<Part> parts;                      ///< by rank
  std::vector<std::shared_ptr<Mark>> has_come;  ///< in the order in which they came
  std::vector<std::shared_ptr<Mark>> goes_on;   ///< by rank
};

struct Clique {
  size_t members = 0;
  bool aborted = false;
  std::vector<std::shared_ptr<Round>> rounds;
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

thread_local int groups = 0;                                       ///< that are open
thread_local std::vector<std::function<void(Runtime&)>> in_group;  ///< what waits for their end

}  // namespace

struct ncclComm {
  std::shared_ptr<Clique> clique;
  size_t rank = 0;
  int device = 0;
  size_t rounds = 0;  ///< it has come to
};

namespace {

/// Member `comm` comes to its next round: the last one to come does the work.
void Come(Runtime& runtime, ncclComm* comm, const Part& part, cudaStream_t stream) {
  const std::shared_ptr<Clique> clique = comm->clique;
  if (stream->device != comm->device)
    runtime.Violate("NCCL is given a stream of another device");
  const size_t number = comm->rounds++;
  if (clique->rounds.size() == number)
    clique->rounds.push_back(std::make_shared<Round>(clique->members));
  const std::shared_ptr<Round> round = clique->rounds[number];
  round->parts[comm->rank] = part;
  round->has_come.push_back(std::make_shared<Mark>(Mark{stream, false, 0}));
  stream->queue.push_back({.reach = round->has_come.back()});
  if (round->has_come.size() < clique->members) {
    stream->queue.push_back({.wait = round->goes_on[comm->rank]});
    return;
  }
  for (const Part& other : round->parts) {
    if (!Match(part, other)) runtime.Violate("members of a clique do not agree");
  }
  for (const auto& mark : round->has_come) stream->queue.push_back({.wait = mark});
  stream->queue.push_back({.act = [clique, round] {
    if (clique->aborted) return;
    round->parts[0].type == ncclFloat ? Combine<float>(round->parts)
                                      : Combine<double>(round->parts);
  }});
  for (const auto& mark : round->goes_on) {
    mark->stream = stream;
    stream->queue.push_back({.reach = mark});
  }
}

ncclResult_t Queue(const char* call, ncclComm* comm, const Part& part, cudaStream_t stream) {
  return Result(Enter({call, static_cast<int64_t>(part.count)}, [&](Runtime& runtime) {
    if (part.type != ncclFloat && part.type != ncclDouble) return cudaErrorNotSupported;
    in_group.push_back([=](Runtime& then) { Come(then, comm, part, stream); });
    if (groups == 0) runtime.Violate("NCCL is called outside of a group");
    return cudaSuccess;
  }));
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
#ifdef LAYRUB_OLD_NCCL
  *version = 2307;
#else
  *version = 22304;
#endif
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "unhandled cuda error";
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  return Result(Enter({"ncclCommInitAll"}, [&](Runtime& runtime) {
    const auto clique = std::make_shared<Clique>();
    clique->members = static_cast<size_t>(count);
    for (int rank = 0; rank < count; ++rank) {
      if (devices[rank] >= runtime.options.devices) return cudaErrorInvalidDevice;
      comms[rank] = new ncclComm{clique, static_cast<size_t>(rank), devices[rank]};
    }
    return cudaSuccess;
  }));
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return Result(Enter({"ncclCommDestroy"}, [](Runtime&) { return cudaSuccess; }));
}

#ifndef LAYRUB_OLD_NCCL
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::unique_ptr<ncclComm> ended(comm);
  return Result(Enter({"ncclCommAbort"}, [&](Runtime&) {
    comm->clique->aborted = true;
    for (const auto& round : comm->clique->rounds) round->goes_on[comm->rank]->happened = true;
    return cudaSuccess;
  }));
}
#endif

ncclResult_t ncclGroupStart() {
  return Result(Enter({"ncclGroupStart"}, [](Runtime&) {
    ++groups;
    return cudaSuccess;
  }));
}

ncclResult_t ncclGroupEnd() {
  return Result(Enter({"ncclGroupEnd"}, [](Runtime& runtime) {
    if (--groups > 0) return cudaSuccess;
    for (const auto& come : in_group) come(runtime);
    in_group.clear();
    return cudaSuccess;
  }));
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  if (root != 0) return ncclInvalidArgument;
  return Queue("ncclBroadcast", comm, {Kind::kBroadcast, from, to, count, type}, stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  if (operation != ncclSum) return ncclInvalidArgument;
  return Queue("ncclAllReduce", comm, {Kind::kSum, from, to, count, type}, stream);
}

}  // extern "C"
