#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/nccl_library.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/device/cuda/test/fake_streams.hpp"
#include "layrub/device/failure.hpp"

// GPUs that exchange values by NCCL, on a fake of CUDA's runtime and a fake of NCCL, which is found
// in the program's own search path: is the library found, or said what is wrong with it; are the
// sums ordered with what the GPUs compute; and what happens when something fails?
namespace layrub {
namespace {

using fake_cuda::Alive;
using fake_cuda::Pace;

constexpr int kMembers = 3;
constexpr int64_t kCount = 100;
constexpr char kOldFile[] = "libold_nccl.so.2";

/// What member `rank` has computed in `round`.
float Part(int rank, int round, int64_t i) {
  return static_cast<float>(rank * 1000 + round * 10 + i % 7);
}

int TimesCalled(const std::string& name) {
  const std::vector<fake_cuda::Call> calls = fake_cuda::Calls();
  return static_cast<int>(std::count_if(calls.begin(), calls.end(),
                                        [&](const auto& call) { return call.name == name; }));
}

/// GPUs that have an array each.
struct Gpus {
  explicit Gpus(int count = kMembers) {
    for (int id = 0; id < count; ++id) {
      devices.push_back(std::make_unique<CudaDevice>(id));
      values.push_back(static_cast<float*>(devices.back()->Allocate(kBytes)));
    }
  }
  ~Gpus() {
    for (size_t id = 0; id < devices.size(); ++id) devices[id]->Free(values[id]);
  }
  std::vector<Device*> list() const {
    std::vector<Device*> all;
    for (const auto& device : devices) all.push_back(device.get());
    return all;
  }
  /// A kernel that writes the part of `round`, which is done when it is done.
  void Compute(int id, int round) {
    devices[id]->MakeCurrent();
    fake_cuda::Launch([array = values[id], id, round] {
      for (int64_t i = 0; i < kCount; ++i) array[i] = Part(id, round, i);
    });
  }
  /// A kernel that adds to `sums` what there is then.
  void Collect(int id, std::vector<float>* sums) {
    devices[id]->MakeCurrent();
    fake_cuda::Launch([array = values[id], sums] {
      for (int64_t i = 0; i < kCount; ++i) sums->push_back(array[i]);
    });
  }
  void Synchronize() {
    for (const auto& device : devices) device->Synchronize();
  }

  static constexpr int64_t kBytes = kCount * int64_t{sizeof(float)};
  std::vector<std::unique_ptr<CudaDevice>> devices;
  std::vector<float*> values;
};

/// Runs `body(rank)` for each member in a thread of its own.
void ForEach(size_t members, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < members; ++rank)
    threads.emplace_back([&body, rank] { body(static_cast<int>(rank)); });
  for (std::thread& thread : threads) thread.join();
}

/// Members compute and sum in turns; true: each had every sum, and what came after it came after
/// it.
bool SumsAreRight(bool threads) {
  constexpr int kRounds = 3;
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  if (group.size() != kMembers) return false;
  std::vector<std::vector<float>> sums(kMembers);
  const auto turn = [&](int rank, int round) {
    gpus.Compute(rank, round);
    group[rank]->Sum({{gpus.values[rank], 40}, {gpus.values[rank] + 40, kCount - 40}});
    group[rank]->Wait();
    gpus.Collect(rank, &sums[rank]);
  };
  if (threads) {
    ForEach(kMembers, [&](int rank) {
      for (int round = 0; round < kRounds; ++round) turn(rank, round);
    });
  } else {
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < kMembers; ++rank) turn(rank, round);
    }
  }
  gpus.Synchronize();
  std::vector<float> expected;
  for (int round = 0; round < kRounds; ++round) {
    for (int64_t i = 0; i < kCount; ++i)
      expected.push_back(Part(0, round, i) + Part(1, round, i) + Part(2, round, i));
  }
  return std::all_of(sums.begin(), sums.end(), [&](const auto& all) { return all == expected; });
}

class NcclTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLAGS_minloglevel = google::GLOG_WARNING;  // each group tells of its library
    fake_cuda::Reset({.devices = kMembers});
  }
  void TearDown() override {
    EXPECT_EQ(fake_cuda::WhatIsAlive(), Alive());
    EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>());
    EXPECT_EQ(TimesCalled("ncclCommInitRankConfig"),
              TimesCalled("ncclCommDestroy") + TimesCalled("ncclCommAbort"));
    fake_cuda::Reset();
  }
};

TEST_F(NcclTest, SumsWhatHasBeenComputedForWhatIsComputedNext) {
  for (const bool threads : {false, true}) {
    for (const Pace pace : {Pace::kEarly, Pace::kLate, Pace::kRandom}) {
      for (uint32_t seed = 0; seed < (pace == Pace::kRandom ? 20 : 1); ++seed) {
        fake_cuda::Reset({.devices = kMembers, .pace = pace, .seed = seed});
        EXPECT_TRUE(SumsAreRight(threads)) << threads << " " << static_cast<int>(pace) << seed;
      }
    }
  }
}

TEST_F(NcclTest, NoWaitOfAStreamCanBeLeftOut) {
  int waits = 0;
  fake_cuda::Reset({.devices = kMembers, .drop_wait = [&waits](int) { return ++waits < 0; }});
  EXPECT_TRUE(SumsAreRight(false));
  EXPECT_EQ(waits, 2 * 3 * kMembers);  // for a sum, and for what comes after it
  for (int left_out = 0; left_out < waits; ++left_out) {
    bool shows = false;
    for (uint32_t seed = 0; seed < 1000 && !shows; ++seed) {
      fake_cuda::Reset({.devices = kMembers,
                        .pace = Pace::kRandom,
                        .seed = seed,
                        .drop_wait = [left_out](int wait) { return wait == left_out; }});
      shows = !SumsAreRight(false);
    }
    EXPECT_TRUE(shows) << left_out;
  }
}

TEST_F(NcclTest, BroadcastsTheValuesOfRank0) {
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  std::vector<float> got[kMembers];
  ForEach(kMembers, [&](int rank) {
    gpus.Compute(rank, 0);
    const int64_t pairs = kCount / 2;
    group[rank]->Broadcast({{gpus.values[rank], pairs, Element::kDouble}});
    group[rank]->Wait();
    gpus.Collect(rank, &got[rank]);
  });
  gpus.Synchronize();
  for (const std::vector<float>& values : got) {
    ASSERT_EQ(values.size(), size_t{kCount});
    for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(values[i], Part(0, 0, i)) << i;
  }
}

TEST_F(NcclTest, NoCallWaitsOnTheHost) {
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  fake_cuda::ForgetCalls();
  for (const auto& member : group) {
    member->Sum({{gpus.values[member->rank()], kCount}});
    member->Wait();
  }
  for (const char* call : {"cudaStreamSynchronize", "cudaEventSynchronize", "cudaMemcpy"})
    EXPECT_EQ(TimesCalled(call), 0) << call;
  EXPECT_EQ(TimesCalled("ncclAllReduce"), kMembers);
  group.clear();
  fake_cuda::ForgetCalls();
}

TEST_F(NcclTest, AWaitOnTheHostIsForTheSumsOfAllMembers) {
  fake_cuda::Reset({.devices = kMembers, .strict = true});
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  ForEach(kMembers, [&](int rank) {
    gpus.Compute(rank, 0);
    group[rank]->Sum({{gpus.values[rank], kCount}});
    group[rank]->Synchronize();
    EXPECT_EQ(gpus.values[rank][5], Part(0, 0, 5) + Part(1, 0, 5) + Part(2, 0, 5));
  });
}

TEST_F(NcclTest, AnAbortEndsAWaitOnTheHost) {
  std::atomic<bool> waits = false;
  fake_cuda::Reset({.devices = kMembers, .strict = true, .before = [&](const std::string& call) {
                      if (call == "cudaStreamSynchronize") waits = true;
                    }});
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  std::thread member([&] {
    group[0]->Sum({{gpus.values[0], kCount}});
    EXPECT_THROW(group[0]->Synchronize(), GroupFailed);
  });
  while (!waits) std::this_thread::yield();
  group[1]->Abort("out of paper");
  member.join();
}

TEST_F(NcclTest, ItsMemoryIsTakenWhenItConnectsAndBeyondWhatLibrariesAreExpectedToTake) {
  constexpr int64_t kTaken = int64_t{7} << 20;
  fake_cuda::Reset({.devices = kMembers, .nccl_bytes = kTaken});
  Gpus gpus;
  std::vector<DeviceUsage> before;
  for (Device* const gpu : gpus.list()) before.push_back(gpu->Usage());
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  const auto taken = [&](int rank) { return gpus.devices[rank]->Usage(); };
  for (int rank = 0; rank < kMembers; ++rank) {
    EXPECT_EQ(taken(rank).library_bytes - before[rank].library_bytes, kTaken);
    EXPECT_EQ(taken(rank).overhead_bytes() - before[rank].overhead_bytes(), kTaken);
  }
  for (const auto& member : group) member->Sum({{gpus.values[member->rank()], kCount}});
  for (const auto& member : group) member->Wait();
  gpus.Synchronize();
  for (int rank = 0; rank < kMembers; ++rank)
    EXPECT_EQ(taken(rank).library_bytes - before[rank].library_bytes, kTaken);
  group.clear();
  for (int rank = 0; rank < kMembers; ++rank)
    EXPECT_EQ(taken(rank).overhead_bytes(), before[rank].overhead_bytes());
}

TEST_F(NcclTest, SeveralGpusAreConnectedByItAndOneByNothing) {
  Gpus gpus;
  EXPECT_EQ(Connect({gpus.devices[0].get()})[0]->device(), gpus.devices[0].get());
  EXPECT_EQ(TimesCalled("ncclCommInitRankConfig"), 0);
  const Group group = Connect(gpus.list());
  EXPECT_EQ(TimesCalled("ncclCommInitRankConfig"), kMembers);
  ASSERT_EQ(group.size(), size_t{kMembers});
  for (int rank = 0; rank < kMembers; ++rank) {
    EXPECT_EQ(group[rank]->rank(), rank);
    EXPECT_EQ(group[rank]->size(), kMembers);
    EXPECT_EQ(group[rank]->device(), gpus.devices[rank].get());
  }
}

TEST_F(NcclTest, AMissingLibraryIsNamedAndSoIsTheRemedy) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl("libnccl_of_nobody.so.2", &why_not));
  EXPECT_EQ(why_not.find("NCCL was not found (libnccl_of_nobody.so.2: cannot open"), size_t{0})
      << why_not;
  EXPECT_NE(why_not.find("pip install nvidia-nccl-cu"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("libnccl.so.2 in LD_LIBRARY_PATH"), std::string::npos) << why_not;
  EXPECT_EQ(std::count(why_not.begin(), why_not.end(), '\n'), 0);
}

TEST_F(NcclTest, ALibraryThatIsTooOldIsNamedAndSoIsWhatItLacks) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl(kOldFile, &why_not));
  EXPECT_NE(why_not.find("NCCL 2.13.4 is too old"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("libold_nccl.so.2 has no ncclCommInitRankConfig"), std::string::npos)
      << why_not;
  EXPECT_NE(why_not.find("install NCCL 2.14 or newer"), std::string::npos) << why_not;
}

TEST_F(NcclTest, ALibraryOfSomethingElseWillNotDo) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl("libm.so.6", &why_not));
  EXPECT_NE(why_not.find("libm.so.6 has no ncclGetVersion"), std::string::npos) << why_not;
}

TEST_F(NcclTest, OpensItInSeveralThreadsAndTellsItsVersion) {
  ForEach(8, [](int) {
    std::string why_not;
    const std::optional<Nccl> nccl = OpenNccl(kNcclFile, &why_not);
    ASSERT_TRUE(nccl) << why_not;
    EXPECT_EQ(VersionOf(*nccl), "2.23.4");
  });
}

TEST_F(NcclTest, AnAbortEndsAllWaits) {
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  group[0]->Sum({{gpus.values[0], kCount}});
  group[0]->Wait();
  group[1]->Abort("out of paper");
  group[1]->Abort("too late");
  for (const auto& member : group) {
    try {
      member->Sum({{gpus.values[member->rank()], kCount}});
      FAIL() << member->rank();
    } catch (const GroupFailed& failure) {
      EXPECT_STREQ(failure.what(), "out of paper");
    }
    EXPECT_THROW(member->Wait(), GroupFailed);
  }
  gpus.Synchronize();
  EXPECT_EQ(TimesCalled("ncclCommAbort"), kMembers);
}

TEST_F(NcclTest, FailsWhenAMemberLeavesInTheMiddle) {
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  group[0]->Sum({{gpus.values[0], kCount}});
  group[0].reset();
  EXPECT_THROW(group[1]->Wait(), GroupFailed);
}

/// Lets one thread wait in a call until another one lets it go on.
class Gate {
 public:
  void Pass() {
    std::unique_lock lock(mutex_);
    reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_; });
  }
  void AwaitSomebody() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return reached_; });
  }
  void Open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool reached_ = false, open_ = false;
};

/// Why the group of `member` has ended; empty: it has not.
std::string WhyItHasEnded(Communicator* member) {
  try {
    member->Wait();
  } catch (const GroupFailed& failure) {
    return failure.what();
  }
  return "";
}

TEST_F(NcclTest, AnAbortWaitsForAMemberThatIsAboutToCall) {
  for (const std::string held : {"ncclGroupStart", "ncclAllReduce", "ncclGroupEnd"}) {
    SCOPED_TRACE(held);
    Gate gate;
    std::atomic<bool> holds = false;
    fake_cuda::Reset({.devices = kMembers, .before = [&](const std::string& call) {
                        if (call == held && holds.exchange(false)) gate.Pass();
                      }});
    Gpus gpus;
    std::string why_not;
    Group group = ConnectGpus(gpus.list(), &why_not);
    holds = true;
    std::thread member([&] {
      try {
        group[0]->Sum({{gpus.values[0], kCount}});
      } catch (const GroupFailed& failure) {
        EXPECT_STREQ(failure.what(), "out of paper");
      }
    });
    gate.AwaitSomebody();
    std::thread other([&] { group[1]->Abort("out of paper"); });
    while (WhyItHasEnded(group[2].get()).empty()) std::this_thread::yield();
    EXPECT_EQ(TimesCalled("ncclCommAbort"), 0) << "that one is first in turn";
    gate.Open();
    other.join();
    member.join();
    EXPECT_EQ(TimesCalled("ncclCommAbort"), kMembers);
    EXPECT_EQ(fake_cuda::Violations(), std::vector<std::string>());
    EXPECT_THROW(group[0]->Sum({{gpus.values[0], kCount}}), GroupFailed);
  }
}

TEST_F(NcclTest, SumsAreRightWhereMembersHaveToConnectFirst) {
  fake_cuda::Reset({.devices = kMembers, .members_connect = true});
  EXPECT_TRUE(SumsAreRight(true));
}

TEST_F(NcclTest, AnAbortEndsAMemberThatWaitsForTheOthersToConnect) {
  fake_cuda::Reset({.devices = kMembers, .members_connect = true});
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  const int asked = TimesCalled("ncclCommGetAsyncError");
  std::thread member([&] {
    try {
      group[0]->Sum({{gpus.values[0], kCount}});
      ADD_FAILURE() << "the others have not come";
    } catch (const GroupFailed& failure) {
      EXPECT_STREQ(failure.what(), "out of paper");
    }
  });
  while (TimesCalled("ncclCommGetAsyncError") < asked + 3) std::this_thread::yield();
  group[1]->Abort("out of paper");
  member.join();
}

TEST_F(NcclTest, AllMembersMayEndTheGroupAtOnce) {
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  ForEach(kMembers, [&](int rank) {
    group[rank]->Abort("member " + std::to_string(rank) + " has had enough");
    EXPECT_EQ(TimesCalled("ncclCommAbort"), kMembers) << "whoever comes second waits for the first";
    EXPECT_NE(WhyItHasEnded(group[rank].get()).find("has had enough"), std::string::npos);
  });
}

TEST_F(NcclTest, ACallThatFailsAsAnotherEndsTheGroupGivesTheOthersReason) {
  Gate gate;
  std::atomic<bool> holds = false, fails = false;
  fake_cuda::Reset({.devices = kMembers,
                    .fail =
                        [&](const std::string& call) {
                          return call == "ncclGroupEnd" && fails ? cudaErrorUnknown : cudaSuccess;
                        },
                    .before =
                        [&](const std::string& call) {
                          if (call == "ncclGroupEnd" && holds.exchange(false)) gate.Pass();
                        }});
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  holds = true;
  fails = true;
  std::thread member([&] {
    try {
      group[0]->Sum({{gpus.values[0], kCount}});
      ADD_FAILURE();
    } catch (const GroupFailed& failure) {
      EXPECT_STREQ(failure.what(), "out of paper");
    }
  });
  gate.AwaitSomebody();
  std::thread other([&] { group[1]->Abort("out of paper"); });
  while (WhyItHasEnded(group[2].get()).empty()) std::this_thread::yield();
  gate.Open();
  member.join();
  other.join();
}

[[noreturn]] void ThrowIt(const char*, int, const std::string& message) {
  throw std::runtime_error(message);
}

TEST_F(NcclTest, WhereItFindsNoMemoryTheMessageSaysWhatHelps) {
  fake_cuda::Reset({.devices = kMembers, .nccl_bytes = int64_t{1} << 40});
  SetFailureHandler(ThrowIt);
  Gpus gpus;
  std::string why_not, message;
  try {
    ConnectGpus(gpus.list(), &why_not);
  } catch (const std::exception& error) {
    message = error.what();
  }
  SetFailureHandler(nullptr);
  EXPECT_NE(message.find("smaller --device_memory"), std::string::npos) << message;
}

TEST_F(NcclTest, ACallThatFailsInTheMiddleOfAGroupClosesIt) {
  SetFailureHandler(ThrowIt);
  for (const std::string failing : {"ncclAllReduce", "ncclGroupEnd"}) {
    SCOPED_TRACE(failing);
    int made = 0, failing_time = 2;
    if (failing == "ncclGroupEnd") failing_time = 1;
    bool fails = false;
    fake_cuda::Reset({.devices = kMembers, .fail = [&](const std::string& call) {
                        return fails && call == failing && ++made == failing_time ? cudaErrorUnknown
                                                                                  : cudaSuccess;
                      }});
    Gpus gpus;
    std::string why_not;
    Group group = ConnectGpus(gpus.list(), &why_not);
    const auto sum = [&] { group[0]->Sum({{gpus.values[0], 40}, {gpus.values[0] + 40, 60}}); };
    fake_cuda::ForgetCalls();
    fails = true;
    EXPECT_THROW(sum(), std::runtime_error);
    EXPECT_EQ(TimesCalled("ncclGroupStart"), TimesCalled("ncclGroupEnd"));
    group[1]->Abort("out of paper");
    fails = false;
    group.clear();
    fake_cuda::ForgetCalls();
  }
  SetFailureHandler(nullptr);
}

TEST_F(NcclTest, ACallThatFailsEndsTheProgramNamingIt) {
  for (const std::string call :
       {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclCommGetAsyncError", "ncclGroupStart",
        "ncclAllReduce", "ncclBroadcast", "ncclGroupEnd"}) {
    EXPECT_DEATH(
        {
          fake_cuda::Reset({.devices = kMembers, .fail = [&](const std::string& made) {
                              return made == call ? cudaErrorUnknown : cudaSuccess;
                            }});
          Gpus gpus;
          std::string why_not;
          Group group = ConnectGpus(gpus.list(), &why_not);
          group[0]->Sum({{gpus.values[0], kCount}});
          group[0]->Broadcast({{gpus.values[0], kCount}});
        },
        call + ": unhandled cuda error");
  }
}

TEST_F(NcclTest, AMemberThatCannotBeMadeLeavesNothingBehind) {
  SetFailureHandler(ThrowIt);
  int taken = 0, failing = -1;
  fake_cuda::Reset({.devices = kMembers, .fail = [&](const std::string& call) {
                      const bool takes =
                          call == "cudaEventCreate" || call == "cudaStreamCreateWithFlags";
                      return takes && taken++ == failing ? cudaErrorMemoryAllocation : cudaSuccess;
                    }});
  const Gpus gpus;
  std::string why_not;
  taken = 0;
  ConnectGpus(gpus.list(), &why_not);
  const int count = std::exchange(taken, 0);
  EXPECT_EQ(count, 3 * kMembers);
  const Alive before = fake_cuda::WhatIsAlive();
  for (failing = 0; failing < count; ++failing) {
    taken = 0;
    EXPECT_THROW(ConnectGpus(gpus.list(), &why_not), std::runtime_error) << failing;
    EXPECT_EQ(fake_cuda::WhatIsAlive(), before) << failing;
  }
  failing = -1;
  SetFailureHandler(nullptr);
}

}  // namespace
}  // namespace layrub
