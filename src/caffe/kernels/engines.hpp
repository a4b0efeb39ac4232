#ifndef CAFFE_KERNELS_ENGINES_HPP_
#define CAFFE_KERNELS_ENGINES_HPP_

// Chooses between our kernel and the device library's (cuDNN) for operations that both can run, by
// measured times.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/device_context.hpp"
#include "caffe/memory_traits.hpp"

namespace caffe {

class AlgorithmCache;

namespace kernels {

/// The algorithm and workspace of a kernel call. `algorithm` is the part of the operation's choice
/// that names this kernel (AlgorithmOf); empty means our kernel, where there is no choice.
struct AlgorithmRun {
  void* memory = nullptr;
  std::string_view algorithm = {};
};

inline constexpr const char* kOwn = "own";
inline constexpr const char* kCudnn = "cudnn";

/// Returns the seconds of one call of `run`, the minimum of several measurements. The first call is
/// a warm-up and is not measured. Returns 0 if the first call returns false: `run` cannot do it.
double SecondsOf(const std::function<bool()>& run);

/// Returns the useful choices among `engines`, which include kOwn: those with known times that no
/// other engine beats (Combine). Returns an empty list if the times are not known or only our
/// kernel remains, since there is no choice then. `what` names everything that the times depend on.
/// Times come from `cache`. If they are not there and `measure` is true, seconds(engine) measures
/// each engine once and the result is stored; engines that return 0 are left out.
std::vector<Algorithm> ChooseEngines(const std::string& what, std::vector<Algorithm> engines,
                                     AlgorithmCache* cache, bool measure,
                                     const std::function<double(const Algorithm&)>& seconds);

/// An operation that both our kernel and the library's can run, with a workspace of `own_bytes` or
/// `library_bytes`.
template <typename Dtype>
struct Rivals {
  std::string what;  ///< everything that the times depend on, except the element type
  int64_t own_bytes = 0;
  int64_t library_bytes = 0;
  std::vector<int64_t> operands;  ///< number of values of each operand
  /// Runs the given kernel on operands of these sizes. Returns false if it cannot do it.
  std::function<bool(const AlgorithmRun&, const std::vector<Dtype*>&)> run;
};

/// ChooseEngines for our kernel and the library of `context` (library_kernels.hpp); measures if
/// library_settings().measure is set. Empty if there is no library.
template <typename Dtype>
std::vector<Algorithm> ChooseRival(const DeviceContext& context, const Rivals<Dtype>& rivals);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ENGINES_HPP_
