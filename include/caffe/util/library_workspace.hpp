#ifndef CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_
#define CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_

#include <cstdint>

namespace caffe {

/// Device memory that a library uses during a call.
struct LibraryWorkspace {
  void* memory = nullptr;
  int64_t bytes = 0;
};

/// The workspace of libraries that the calling thread calls, and of kernels that sum in parts.
/// While an operation of a plan runs, it is a range of that plan. Otherwise it is empty, and they
/// allocate from the device's pool. Its contents do not survive a call.
LibraryWorkspace& library_workspace();

}  // namespace caffe

#endif  // CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_
