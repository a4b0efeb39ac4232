// Runs every target with its seeds, and with inputs that once caused a bug (inputs/<target>/).
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "caffe/error.hpp"
#include "fuzz/target.hpp"

namespace layrub_fuzz {
namespace {

class FuzzInputs : public ::testing::TestWithParam<Target> {
 protected:
  static void SetUpTestSuite() { layrub_fuzz::SetUp(); }
};

TEST_P(FuzzInputs, SeedsAreNotRefused) {
  const std::vector<std::string> seeds = GetParam().seeds();
  ASSERT_FALSE(seeds.empty());
  for (size_t i = 0; i < seeds.size(); ++i)
    EXPECT_NO_THROW(GetParam().read(seeds[i])) << "seed " << i + 1 << ":\n" << seeds[i];
}

TEST_P(FuzzInputs, EarlierFindingsAreReadOrRefusedInOneSentence) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(LAYRUB_SOURCE_DIR) / "tools/fuzz/inputs" / GetParam().name;
  if (!fs::exists(folder)) GTEST_SKIP() << "nothing was found here";
  for (const fs::directory_entry& file : fs::directory_iterator(folder)) {
    // If the program crashes, this line names the input.
    std::cout << "  " << file.path().filename().string() << std::endl;
    try {
      GetParam().read(Contents(file.path()));
    } catch (const caffe::Error& error) {
      EXPECT_STRNE(error.what(), "") << file.path();
    }
  }
}

TEST_P(FuzzInputs, TruncatedSeedsAreReadOrRefused) {
  const std::string seed = GetParam().seeds().front();
  for (const size_t size : {size_t{0}, size_t{1}, seed.size() / 3, seed.size() - 1}) {
    SCOPED_TRACE(size);
    try {
      GetParam().read(seed.substr(0, size));
    } catch (const caffe::Error& error) {
      EXPECT_STRNE(error.what(), "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzInputs, ::testing::ValuesIn(Targets()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace layrub_fuzz
