#ifndef CAFFE_UTIL_MAX_BLOB_AXES_HPP_
#define CAFFE_UTIL_MAX_BLOB_AXES_HPP_

/// The most axes that a blob may have.
const int kMaxBlobAxes = 32;

#endif  // CAFFE_UTIL_MAX_BLOB_AXES_HPP_
