#include "caffe/util/log_progress.hpp"

#include <glog/logging.h>
#include <unistd.h>

#include "layrub/base/progress_line.hpp"

namespace caffe {

namespace {

using google::base::Logger;

template <typename Length>
Length LengthOf(void (Logger::*)(bool, time_t, const char*, Length));
using MessageLength = decltype(LengthOf(&Logger::Write));  // int before glog 0.6

/// Wraps glog's file logger, which gets each message before it is written to stderr.
class WipingLogger : public Logger {
 public:
  explicit WipingLogger(Logger* files) : files_(files) {}
  void Write(bool flush, time_t time, const char* message, MessageLength length) override {
    layrub::ProgressLine::Wipe();
    files_->Write(flush, time, message, length);
  }
  void Flush() override { files_->Flush(); }
  google::uint32 LogSize() override { return files_->LogSize(); }

 private:
  Logger* const files_;  ///< glog's
};

}  // namespace

void KeepProgressBelowLog() {
  if (!isatty(STDERR_FILENO)) return;
  // Messages of all severities go to the logger of INFO. glog uses it until the process ends.
  static Logger* const logger = new WipingLogger(google::base::GetLogger(google::GLOG_INFO));
  google::base::SetLogger(google::GLOG_INFO, logger);
}

}  // namespace caffe
