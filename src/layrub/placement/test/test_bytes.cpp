#include "layrub/base/bytes.hpp"

#include <gtest/gtest.h>

namespace layrub::placement {
namespace {

TEST(ParseBytes, ReadsPlainNumbersAndUnits) {
  const std::vector<std::pair<std::string, int64_t>> cases{
      {"0", 0},
      {"4096", 4096},
      {"17B", 17},
      {"512MB", 512'000'000},
      {"3kb", 3000},
      {"2TB", 2'000'000'000'000},
      {"8GiB", int64_t{8} << 30},
      {"1.5GiB", int64_t{3} << 29},
      {"0.3KiB", 307},
      {"64 mib", int64_t{64} << 20},
      {"129400832", 129400832},
      {"9223372036854775807", std::numeric_limits<int64_t>::max()},
  };
  for (const auto& [text, bytes] : cases) {
    const Result<int64_t> parsed = ParseBytes(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status().message;
    EXPECT_EQ(parsed.value(), bytes) << text;
  }
}

TEST(ParseBytes, RejectsEverythingElseNamingIt) {
  for (const std::string text :
       {"", "GiB", "-1", "+1", "8G", "8GiBs", "1e9", "1.2.3MB", " 8GiB", "8GiB ", "0x10", "nan",
        "9223372036854775808", "8388608TiB", "9000000000.5GiB", "."}) {
    const Result<int64_t> parsed = ParseBytes(text);
    ASSERT_FALSE(parsed.ok()) << text << " gave " << parsed.value();
    EXPECT_EQ(parsed.status().code, Code::kInvalid);
    EXPECT_NE(parsed.status().message.find("'" + text + "'"), std::string::npos);
  }
}

TEST(FormatBytes, PrintsMebibytesAndSmallerSizesInKibibytes) {
  EXPECT_EQ(FormatBytes(0), "0.0 KiB");
  EXPECT_EQ(FormatBytes(300 << 10), "300.0 KiB");
  EXPECT_EQ(FormatBytes(1 << 20), "1.0 MiB");
  EXPECT_EQ(FormatBytes(int64_t{3} << 19), "1.5 MiB");
  EXPECT_EQ(FormatBytes(int64_t{690} << 20), "690.0 MiB");
}

}  // namespace
}  // namespace layrub::placement
