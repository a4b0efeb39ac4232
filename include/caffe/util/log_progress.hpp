#ifndef CAFFE_UTIL_LOG_PROGRESS_HPP_
#define CAFFE_UTIL_LOG_PROGRESS_HPP_

namespace caffe {

/// From now on what glog writes to a terminal goes above a layrub::ProgressLine. GlobalInit calls
/// it, once. With --logtostderr, under which glog tells nobody before it writes, log lines may be
/// written over what the line shows.
void KeepProgressBelowLog();

}  // namespace caffe

#endif  // CAFFE_UTIL_LOG_PROGRESS_HPP_
