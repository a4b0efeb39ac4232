#ifndef CAFFE_UTIL_SET_UP_LOG_HPP_
#define CAFFE_UTIL_SET_UP_LOG_HPP_

#include <glog/logging.h>

#include "caffe/common.hpp"

namespace caffe {

/// Whether messages of net set-up are logged: only by the root solver, and only if the log level
/// includes INFO. glog formats even messages that it drops, which takes longer than setting up a
/// layer.
inline bool LogsSetUp() { return Caffe::root_solver() && FLAGS_minloglevel <= google::GLOG_INFO; }

}  // namespace caffe

#endif  // CAFFE_UTIL_SET_UP_LOG_HPP_
