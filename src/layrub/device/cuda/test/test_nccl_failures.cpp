#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "layrub/device/cuda/test/nccl_group.hpp"
#include "layrub/device/test/failures_throw.hpp"

// How a group of GPUs ends when a member aborts it or leaves, or when a call fails.
namespace layrub {
namespace {

using fake_cuda::Alive;
// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

TEST_F(NcclTest, AbortEndsSynchronize) {
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

TEST_F(NcclTest, AbortEndsAllWaits) {
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

/// Holds one thread in a call until another thread opens the gate.
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

/// Returns why the group of `member` has ended, or "" if it has not.
std::string WhyItHasEnded(Communicator* member) {
  try {
    member->Wait();
  } catch (const GroupFailed& failure) {
    return failure.what();
  }
  return "";
}

TEST_F(NcclTest, AbortWaitsForAMemberThatIsAboutToCall) {
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

TEST_F(NcclTest, AbortEndsAMemberThatWaitsForOthersToConnect) {
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

TEST_F(NcclTest, ReportsTheReasonOfTheMemberThatEndedTheGroup) {
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

TEST_F(NcclTest, OutOfMemoryMessageNamesTheRemedy) {
  fake_cuda::Reset({.devices = kMembers, .nccl_bytes = int64_t{1} << 40});
  Gpus gpus;
  std::string why_not;
  const std::string message = FailureOf([&] { ConnectGpus(gpus.list(), &why_not); });
  EXPECT_NE(message.find("smaller --device_memory"), std::string::npos) << message;
}

TEST_F(NcclTest, FailedCallInsideANcclGroupClosesIt) {
  const FailuresThrow throws;
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
}

TEST_F(NcclTest, FailedCallEndsTheProgramAndIsNamed) {
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
  const FailuresThrow throws;
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
}

}  // namespace
}  // namespace layrub
