#include "layrub/device/cuda/test/nccl_group.hpp"

// Whether NCCL's library is found, or the error is explained, and whether sums are ordered with
// what the GPUs compute.
namespace layrub {
namespace {

using fake_cuda::Pace;
// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::testing;

constexpr char kOldFile[] = "libold_nccl.so.2";

/// Lets members compute and sum in turn. Returns whether each got every sum, in the right order
/// with its kernels.
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

TEST_F(NcclTest, OrdersSumsWithTheKernelsBeforeAndAfter) {
  for (const bool threads : {false, true}) {
    for (const Pace pace : {Pace::kEarly, Pace::kLate, Pace::kRandom}) {
      for (uint32_t seed = 0; seed < (pace == Pace::kRandom ? 20 : 1); ++seed) {
        fake_cuda::Reset({.devices = kMembers, .pace = pace, .seed = seed});
        EXPECT_TRUE(SumsAreRight(threads)) << threads << " " << static_cast<int>(pace) << seed;
      }
    }
  }
}

TEST_F(NcclTest, EveryStreamWaitIsNeeded) {
  int waits = 0;
  fake_cuda::Reset({.devices = kMembers, .drop_wait = [&waits](int) { return ++waits < 0; }});
  EXPECT_TRUE(SumsAreRight(false));
  EXPECT_EQ(waits, 2 * 3 * kMembers);  // for a sum, and for the work after it
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

/// Lets each member compute, and send the first half of its values to all others, which receive it
/// in their second half. Returns whether each got all of them, in the right order with its kernels.
bool MessagesAreRight(bool threads) {
  constexpr int kRounds = 3;
  constexpr int64_t kPart = kCount / (2 * (kMembers - 1));
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  std::vector<std::vector<float>> got(kMembers), expected(kMembers);
  const auto turn = [&](int rank, int round) {
    gpus.Compute(rank, round);
    std::vector<Parcel> sent, received;
    for (int other = 0; other < kMembers; ++other) {
      if (other == rank) continue;
      const auto place = static_cast<int64_t>(received.size());
      sent.push_back({other, {gpus.values[rank], kPart}});
      received.push_back({other, {gpus.values[rank] + kCount / 2 + place * kPart, kPart}});
    }
    group[rank]->Exchange(sent, received);
    group[rank]->Wait();
    gpus.Collect(rank, &got[rank]);
  };
  const auto all_rounds = [&](int rank) {
    for (int round = 0; round < kRounds; ++round) turn(rank, round);
  };
  if (threads) {
    ForEach(kMembers, all_rounds);
  } else {
    for (int round = 0; round < kRounds; ++round) {
      for (int rank = 0; rank < kMembers; ++rank) turn(rank, round);
    }
  }
  gpus.Synchronize();
  for (int rank = 0; rank < kMembers; ++rank) {
    for (int round = 0; round < kRounds; ++round) {
      std::vector<float> values;
      for (int64_t i = 0; i < kCount; ++i) values.push_back(Part(rank, round, i));
      int64_t at = kCount / 2;
      for (int other = 0; other < kMembers; ++other) {
        for (int64_t i = 0; i < kPart && other != rank; ++i) values[at++] = Part(other, round, i);
      }
      expected[rank].insert(expected[rank].end(), values.begin(), values.end());
    }
  }
  return got == expected;
}

TEST_F(NcclTest, OrdersMessagesWithTheKernelsBeforeAndAfter) {
  for (const bool threads : {false, true}) {
    for (uint32_t seed = 0; seed < 40; ++seed) {
      const Pace pace = seed == 0 ? Pace::kEarly : seed == 1 ? Pace::kLate : Pace::kRandom;
      fake_cuda::Reset({.devices = kMembers, .pace = pace, .seed = seed});
      EXPECT_TRUE(MessagesAreRight(threads)) << threads << " " << seed;
    }
  }
}

TEST_F(NcclTest, MessagesAreRightIfMembersHaveToConnectFirst) {
  fake_cuda::Reset({.devices = kMembers, .members_connect = true});
  EXPECT_TRUE(MessagesAreRight(true));
}

TEST_F(NcclTest, MembersSynchronizeWithTheirMessages) {
  fake_cuda::Reset({.devices = kMembers, .strict = true});
  Gpus gpus;
  std::string why_not;
  Group group = ConnectGpus(gpus.list(), &why_not);
  ForEach(2, [&](int rank) {
    gpus.Compute(rank, 0);
    group[rank]->Exchange({{1 - rank, {gpus.values[rank], 10}}},
                          {{1 - rank, {gpus.values[rank] + 10, 10}}});
    group[rank]->Synchronize();
    EXPECT_EQ(gpus.values[rank][15], Part(1 - rank, 0, 5));
  });
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

TEST_F(NcclTest, NoCallBlocksTheHost) {
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

TEST_F(NcclTest, SynchronizeWaitsForTheSums) {
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

TEST_F(NcclTest, TakesItsMemoryWhenItConnectsAndAddsItToTheOverhead) {
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

TEST_F(NcclTest, ConnectUsesItForSeveralGpusOnly) {
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

TEST_F(NcclTest, NamesAMissingLibraryAndTheRemedy) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl("libnccl_of_nobody.so.2", &why_not));
  EXPECT_EQ(why_not.find("NCCL was not found (libnccl_of_nobody.so.2: cannot open"), size_t{0})
      << why_not;
  EXPECT_NE(why_not.find("pip install nvidia-nccl-cu"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("libnccl.so.2 in LD_LIBRARY_PATH"), std::string::npos) << why_not;
  EXPECT_EQ(std::count(why_not.begin(), why_not.end(), '\n'), 0);
}

TEST_F(NcclTest, NamesAnOldLibraryAndWhatItLacks) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl(kOldFile, &why_not));
  EXPECT_NE(why_not.find("NCCL 2.13.4 is too old"), std::string::npos) << why_not;
  EXPECT_NE(why_not.find("libold_nccl.so.2 has no ncclCommInitRankConfig"), std::string::npos)
      << why_not;
  EXPECT_NE(why_not.find("install NCCL 2.14 or newer"), std::string::npos) << why_not;
}

TEST_F(NcclTest, RefusesAnUnrelatedLibrary) {
  std::string why_not;
  EXPECT_FALSE(OpenNccl("libm.so.6", &why_not));
  EXPECT_NE(why_not.find("libm.so.6 has no ncclGetVersion"), std::string::npos) << why_not;
}

TEST_F(NcclTest, OpensInSeveralThreadsAndTellsTheVersion) {
  ForEach(8, [](int) {
    std::string why_not;
    const std::optional<Nccl> nccl = OpenNccl(kNcclFile, &why_not);
    ASSERT_TRUE(nccl) << why_not;
    EXPECT_EQ(VersionOf(*nccl), "2.23.4");
  });
}

TEST_F(NcclTest, SumsAreRightIfMembersHaveToConnectFirst) {
  fake_cuda::Reset({.devices = kMembers, .members_connect = true});
  EXPECT_TRUE(SumsAreRight(true));
}

}  // namespace
}  // namespace layrub
