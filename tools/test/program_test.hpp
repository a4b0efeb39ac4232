#ifndef TOOLS_TEST_PROGRAM_TEST_HPP_
#define TOOLS_TEST_PROGRAM_TEST_HPP_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "caffe/util/io.hpp"

namespace caffe {

/// The outcome of a program.
struct Outcome {
  int code = -1;  ///< exit code; -1: it was ended by a signal
  string text;    ///< its output, standard error included
};

/// Runs programs as a user would. Each test has its own folder.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() { MakeTempDir(&folder_); }
  ~ProgramTest() override { std::filesystem::remove_all(folder_); }

  const string& folder() const { return folder_; }
  string Path(const string& name) const { return folder_ + "/" + name; }
  string Write(const string& name, const string& bytes) const {
    std::ofstream(Path(name), std::ios::binary) << bytes;
    return Path(name);
  }
  Outcome Run(const string& program, const string& arguments) const {
    const char* bin = std::getenv("LAYRUB_BIN_DIR");
    const string command = "GLOG_log_dir='" + folder_ + "' '" + (bin ? bin : LAYRUB_BIN_DIR) + "/" +
                           program + "' " + arguments + " 2>&1";
    FILE* const pipe = popen(command.c_str(), "r");
    Outcome outcome;
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, pipe)) > 0;) outcome.text.append(buffer, n);
    const int status = pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
  }
  /// Expects that the program fails with exit code 1 and a message that contains `says`.
  void ExpectFails(const string& program, const string& arguments, const string& says) const {
    const Outcome outcome = Run(program, arguments);
    EXPECT_EQ(outcome.code, 1) << outcome.text;
    EXPECT_NE(outcome.text.find(says), string::npos) << outcome.text;
    EXPECT_EQ(outcome.text.find("stack trace"), string::npos) << outcome.text;
  }

 private:
  string folder_;
};

}  // namespace caffe

#endif  // TOOLS_TEST_PROGRAM_TEST_HPP_
