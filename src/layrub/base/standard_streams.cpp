#include "layrub/base/standard_streams.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

namespace layrub {

namespace {

std::string& Program() {
  static std::string program;
  return program;
}

/// Flushes the standard output. Returns 0, or the errno of the failure, or -1 if an earlier write
/// failed and the reason is no longer known.
int FlushStandardOutput() {
  errno = 0;
  std::cout.flush();
  if (!std::cout || std::fflush(stdout) != 0 || std::ferror(stdout)) return errno ? errno : -1;
  // Network file systems report errors only at the close.
  const int copy = dup(STDOUT_FILENO);
  return copy >= 0 && close(copy) == 0 ? 0 : errno;
}

void CheckStandardOutput() {
  const int error = FlushStandardOutput();
  if (error == 0) return;
  std::cerr << Program() << ": cannot write all of the standard output"
            << (error > 0 ? std::string(": ") + std::strerror(error) : "") << std::endl;
  _exit(1);
}

}  // namespace

void GuardStandardStreams(const std::string& program) {
  Program() = program;
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // Opened for the wrong direction, so that using the stream still fails. open() takes the lowest
    // free number, which is this one.
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
  std::signal(SIGPIPE, SIG_IGN);  // such a write fails instead
  std::atexit(CheckStandardOutput);
}

}  // namespace layrub
