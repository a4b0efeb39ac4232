#ifndef CAFFE_KERNELS_REQUIRE_HPP_
#define CAFFE_KERNELS_REQUIRE_HPP_

namespace caffe {
namespace kernels {

/// What CHECK does when it fails.
[[noreturn]] void RequirementFailed(const char* what);
/// CHECK for headers of kernels: its own header takes longer to compile than most kernels.
inline void Require(bool holds, const char* what) {
  if (!holds) RequirementFailed(what);
}

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_REQUIRE_HPP_
