#ifndef CAFFE_TEST_INFO_LINES_HPP_
#define CAFFE_TEST_INFO_LINES_HPP_

#include <glog/logging.h>

namespace caffe {

/// While it lives, INFO lines are logged: entries of ctest leave them out (GLOG_minloglevel), and a
/// test that looks for some would find none.
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
