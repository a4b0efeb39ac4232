#ifndef CAFFE_UTIL_MAX_BLOB_AXES_HPP_
#define CAFFE_UTIL_MAX_BLOB_AXES_HPP_

/// The maximum number of axes of a blob.
const int kMaxBlobAxes = 32;

#endif  // CAFFE_UTIL_MAX_BLOB_AXES_HPP_
