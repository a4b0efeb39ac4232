#include "layrub/device/spill_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/device/test/failures_throw.hpp"
#include "layrub/device/test/file_size_limit.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub {
namespace {

class SpillFileTest : public ::testing::Test {
 protected:
  SpillFileTest() {
    std::string name = ::testing::TempDir() + "spill_test_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~SpillFileTest() override { std::filesystem::remove_all(folder_); }

  bool FolderIsEmpty() const { return std::filesystem::is_empty(folder_); }

  std::string folder_;
};

std::vector<char> Pattern(int64_t bytes, int seed) {
  std::vector<char> pattern(bytes);
  std::iota(pattern.begin(), pattern.end(), static_cast<char>(seed));
  return pattern;
}

/// Resident bytes of this process.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  statm >> pages >> resident;
  return resident * 4096;
}

/// Returns by how many bytes the process has grown after `bytes` were copied to `tier` and back.
int64_t GrowthAfterMoving(Backend* backend, Tier tier, int64_t bytes) {
  constexpr int64_t kChunk = 1 << 20;
  std::vector<char> device = Pattern(kChunk, 1);
  auto* away = static_cast<char*>(backend->Allocate(tier, bytes));
  const int64_t before = ResidentBytes();
  for (int64_t at = 0; at < bytes; at += kChunk) {
    backend->Copy(OffloadLane(tier), away + at, device.data(), kChunk);
  }
  backend->Synchronize();
  for (int64_t at = 0; at < bytes; at += kChunk) {
    backend->Copy(PrefetchLane(tier), device.data(), away + at, kChunk);
  }
  backend->Synchronize();
  EXPECT_EQ(device, Pattern(kChunk, 1));
  const int64_t growth = ResidentBytes() - before;
  backend->Free(tier, away);
  return growth;
}

TEST_F(SpillFileTest, ReadsBackWhatWasWrittenAtAnyOffset) {
  for (const std::string& path : {folder_, folder_ + "/file"}) {
    SpillFile tier(path);
    auto* one = static_cast<char*>(tier.Allocate(1000));
    auto* two = static_cast<char*>(tier.Allocate(5000));
    const std::vector<char> a = Pattern(700, 3), b = Pattern(700, 9);
    tier.Copy(one + 256, a.data(), 700);
    tier.Copy(two + 256, b.data(), 700);
    std::vector<char> back(700);
    tier.Copy(back.data(), one + 256, 700);
    EXPECT_EQ(back, a);
    tier.Copy(back.data(), two + 256, 700);
    EXPECT_EQ(back, b);
    tier.Copy(back.data(), a.data(), 700);
    EXPECT_EQ(back, a);
    EXPECT_THROW(tier.Copy(one, two, 1), std::invalid_argument);
    tier.Free(one);
    EXPECT_THROW(tier.Free(one), std::invalid_argument);
  }
}

/// Direct copies (past the system's cache) of any length and offset change no other bytes.
TEST_F(SpillFileTest, UnalignedCopiesOfALargeFileChangeNoOtherBytes) {
  constexpr int64_t kBytes = 5 << 20;
  SpillFile tier(folder_, /*large=*/0);
  auto* file = static_cast<char*>(tier.Allocate(kBytes));
  std::vector<char> expected = Pattern(kBytes, 1), back(kBytes);
  tier.Copy(file, expected.data(), kBytes);
  int seed = 1;
  for (const int64_t begin : {0, 256, 4096, 4352, 1048576 - 256, 1048576}) {
    for (const int64_t bytes : {1, 256, 4095, 4096, 8192, 1048576, 1048577, 3 << 20}) {
      const std::vector<char> part = Pattern(bytes, ++seed);
      std::copy(part.begin(), part.end(), expected.begin() + begin);
      tier.Copy(file + begin, part.data(), bytes);
      std::vector<char> same(bytes);
      tier.Copy(same.data(), file + begin, bytes);
      ASSERT_EQ(same, part) << begin << " " << bytes;
    }
  }
  tier.Copy(back.data(), file, kBytes);
  EXPECT_EQ(back, expected);
  tier.Free(file);
}

TEST_F(SpillFileTest, IsUnlinkedAtOnce) {
  SpillFile tier(folder_), named(folder_ + "/file");
  void* memory = tier.Allocate(100);
  EXPECT_TRUE(FolderIsEmpty());
  EXPECT_NE(named.Allocate(100), nullptr);
  EXPECT_NE(named.Allocate(100), nullptr);
  EXPECT_TRUE(FolderIsEmpty());
  EXPECT_NE(tier.Allocate(0), memory);
}

TEST_F(SpillFileTest, TakesNoMemoryOfTheProcess) {
  constexpr int64_t kBytes = 64 << 20;
  EXPECT_GT(GrowthAfterMoving(MakeCpuBackend().get(), Tier::kHost, kBytes), kBytes * 3 / 4);
  EXPECT_LT(GrowthAfterMoving(MakeCpuBackend(folder_).get(), Tier::kFile, kBytes), kBytes / 4);
}

TEST_F(SpillFileTest, GivesNullForImpossibleSizes) {
  SpillFile tier(folder_);
  EXPECT_EQ(tier.Allocate(-1), nullptr);
  EXPECT_EQ(tier.Allocate(std::numeric_limits<int64_t>::max()), nullptr);
}

TEST_F(SpillFileTest, SaysWhatIsWrongWithThePath) {
  SpillFile missing(folder_ + "/missing/file");
  EXPECT_EQ(testing::FailureOf([&] { missing.Allocate(1); }),
            "Cannot make the spill file " + folder_ + "/missing/file: No such file or directory");
  std::ofstream(folder_ + "/precious") << "do not overwrite";
  SpillFile taken(folder_ + "/precious");
  EXPECT_EQ(testing::FailureOf([&] { taken.Allocate(1); }),
            "Cannot make the spill file " + folder_ + "/precious: File exists");
}

TEST_F(SpillFileTest, SaysThatTheDiskIsFull) {
  SpillFile tier(folder_);
  const std::string said = testing::FailureOf([&] { tier.Allocate(int64_t{1} << 55); });
  const std::string needs = "The disk is full: the spill file " + folder_ +
                            " needs 34359738368.0 MiB (36028797018963968 bytes), its disk has ";
  EXPECT_EQ(said.substr(0, needs.size()), needs);
  EXPECT_TRUE(said.ends_with(" left")) << said;
  EXPECT_TRUE(FolderIsEmpty());
}

TEST_F(SpillFileTest, SaysThatTheFileIsTooLarge) {
  SpillFile tier(folder_);
  const testing::FileSizeLimit limit(65536);
  EXPECT_EQ(testing::FailureOf([&] { tier.Allocate(1 << 20); }),
            "Cannot reserve disk space: the spill file " + folder_ +
                " needs 1.0 MiB (1048576 bytes): File too large");
  EXPECT_TRUE(FolderIsEmpty());
}

}  // namespace
}  // namespace layrub
