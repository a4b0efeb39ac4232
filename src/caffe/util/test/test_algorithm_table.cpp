#include "caffe/util/algorithm_table.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "caffe/util/io.hpp"
#include "layrub/base/algorithm_cost.hpp"

namespace caffe {
namespace {

bool operator==(const Algorithm& a, const Algorithm& b) {
  return a.name == b.name && a.bytes == b.bytes && a.seconds == b.seconds &&
         a.deterministic == b.deterministic;
}

std::vector<std::string> Names(const AlgorithmTable& table) {
  std::vector<std::string> names;
  for (const Algorithm& row : table) names.push_back(row.name);
  return names;
}

using Strings = std::vector<std::string>;

TEST(Combine, KeepsUnbeatenChoicesSmallestFirst) {
  const AlgorithmTable table = {{"fft", 90, 1, true},   {"gemm", 10, 4, true},
                                {"slow", 20, 5, true},  {"wild", 10, 2, false},
                                {"none", 0, 9, true},   {"twin", 90, 1, true},
                                {"worse", 91, 1, true}, {"wilder", 95, 1, false}};
  EXPECT_EQ(Names(Combine({table})), (Strings{"none", "gemm", "wild", "fft"}));
}

TEST(Combine, SharesOneWorkspaceAndAddsTimes) {
  const AlgorithmTable weights = {{"a", 0, 5, true}, {"b", 40, 1, true}};
  const AlgorithmTable data = {{"c", 0, 7, true}, {"d", 60, 2, false}};
  const AlgorithmTable choices = Combine({weights, data});
  ASSERT_EQ(Names(choices), (Strings{"a+c", "b+c", "b+d"}));  // a+d is as large as b+d and slower
  EXPECT_TRUE(choices[1] == (Algorithm{"b+c", 40, 8, true}));
  EXPECT_TRUE(choices[2] == (Algorithm{"b+d", 60, 3, false}));
  EXPECT_TRUE(Combine({weights, {}}).empty());
  EXPECT_TRUE(Combine({}).empty());
}

TEST(WithoutTimes, ChoosesTheFirstReproducibleOneWithinTheCap) {
  const int64_t cap = layrub::kWorkspaceCap;
  const AlgorithmTable table = {
      {"huge", cap + 1, 0, true}, {"wild", 0, 0, false}, {"good", cap, 0, true}, {"none", 0, 0}};
  EXPECT_EQ(Names(WithoutTimes({table})), Strings{"good"});
  const AlgorithmTable large = {{"a", cap + 9, 0, true}, {"b", cap + 5, 0, true}};
  const AlgorithmTable both = WithoutTimes({table, large});
  ASSERT_EQ(Names(both), Strings{"good+b"});
  EXPECT_EQ(both[0].bytes, cap + 5);
  EXPECT_TRUE(WithoutTimes({table, {{"wild", 0, 0, false}}}).empty());
}

TEST(AlgorithmOf, ReturnsTheAlgorithmOfEachStep) {
  EXPECT_EQ(AlgorithmOf("fft", 0), "fft");
  EXPECT_EQ(AlgorithmOf("fft+gemm", 0), "fft");
  EXPECT_EQ(AlgorithmOf("fft+gemm", 1), "gemm");
  EXPECT_EQ(AlgorithmOf("fft+gemm", 2), "");
  EXPECT_EQ(AlgorithmOf("", 0), "");
}

class CacheFile : public ::testing::Test {
 protected:
  CacheFile() {
    MakeTempDir(&folder_);
    path_ = folder_ + "/deeper/cache.json";
  }
  ~CacheFile() override { std::filesystem::remove_all(folder_); }
  void Overwrite(const std::string& text) {
    std::ofstream file(path_);
    file << text;
  }

  const AlgorithmTable table_ = {{"fft", 90, 1.25e-4, true}, {"wild", 10, 0.1, false}};
  std::string folder_, path_;
};

TEST_F(CacheFile, KeepsMeasuredTimesButNotBytes) {
  AlgorithmTable found;
  {
    AlgorithmCache cache(path_);
    EXPECT_FALSE(cache.Find("conv", &found));
    cache.Store("conv", table_);
    cache.Store("other", {});
    ASSERT_TRUE(cache.Find("conv", &found));
  }
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(found.size(), 2u);
    EXPECT_TRUE(found[0] == (Algorithm{"fft", 0, 1.25e-4, true}));
    EXPECT_TRUE(found[1] == (Algorithm{"wild", 0, 0.1, false}));
    EXPECT_TRUE(AlgorithmCache(path_).Find("conv", &found));
  }
  // Nothing else is left behind.
  const std::filesystem::directory_iterator files(std::filesystem::path(path_).parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST_F(CacheFile, IsReplacedIfItCannotBeRead) {
  { AlgorithmCache(path_).Store("conv", table_); }
  std::ifstream file(path_);
  const std::string good((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const size_t seconds = good.find("seconds\": 0.000125");
  ASSERT_NE(seconds, std::string::npos) << good;
  std::string negative = good, foreign = good;
  negative.insert(seconds + 10, "-");
  foreign.replace(good.find("algorithms 1"), 12, "algorithms 9");
  for (const std::string& bad :
       {std::string(), std::string("{}"), good.substr(0, good.size() / 2), negative, foreign}) {
    Overwrite(bad);
    AlgorithmCache cache(path_);
    AlgorithmTable found;
    EXPECT_FALSE(cache.Find("conv", &found)) << bad;
    cache.Store("again", table_);
    EXPECT_TRUE(AlgorithmCache(path_).Find("again", &found)) << bad;
  }
}

TEST_F(CacheFile, DoesNotFailInAnUnwritableFolder) {
  Overwrite("");
  std::ofstream(folder_ + "/file") << "no folder";
  AlgorithmCache cache(folder_ + "/file/cache.json");
  cache.Store("conv", table_);
  AlgorithmTable found;
  EXPECT_TRUE(cache.Find("conv", &found));
}

TEST_F(CacheFile, IsNotWrittenThroughALinkWithAPredictableName) {
  const std::string precious = folder_ + "/precious";
  std::ofstream(precious) << "precious";
  std::filesystem::create_directories(folder_ + "/deeper");
  for (const std::string& end :
       {std::to_string(getpid()), std::string("tmp"), std::string("XXXXXX")})
    std::filesystem::create_symlink(precious, path_ + "." + end);
  { AlgorithmCache(path_).Store("conv", table_); }
  std::ifstream file(precious);
  std::string text;
  file >> text;
  EXPECT_EQ(text, "precious");
  AlgorithmTable found;
  EXPECT_TRUE(AlgorithmCache(path_).Find("conv", &found));
}

TEST(CachePath, IsInTheUsersCacheFolder) {
  setenv("HOME", "/home/someone", 1);
  unsetenv("XDG_CACHE_HOME");
  EXPECT_EQ(AlgorithmCache::PathFor("a GPU/9"), "/home/someone/.cache/layrub/a_GPU_9.json");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(AlgorithmCache::PathFor("x"), "/cache/layrub/x.json");
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  EXPECT_EQ(AlgorithmCache::PathFor("x"), "");
}

}  // namespace
}  // namespace caffe
