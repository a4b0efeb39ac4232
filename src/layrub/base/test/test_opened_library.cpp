#include <ctype.h>
#include <gtest/gtest.h>

#include <string>

#include "layrub/base/opened_library.hpp"

extern "C" int layrub_function_of_nobody(int);

namespace layrub {
namespace {

#define LAYRUB_LETTERS(X) \
  X(to, upper);           \
  X(to, lower)
struct Letters {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_LETTERS)
};
std::string VersionOf(const Letters&) { return ""; }

#define LAYRUB_MORE_LETTERS(X) \
  LAYRUB_LETTERS(X);           \
  X(layrub_, function_of_nobody)
struct MoreLetters {
  LAYRUB_LIBRARY_FUNCTIONS(LAYRUB_MORE_LETTERS)
};
std::string VersionOf(const MoreLetters& letters) {
  return std::string(1, static_cast<char>(letters.upper('v'))) + "1";
}

constexpr char kFile[] = "libc.so.6";
const LibraryDescription kWords{"The library", "take another one."};

TEST(OpenLibrary, FindsTheListedFunctions) {
  std::string why_not;
  const std::optional<Letters> letters = OpenLibrary<Letters>(kFile, kWords, &why_not);
  ASSERT_TRUE(letters) << why_not;
  EXPECT_EQ(letters->upper('a'), 'A');
  EXPECT_EQ(letters->lower('A'), 'a');
  EXPECT_EQ(why_not, "");
}

TEST(OpenLibrary, GivesTheLoadersErrorAndTheRemedyForAMissingFile) {
  std::string why_not;
  EXPECT_FALSE(OpenLibrary<Letters>("/nowhere/libnone.so.1", kWords, &why_not));
  EXPECT_EQ(why_not,
            "The library was not found (/nowhere/libnone.so.1: cannot open shared object file: "
            "No such file or directory): take another one.");
}

TEST(OpenLibrary, NamesTheFirstMissingFunctionAndTheVersion) {
  std::string why_not;
  EXPECT_FALSE(OpenLibrary<MoreLetters>(kFile, kWords, &why_not));
  EXPECT_EQ(why_not,
            "The library V1 is too old (libc.so.6 has no layrub_function_of_nobody): take another "
            "one.");
}

}  // namespace
}  // namespace layrub
