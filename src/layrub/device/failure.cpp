#include "layrub/device/failure.hpp"

#include <glog/logging.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace layrub {
namespace {

void EndTheProcess(const char* file, int line, const std::string& message) {
  google::LogMessageFatal(file, line).stream() << message;
}

std::atomic<FailureHandler> handler{EndTheProcess};

}  // namespace

void SetFailureHandler(FailureHandler wanted) { handler = wanted ? wanted : EndTheProcess; }

void Fail(const std::string& message, const char* file, int line) {
  handler.load()(file, line, message);
  std::abort();  // it does not return
}

void FailWithErrno(const std::string& message, const char* file, int line) {
  Fail(message + ": " + std::strerror(errno), file, line);
}

}  // namespace layrub
