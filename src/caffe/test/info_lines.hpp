#ifndef CAFFE_TEST_INFO_LINES_HPP_
#define CAFFE_TEST_INFO_LINES_HPP_

#include <glog/logging.h>

namespace caffe {

/// Enables the logging of INFO lines while this object exists, for tests that look for such lines:
/// ctest turns them off (GLOG_minloglevel).
class InfoLines {
 public:
  InfoLines() : before_(FLAGS_minloglevel) { FLAGS_minloglevel = google::GLOG_INFO; }
  ~InfoLines() { FLAGS_minloglevel = before_; }
  InfoLines(const InfoLines&) = delete;
  InfoLines& operator=(const InfoLines&) = delete;

 private:
  const int before_;
};

}  // namespace caffe

#endif  // CAFFE_TEST_INFO_LINES_HPP_
