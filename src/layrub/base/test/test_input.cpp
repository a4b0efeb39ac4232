#include "layrub/base/input.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace layrub {
namespace {

class Input : public ::testing::Test {
 protected:
  Input() {
    std::string name = ::testing::TempDir() + "input.XXXXXX";
    folder_ = mkdtemp(name.data());
    pipe_ = folder_ + "/pipe";
    EXPECT_EQ(mkfifo(pipe_.c_str(), 0600), 0);
  }
  ~Input() override { std::filesystem::remove_all(folder_); }

  /// Starts a thread that opens the pipe after a while and writes to it after another; the reader
  /// must wait.
  std::thread Write(const std::string& text, int milliseconds_before, int milliseconds_between) {
    return std::thread([=, this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_before));
      std::ofstream file(pipe_);
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds_between));
      file << text;
    });
  }

  std::string folder_, pipe_;
};

TEST_F(Input, ReadsAFileUnchanged) {
  const std::string text("two\nlines\0and more\n", 19);
  std::ofstream(folder_ + "/file") << text;
  const Result<std::string> read = ReadText(folder_ + "/file");
  ASSERT_TRUE(read.ok()) << read.status().message;
  EXPECT_EQ(read.value(), text);
  EXPECT_EQ(ReadText("/dev/null").value(), "");
}

TEST_F(Input, NamesThePathThatCannotBeRead) {
  EXPECT_EQ(ReadText(folder_ + "/none").status().message, "File not found: " + folder_ + "/none");
  EXPECT_EQ(ReadText(folder_).status().message, "Cannot read " + folder_ + ": it is a folder");
  EXPECT_EQ(ReadText(pipe_ + "/file").status().message,
            "Cannot read " + pipe_ + "/file: Not a directory");
}

TEST_F(Input, RejectsAPipeWithoutAWriter) {
  EXPECT_EQ(OpenToRead(pipe_).status().message,
            "Cannot read " + pipe_ + ": it is a pipe that nobody writes to");
}

TEST_F(Input, ReadsAPipeWhicheverEndOpensFirst) {
  std::string text(100'000, 'x');  // more than a pipe holds
  for (const int before : {0, 300}) {
    for (const int between : {0, 300}) {
      std::thread writer = Write(text, before, between);
      const Result<std::string> read = ReadText(pipe_);
      writer.join();
      ASSERT_TRUE(read.ok()) << read.status().message;
      EXPECT_EQ(read.value(), text);
    }
  }
}

TEST_F(Input, WaitsForAWriterThatHasNotWrittenYet) {
  std::thread writer = Write("late", 0, 1500);  // longer than OpenToRead waits for a writer
  const Result<std::string> read = ReadText(pipe_);
  writer.join();
  ASSERT_TRUE(read.ok()) << read.status().message;
  EXPECT_EQ(read.value(), "late");
}

}  // namespace
}  // namespace layrub
