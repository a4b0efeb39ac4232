// Threads that exchange values.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "layrub/device/communicator.hpp"

namespace layrub {
namespace {

constexpr int64_t kCount = 40000;  // more values than are summed at a time

/// Runs `body` for each member in a thread of its own.
void ForEach(Group* group, const std::function<void(Communicator*)>& body) {
  std::vector<std::thread> threads;
  for (auto& member : *group) threads.emplace_back([&body, &member] { body(member.get()); });
  for (std::thread& thread : threads) thread.join();
}

float Part(int rank, int64_t i) { return static_cast<float>((rank * 31 + i * 7) % 1000) / 997.0f; }

TEST(Communicator, SumsInTheOrderOfRanks) {
  Group group = ConnectThreads(std::vector<Device*>(3));
  std::vector<std::vector<float>> values(3, std::vector<float>(kCount));
  ForEach(&group, [&](Communicator* member) {
    std::vector<float>& mine = values[member->rank()];
    for (int64_t i = 0; i < kCount; ++i) mine[i] = Part(member->rank(), i);
    member->Sum({{mine.data(), 100}, {mine.data() + 100, kCount - 100}});
    member->Wait();
  });
  for (int64_t i = 0; i < kCount; ++i) {
    const float sum = (Part(0, i) + Part(1, i)) + Part(2, i);
    for (int rank = 0; rank < 3; ++rank) ASSERT_EQ(values[rank][i], sum) << rank << " " << i;
  }
}

TEST(Communicator, BroadcastsTheValuesOfRank0) {
  Group group = ConnectThreads(std::vector<Device*>(2));
  std::vector<double> values[2] = {std::vector<double>(kCount, 0.125),
                                   std::vector<double>(kCount, 3)};
  ForEach(&group, [&](Communicator* member) {
    member->Broadcast({{values[member->rank()].data(), kCount, Element::kDouble}});
    member->Wait();
  });
  EXPECT_EQ(values[0], std::vector<double>(kCount, 0.125));
  EXPECT_EQ(values[1], values[0]);
}

TEST(Communicator, SumReturnsBeforeTheOtherMembersCallIt) {
  Group group = ConnectThreads(std::vector<Device*>(2));
  float values[2] = {1, 2};
  group[0]->Sum({{&values[0], 1}});
  group[0]->Sum({{&values[0], 1}});
  group[1]->Sum({{&values[1], 1}});
  group[1]->Wait();
  group[1]->Sum({{&values[1], 1}});
  for (auto& member : group) member->Wait();
  EXPECT_EQ(values[0], 6);
  EXPECT_EQ(values[1], 6);
}

TEST(Communicator, SingleMemberLeavesValuesUnchanged) {
  Group group = ConnectThreads(std::vector<Device*>(1));
  float value = 3;
  group[0]->Sum({{&value, 1}});
  group[0]->Wait();
  EXPECT_EQ(value, 3);
}

TEST(Communicator, SumsValuesOnDevices) {
  const std::unique_ptr<Device> devices[] = {MakeEmulatedDevice(1 << 20),
                                             MakeEmulatedDevice(1 << 20)};
  Group group = ConnectThreads({devices[0].get(), devices[1].get(), nullptr});
  constexpr int64_t kBytes = kCount * int64_t{sizeof(float)};
  std::vector<std::vector<float>> values(3, std::vector<float>(kCount));
  ForEach(&group, [&](Communicator* member) {
    std::vector<float>& mine = values[member->rank()];
    for (int64_t i = 0; i < kCount; ++i) mine[i] = Part(member->rank(), i);
    Device* const device = member->device();
    void* const there = device ? device->Allocate(kBytes) : mine.data();
    if (device) device->Copy(there, mine.data(), kBytes);
    member->Sum({{there, kCount}});
    member->Wait();
    if (device) device->Copy(mine.data(), there, kBytes);
  });
  EXPECT_EQ(values[0][7], (Part(0, 7) + Part(1, 7)) + Part(2, 7));
  EXPECT_EQ(values[0], values[2]);
  EXPECT_EQ(values[1], values[2]);
}

TEST(Communicator, AnAbortEndsAllWaits) {
  Group group = ConnectThreads(std::vector<Device*>(3));
  std::vector<float> values(3);
  std::atomic<int> ended{0};
  ForEach(&group, [&](Communicator* member) {
    if (member->rank() == 2) {
      member->Abort("out of paper");
      member->Abort("too late");
    }
    try {
      member->Sum({{&values[member->rank()], 1}});
      member->Wait();
    } catch (const GroupFailed& failure) {
      EXPECT_STREQ(failure.what(), "out of paper");
      ++ended;
    }
  });
  EXPECT_EQ(ended, 3);
}

TEST(Communicator, DeliversMessagesInOrderUntilTheGroupFails) {
  Group group = ConnectThreads(std::vector<Device*>(3));
  EXPECT_EQ(group[0]->Receive(1, 0), std::nullopt);
  group[1]->Send(0, "one");
  group[2]->Send(0, "two");
  group[1]->Send(0, "");
  EXPECT_EQ(group[0]->Receive(2), "two");
  EXPECT_EQ(group[0]->Receive(1), "one");
  EXPECT_EQ(group[0]->Receive(1, 0.001), "");
  EXPECT_EQ(group[0]->Receive(1, 0.001), std::nullopt);
  std::thread waits([&] { EXPECT_THROW(group[0]->Receive(1), GroupFailed); });
  group[2]->Abort("out of ink");
  waits.join();
  EXPECT_THROW(group[1]->Send(0, "three"), GroupFailed);
}

TEST(Communicator, FailsWhenMembersExchangeDifferentValues) {
  Group group = ConnectThreads(std::vector<Device*>(2));
  std::vector<float> values(3);
  group[0]->Sum({{values.data(), 2}});
  group[1]->Sum({{values.data() + 2, 1}});
  for (auto& member : group) EXPECT_THROW(member->Wait(), GroupFailed);
  EXPECT_THROW(group[0]->Broadcast({}), GroupFailed);
}

TEST(Communicator, FailsWhenAMemberLeavesInTheMiddle) {
  Group group = ConnectThreads(std::vector<Device*>(2));
  float value = 1;
  group[0]->Sum({{&value, 1}});
  group[0].reset();
  EXPECT_THROW(group[1]->Wait(), GroupFailed);
}

}  // namespace
}  // namespace layrub
