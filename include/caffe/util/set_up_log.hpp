#ifndef CAFFE_UTIL_SET_UP_LOG_HPP_
#define CAFFE_UTIL_SET_UP_LOG_HPP_

#include <glog/logging.h>

#include "caffe/common.hpp"

namespace caffe {

/// Whether anybody reads what is logged while nets are set up: of several solvers the root alone
/// speaks, and the log may begin above INFO. A message that glog drops has been put together
/// before, which takes longer than setting up a layer.
inline bool LogsSetUp() { return Caffe::root_solver() && FLAGS_minloglevel <= google::GLOG_INFO; }

}  // namespace caffe

#endif  // CAFFE_UTIL_SET_UP_LOG_HPP_
