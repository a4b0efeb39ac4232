// The message and the exit code of a failing program.
#include "caffe/util/failure.hpp"

#include <glog/logging.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>
#include <thread>

#include "caffe/error.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

LayerParameter Conv(const char* name = "conv1") {
  LayerParameter layer;
  layer.set_name(name);
  layer.set_type("Convolution");
  return layer;
}

TEST(FailureScope, ReportsTheInnermostLayer) {
  EXPECT_EQ(LayerAtWork(), "");
  const LayerParameter outer = Conv("outer"), inner = Conv("inner");
  const FailureScope a(outer);
  {
    const FailureScope b(inner);
    const FailureScope file("database");
    EXPECT_EQ(LayerAtWork(), "layer inner (Convolution)");
  }
  EXPECT_EQ(LayerAtWork(), "layer outer (Convolution)");
  std::thread([] { EXPECT_EQ(LayerAtWork(), ""); }).join();
}

[[noreturn]] void Fail(const LayerParameter& layer, const char* message) {
  ExitOnFailure(7);
  const FailureScope scope(layer);
  LOG(FATAL) << message;
  std::abort();
}

/// Reads a page of a mapped file that has been cut off.
[[noreturn]] void ReadDamaged(const char* name) {
  ExitOnFailure(7);
  char path[] = "/tmp/failure.XXXXXX";
  const int fd = mkstemp(path);
  unlink(path);
  const auto* page =
      static_cast<const volatile char*>(mmap(nullptr, 1, PROT_READ, MAP_SHARED, fd, 0));
  const FailureScope scope(name);
  std::exit(*page);
}

std::string NameThatCannotBeRead() {
  LOG(FATAL) << "no name";
  return "";
}

template <typename Check>
std::string ErrorOf(const Check& check) {
  try {
    check();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(FatalMessage, ThrowsAnErrorFromItsOwnArguments) {
  const ThrowOnError scope;
  const int one = 1;
  EXPECT_EQ(ErrorOf([] { LOG(FATAL) << "of " << NameThatCannotBeRead(); }), "no name");
  EXPECT_EQ(ErrorOf([&] { CHECK(one == 2) << NameThatCannotBeRead(); }), "no name");
  EXPECT_EQ(ErrorOf([&] { CHECK_EQ(one, 2) << NameThatCannotBeRead(); }), "no name");
  EXPECT_EQ(ErrorOf([&] { CHECK_EQ(one, 1) << NameThatCannotBeRead(); }), "none");
  EXPECT_EQ(ErrorOf([&] { CHECK_EQ(one, 2) << "late"; }), "late (1 vs. 2)");
  EXPECT_EQ(ErrorOf([&] { CHECK_EQ(one, 2) << "There must be two."; }), "There must be two.");
  EXPECT_EQ(ErrorOf([&] { CHECK_EQ(one, 2); }), "Check failed: one == 2 (1 vs. 2)");
  EXPECT_EQ(ErrorOf([&] { CHECK(one == 2) << "late"; }), "late");
  EXPECT_EQ(ErrorOf([&] { CHECK(one == 2); }), "Check failed: one == 2 ");
}

TEST(ExpectError, AcceptsOnlyTheExpectedMessage) {
  const auto said = [](const auto& action) {
    return std::string(FailsWith(action, "size [0-9]+ of .* large").message());
  };
  const std::string expected = "\nExpected: an error that matches \"size [0-9]+ of .* large\"\n   ";
  EXPECT_ERROR(CHECK_EQ(1, 2) << "The size 20 of the blob\nis too large.",
               "size [0-9]+ of .* large");
  EXPECT_EQ(said([] { LOG(FATAL) << "too small"; }), expected + "Error: too small");
  EXPECT_EQ(said([] { throw std::bad_alloc(); }), expected + "Other exception: std::bad_alloc");
  EXPECT_EQ(said([] {}), expected + "No check fails.");
  EXPECT_FALSE(ThrowsOnError());
}

TEST(ExitOnFailureDeathTest, NamesTheLayerOnceInAFatalMessage) {
  const LayerParameter layer = Conv();
  EXPECT_EXIT(Fail(layer, "too large"), ::testing::ExitedWithCode(7),
              "too large\n    in layer conv1 \\(Convolution\\)\n$");
  EXPECT_EXIT(Fail(layer, "Layer conv1: too large"), ::testing::ExitedWithCode(7),
              "Layer conv1: too large\n$");
}

[[noreturn]] void FailIn(const std::string& path, const char* message) {
  ExitOnFailure(7);
  const FailureScope scope(CurrentFile{path});
  LOG(FATAL) << message;
  std::abort();
}

TEST(ExitOnFailureDeathTest, NamesTheLineOfTheLayer) {
  LayerParameter layer = Conv();
  layer.set_origin("net.prototxt:12");
  EXPECT_EXIT(Fail(layer, "too large"), ::testing::ExitedWithCode(7),
              "too large\n    in layer conv1 \\(Convolution\\) of net.prototxt:12\n$");
  EXPECT_EXIT(Fail(layer, "Layer conv1: too large"), ::testing::ExitedWithCode(7),
              "Layer conv1: too large\n    in net.prototxt:12\n$");
}

TEST(ExitOnFailureDeathTest, NamesTheCurrentFile) {
  EXPECT_EXIT(FailIn("net.prototxt", "no such type"), ::testing::ExitedWithCode(7),
              "no such type\n    in net.prototxt\n$");
}

TEST(ExitOnFailureDeathTest, NamesADamagedMappedFile) {
  EXPECT_EXIT(ReadDamaged("some_lmdb"), ::testing::ExitedWithCode(7),
              "some_lmdb is damaged: reading it failed");
}

TEST(ExitOnFailureDeathTest, ReportsALibraryThatAbortsOnADamagedFile) {
  EXPECT_EXIT(
      {
        ExitOnFailure(7);
        const FailureScope scope("some.h5");
        std::abort();
      },
      ::testing::ExitedWithCode(7), "some.h5 is damaged: reading it failed");
  EXPECT_EXIT(
      {
        ExitOnFailure(7);
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST(ExitOnFailureDeathTest, LeavesOtherCrashesAlone) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer makes a report and an exit code of them";
#endif
  EXPECT_EXIT(
      {
        ExitOnFailure(7);
        *static_cast<volatile int*>(nullptr) = 1;
      },
      ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace caffe
