#ifndef CAFFE_KERNELS_REQUIRE_HPP_
#define CAFFE_KERNELS_REQUIRE_HPP_

namespace caffe {
namespace kernels {

/// Ends the program with message `what`, like a failed CHECK.
[[noreturn]] void RequirementFailed(const char* what);
/// CHECK for kernel headers: glog's header takes longer to compile than most kernels.
inline void Require(bool holds, const char* what) {
  if (!holds) RequirementFailed(what);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_REQUIRE_HPP_
