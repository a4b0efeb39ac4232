// Processes that exchange values and messages. A test starts mpirun, which starts this program
// several times for the same test: the rest of it runs in each of these processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "layrub/device/ranks.hpp"

namespace layrub {
namespace {

/// Runs the current test in `count` processes, all of which must pass. `fails`: the group fails, so
/// mpirun is expected to exit with an error.
void RunInProcesses(int count, bool fails = false) {
  const std::string name = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  for (const char* variable : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                               "OMPI_MCA_rmaps_base_oversubscribe"})
    setenv(variable, "1", 0);
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env -u GTEST_FILTER timeout 60 mpirun -np " + std::to_string(count) +
                              " '" + program + "' --gtest_color=no --gtest_filter=*." + name +
                              " 2>&1";
  FILE* const pipe = popen(command.c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  std::array<char, 4096> part;
  while (const size_t n = fread(part.data(), 1, part.size(), pipe)) output.append(part.data(), n);
  EXPECT_EQ(pclose(pipe) != 0, fails) << output;
  size_t passed = 0;
  for (size_t at = 0; (at = output.find("[  PASSED  ] 1 test", at)) != std::string::npos; ++at)
    ++passed;
  EXPECT_EQ(passed, static_cast<size_t>(count)) << output;
}

std::unique_ptr<RankCommunicator> Join() {
  std::string why_not;
  std::unique_ptr<RankCommunicator> ranks = ConnectRanks(&why_not);
  EXPECT_NE(ranks, nullptr) << why_not;
  return ranks;
}

// A tensor of several pieces that no number of processes divides, and small ones.
const std::vector<int64_t> kCounts = {1, 7, 300'001, 2'500'001, 0, 65'537, 12};

float Part(int rank, int64_t i) { return static_cast<float>((rank * 31 + i * 7) % 1000) / 997.0f; }

/// The values that member `rank` of a group adds.
std::vector<std::vector<float>> Addends(int rank) {
  std::vector<std::vector<float>> all;
  for (const int64_t count : kCounts) {
    std::vector<float>& one = all.emplace_back(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) one[static_cast<size_t>(i)] = Part(rank, i + count);
  }
  return all;
}

std::vector<Values> ValuesOf(std::vector<std::vector<float>>* all) {
  std::vector<Values> values;
  for (std::vector<float>& one : *all)
    values.push_back({one.data(), static_cast<int64_t>(one.size())});
  return values;
}

/// The sums of `count` members, computed by threads of one process.
std::vector<std::vector<float>> SumsOfThreads(int count) {
  Group group = ConnectThreads(std::vector<Device*>(static_cast<size_t>(count)));
  std::vector<std::vector<std::vector<float>>> addends;
  for (int rank = 0; rank < count; ++rank) addends.push_back(Addends(rank));
  for (size_t rank = 0; rank < group.size(); ++rank) group[rank]->Sum(ValuesOf(&addends[rank]));
  for (const auto& member : group) member->Wait();
  return addends[0];
}

TEST(Ranks, SumInTheOrderOfRanksAsThreadsDo) {
  if (!StartedByMpi()) return RunInProcesses(3);
  const std::unique_ptr<RankCommunicator> ranks = Join();
  ASSERT_EQ(ranks->size(), 3);
  EXPECT_EQ(ranks->local_size(), 3);
  EXPECT_EQ(ranks->local_rank(), ranks->rank());
  std::vector<std::vector<float>> mine = Addends(ranks->rank());
  double two[] = {ranks->rank() + 0.25, 1e300};
  std::vector<Values> values = ValuesOf(&mine);
  values.insert(values.begin() + 3, {two, 2, Element::kDouble});
  ranks->Sum(values);
  ranks->Sum({{&two[1], 0, Element::kDouble}});
  ranks->Wait();
  EXPECT_EQ(mine, SumsOfThreads(3));
  EXPECT_EQ(two[0], 3.75);
}

TEST(Ranks, SumValuesOnADeviceAndInHostMemory) {
  if (!StartedByMpi()) return RunInProcesses(2);
  const std::unique_ptr<RankCommunicator> ranks = Join();
  const std::unique_ptr<Device> device = MakeEmulatedDevice(64 << 20);
  if (ranks->rank() == 1) ranks->UseDevice(device.get());
  std::vector<std::vector<float>> mine = Addends(ranks->rank());
  std::vector<Values> values;
  for (std::vector<float>& one : mine) {
    const auto bytes = static_cast<int64_t>(one.size() * sizeof(float));
    void* const there = ranks->device() ? device->Allocate(std::max<int64_t>(bytes, 1)) : nullptr;
    if (there && bytes > 0) device->Copy(there, one.data(), bytes);
    values.push_back({there ? there : one.data(), static_cast<int64_t>(one.size())});
  }
  ranks->Sum(values);
  ranks->Broadcast(values);
  ranks->Synchronize();
  for (size_t i = 0; i < values.size() && ranks->device(); ++i) {
    if (!mine[i].empty())
      device->Copy(mine[i].data(), values[i].first, values[i].count * int64_t{sizeof(float)});
    device->Free(values[i].first);
  }
  EXPECT_EQ(mine, SumsOfThreads(2));
}

TEST(Ranks, BroadcastValuesAndSendMessages) {
  if (!StartedByMpi()) return RunInProcesses(3);
  const std::unique_ptr<RankCommunicator> ranks = Join();
  const int next = (ranks->rank() + 1) % 3, before = (ranks->rank() + 2) % 3;
  EXPECT_EQ(ranks->Receive(before, 0), std::nullopt);
  std::vector<std::vector<float>> mine = Addends(ranks->rank());
  ranks->Broadcast(ValuesOf(&mine));
  ranks->Wait();
  EXPECT_EQ(mine, Addends(0));
  // Messages keep their order, travel beside values, and may have any length.
  const std::string text(3'000'000, static_cast<char>('a' + ranks->rank()));
  ranks->Send(next, text);
  ranks->Send(next, "");
  EXPECT_EQ(ranks->Receive(before), std::string(text.size(), static_cast<char>('a' + before)));
  EXPECT_EQ(ranks->Receive(before), "");
  EXPECT_EQ(ranks->Receive(before, 0.01), std::nullopt);
}

TEST(Ranks, AllStopWaitingWhenOneAborts) {
  if (!StartedByMpi()) return RunInProcesses(3, true);
  const std::unique_ptr<RankCommunicator> ranks = Join();
  std::vector<float> values(1'000'000);
  const auto wait = [&] {
    if (ranks->rank() == 0) return void(ranks->Receive(2));
    if (ranks->rank() == 2) ranks->Abort("out of paper");
    ranks->Sum({{values.data(), static_cast<int64_t>(values.size())}});
    ranks->Wait();
  };
  try {
    wait();
    ADD_FAILURE();
  } catch (const GroupFailed& failure) {
    EXPECT_STREQ(failure.what(), "out of paper");
  }
  EXPECT_THROW(ranks->Send((ranks->rank() + 1) % 3, "too late"), GroupFailed);
  // mpirun ends all when the first process ends.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

TEST(Ranks, FailWhenTheyExchangeDifferentValues) {
  if (!StartedByMpi()) return RunInProcesses(2, true);
  const std::unique_ptr<RankCommunicator> ranks = Join();
  std::vector<float> values(2);
  ranks->Sum({{values.data(), 2 - ranks->rank()}});
  try {
    ranks->Wait();
    ADD_FAILURE();
  } catch (const GroupFailed& failure) {
    EXPECT_STREQ(failure.what(),
                 "members 0 and 1 of a group exchange different values: their nets differ");
  }
  EXPECT_THROW(ranks->Sum({}), GroupFailed);
  // mpirun ends all when the first process ends.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
}

}  // namespace
}  // namespace layrub
