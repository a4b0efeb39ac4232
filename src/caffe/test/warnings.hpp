#ifndef CAFFE_TEST_WARNINGS_HPP_
#define CAFFE_TEST_WARNINGS_HPP_

#include <glog/logging.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

namespace caffe {

/// Collects the warnings that are logged while this object exists.
class Warnings : public google::LogSink {
 public:
  Warnings() { google::AddLogSink(this); }
  ~Warnings() override { google::RemoveLogSink(this); }
  using google::LogSink::send;
  void send(google::LogSeverity severity, const char*, const char*, int, const std::tm*,
            const char* message, size_t length) override {
    if (severity == google::GLOG_WARNING) lines.emplace_back(message, length);
  }
  /// Returns the number of warnings that contain `part`.
  int Count(const std::string& part) const {
    return static_cast<int>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find(part) != std::string::npos;
    }));
  }

  std::vector<std::string> lines;
};

}  // namespace caffe

#endif  // CAFFE_TEST_WARNINGS_HPP_
