#ifndef CAFFE_UTIL_LOG_PROGRESS_HPP_
#define CAFFE_UTIL_LOG_PROGRESS_HPP_

namespace caffe {

/// Makes glog write to a terminal above a layrub::ProgressLine. GlobalInit calls it, once. With
/// --logtostderr, glog does not announce its writes, so log lines may overwrite the progress line.
void KeepProgressBelowLog();

}  // namespace caffe

#endif  // CAFFE_UTIL_LOG_PROGRESS_HPP_
