#ifndef CAFFE_KERNELS_ENGINES_HPP_
#define CAFFE_KERNELS_ENGINES_HPP_

// Which kernel runs an operation that the device's library has one for as well: ours or its own,
// whichever was measured to be faster.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/memory_traits.hpp"

namespace caffe {

class AlgorithmCache;

namespace kernels {

/// What a kernel works with: the memory of the workspace that was chosen for its operation, and of
/// that one's name what is about this kernel (AlgorithmOf). No name: ours, where there is no
/// choice.
struct AlgorithmScratch {
  void* memory = nullptr;
  std::string_view algorithm = {};
};

inline constexpr const char* kOwn = "own";
inline constexpr const char* kCudnn = "cudnn";

/// Seconds of a call of `run`, the least of several measurements; the first call of all is not
/// measured. 0 if that one returns false: it cannot be done.
double SecondsOf(const std::function<bool()>& run);

/// The choices among `engines`, kOwn one of them: those of known times that no other one beats
/// (Combine). Empty while times are not known, and where ours is all that is left: there is no
/// choice then. `what` is text with all that times depend on. Times come from `cache`, or, if
/// `measure`, from seconds(engine), once, and are kept there; an engine that takes 0 is left out.
std::vector<Workspace> ChooseEngines(const std::string& what, std::vector<Workspace> engines,
                                     AlgorithmCache* cache, bool measure,
                                     const std::function<double(const Workspace&)>& seconds);

/// An operation that our kernel runs with `own_bytes` of workspace, the library's with
/// `library_bytes`.
template <typename Dtype>
struct Rivals {
  std::string what;  ///< all that times depend on, but the type of values
  int64_t own_bytes = 0;
  int64_t library_bytes = 0;
  std::vector<int64_t> operands;  ///< how many values each has
  /// Runs the kernel that it is told, on operands of these sizes; false if that cannot be done.
  std::function<bool(const AlgorithmScratch&, const std::vector<Dtype*>&)> run;
};

/// ChooseEngines for the library of `context` (library_kernels.hpp), measured if library_settings()
/// says so. Empty where there is no library.
template <typename Dtype>
std::vector<Workspace> ChooseRival(const DeviceContext& context, const Rivals<Dtype>& rivals);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ENGINES_HPP_
