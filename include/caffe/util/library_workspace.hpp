#ifndef CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_
#define CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_

#include <cstdint>

namespace caffe {

/// Memory of a device in which a library works while it does what it was called for.
struct LibraryWorkspace {
  void* memory = nullptr;
  int64_t bytes = 0;
};

/// What the libraries that the calling thread calls, and kernels that add up in parts, work in:
/// while an operation of a plan runs, a range of that plan. Nothing otherwise: they then take of
/// the device's pool. What is in it means nothing to the next call.
LibraryWorkspace& library_workspace();

}  // namespace caffe

#endif  // CAFFE_UTIL_LIBRARY_WORKSPACE_HPP_
