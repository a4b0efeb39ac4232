// Convolutions by cuDNN. Uses its older interface, which has one call for each pass and numbered
// algorithms, because it gives what a plan needs: a list of algorithms with workspace bytes and
// determinism.
#ifdef USE_CUDNN

#include "caffe/kernels/cuda/conv_cudnn.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "caffe/kernels/conv/conv_dims.hpp"
#include "caffe/kernels/conv/depthwise.hpp"
#include "caffe/kernels/cuda/cudnn_problem.hpp"
#include "caffe/operands.hpp"
#include "caffe/util/algorithm_table.hpp"
#include "caffe/util/library_settings.hpp"
#include "layrub/device/cuda/cudnn_library.hpp"

namespace caffe {
namespace kernels {
namespace {

using layrub::FindCudnn;

// The three passes by cuDNN. Guess lists the algorithms, the presumably fastest first. Measure runs
// them all, in memory that cuDNN allocates.

struct Forward {
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Row = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr ConvolutionPass kPass = ConvolutionPass::kForward;
  static constexpr std::array<const char*, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> kNames{
      "implicit_gemm", "implicit_precomp_gemm", "gemm", "direct", "fft", "fft_tiling",
      "winograd",      "winograd_nonfused"};
  static cudnnStatus_t Count(cudnnHandle_t handle, int* count) {
    return FindCudnn()->GetConvolutionForwardAlgorithmMaxCount(handle, count);
  }
  static cudnnStatus_t Guess(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                             Row* rows) {
    return FindCudnn()->GetConvolutionForwardAlgorithm_v7(handle, p.x(), p.w(), p.conv(), p.y(),
                                                          most, count, rows);
  }
  static cudnnStatus_t Measure(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                               Row* rows) {
    return FindCudnn()->FindConvolutionForwardAlgorithm(handle, p.x(), p.w(), p.conv(), p.y(), most,
                                                        count, rows);
  }
  static cudnnStatus_t Bytes(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                             size_t* bytes) {
    return FindCudnn()->GetConvolutionForwardWorkspaceSize(handle, p.x(), p.w(), p.conv(), p.y(),
                                                           algorithm, bytes);
  }
  /// y = x * w
  static cudnnStatus_t Run(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                           const void* one, const void* beta, const void* x, const void* w, void* y,
                           void* memory, size_t bytes) {
    return FindCudnn()->ConvolutionForward(handle, one, p.x(), x, p.w(), w, p.conv(), algorithm,
                                           memory, bytes, beta, p.y(), y);
  }
};

struct BackwardData {
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Row = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr ConvolutionPass kPass = ConvolutionPass::kBackwardData;
  static constexpr std::array<const char*, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> kNames{
      "algo_0", "algo_1", "fft", "fft_tiling", "winograd", "winograd_nonfused"};
  static cudnnStatus_t Count(cudnnHandle_t handle, int* count) {
    return FindCudnn()->GetConvolutionBackwardDataAlgorithmMaxCount(handle, count);
  }
  static cudnnStatus_t Guess(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                             Row* rows) {
    return FindCudnn()->GetConvolutionBackwardDataAlgorithm_v7(handle, p.w(), p.y(), p.conv(),
                                                               p.x(), most, count, rows);
  }
  static cudnnStatus_t Measure(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                               Row* rows) {
    return FindCudnn()->FindConvolutionBackwardDataAlgorithm(handle, p.w(), p.y(), p.conv(), p.x(),
                                                             most, count, rows);
  }
  static cudnnStatus_t Bytes(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                             size_t* bytes) {
    return FindCudnn()->GetConvolutionBackwardDataWorkspaceSize(handle, p.w(), p.y(), p.conv(),
                                                                p.x(), algorithm, bytes);
  }
  /// dx = the adjoint of Forward in x, applied to dy
  static cudnnStatus_t Run(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                           const void* one, const void* beta, const void* dy, const void* w,
                           void* dx, void* memory, size_t bytes) {
    return FindCudnn()->ConvolutionBackwardData(handle, one, p.w(), w, p.y(), dy, p.conv(),
                                                algorithm, memory, bytes, beta, p.x(), dx);
  }
};

struct BackwardWeights {
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Row = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr ConvolutionPass kPass = ConvolutionPass::kBackwardWeights;
  static constexpr std::array<const char*, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT> kNames{
      "algo_0", "algo_1", "fft", "algo_3", "winograd", "winograd_nonfused", "fft_tiling"};
  static cudnnStatus_t Count(cudnnHandle_t handle, int* count) {
    return FindCudnn()->GetConvolutionBackwardFilterAlgorithmMaxCount(handle, count);
  }
  static cudnnStatus_t Guess(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                             Row* rows) {
    return FindCudnn()->GetConvolutionBackwardFilterAlgorithm_v7(handle, p.x(), p.y(), p.conv(),
                                                                 p.w(), most, count, rows);
  }
  static cudnnStatus_t Measure(cudnnHandle_t handle, const CudnnProblem& p, int most, int* count,
                               Row* rows) {
    return FindCudnn()->FindConvolutionBackwardFilterAlgorithm(handle, p.x(), p.y(), p.conv(),
                                                               p.w(), most, count, rows);
  }
  static cudnnStatus_t Bytes(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                             size_t* bytes) {
    return FindCudnn()->GetConvolutionBackwardFilterWorkspaceSize(handle, p.x(), p.y(), p.conv(),
                                                                  p.w(), algorithm, bytes);
  }
  /// dw = beta * dw + the adjoint of Forward in w, applied to dy
  static cudnnStatus_t Run(cudnnHandle_t handle, const CudnnProblem& p, Algorithm algorithm,
                           const void* one, const void* beta, const void* x, const void* dy,
                           void* dw, void* memory, size_t bytes) {
    return FindCudnn()->ConvolutionBackwardFilter(handle, one, p.x(), x, p.y(), dy, p.conv(),
                                                  algorithm, memory, bytes, beta, p.w(), dw);
  }
};

template <typename Pass>
int NumberOf(std::string_view name) {
  for (size_t i = 0; i < Pass::kNames.size(); ++i) {
    if (name == Pass::kNames[i]) return static_cast<int>(i);
  }
  return -1;
}

/// Bytes of workspace that the algorithm needs; -1 if it cannot do this convolution.
template <typename Pass>
int64_t BytesOf(CudnnProblem* problem, int algorithm) {
  std::optional<int64_t>& known = problem->Bytes(Pass::kPass, algorithm);
  if (!known) {
    size_t bytes = 0;
    const cudnnStatus_t status = Pass::Bytes(
        CudnnHandle(), *problem, static_cast<typename Pass::Algorithm>(algorithm), &bytes);
    known = status == CUDNN_STATUS_SUCCESS ? static_cast<int64_t>(bytes) : -1;
  }
  return *known;
}

/// cuDNN's list of algorithms, measured or guessed. Each row also has a math type; rows of another
/// type than the problem's are used only if there are no others.
template <typename Pass>
AlgorithmTable Ask(CudnnProblem* problem, bool measure) {
  int most = 0, count = 0;
  const cudnnStatus_t counted = Pass::Count(CudnnHandle(), &most);
  CHECK_EQ(counted, CUDNN_STATUS_SUCCESS)
      << "cuDNN cannot list its algorithms: " << FindCudnn()->GetErrorString(counted);
  std::vector<typename Pass::Row> rows(most);
  const cudnnStatus_t status =
      measure ? Pass::Measure(CudnnHandle(), *problem, most, &count, rows.data())
              : Pass::Guess(CudnnHandle(), *problem, most, &count, rows.data());
  AlgorithmTable table;
  if (status != CUDNN_STATUS_SUCCESS) return table;
  for (const bool any_arithmetic : {false, true}) {
    if (!table.empty()) break;
    std::array<bool, Pass::kNames.size()> listed{};
    for (int i = 0; i < count; ++i) {
      const auto& row = rows[i];
      const int number = static_cast<int>(row.algo);
      if (row.status != CUDNN_STATUS_SUCCESS || listed.at(number)) continue;
      if (!any_arithmetic && row.mathType != problem->math()) continue;
      if (measure && !(row.time > 0)) continue;
      const int64_t bytes = BytesOf<Pass>(problem, number);
      if (bytes < 0) continue;
      listed[number] = true;
      const double seconds = measure ? row.time / 1000.0 : 0;
      table.push_back(
          {Pass::kNames[number], bytes, seconds, row.determinism == CUDNN_DETERMINISTIC});
    }
  }
  return table;
}

/// Measures our own kernel, in memory from the pool.
template <typename Dtype>
Algorithm MeasureDepthwise(const Convolution& conv, ConvolutionPass pass) {
  const SlidingWindow& window = conv.window;
  Blob<Dtype> x({conv.images, conv.channels, static_cast<int>(window.ImageSize())});
  Blob<Dtype> y({conv.images, conv.num_output, static_cast<int>(window.OutputSize())});
  Blob<Dtype> w({conv.num_output, static_cast<int>(window.KernelSize())});
  const DeviceContext context = DeviceContext::Current();
  const AlgorithmRun chosen{nullptr, kDepthwise};
  Algorithm depthwise;
  depthwise.name = kDepthwise;
  depthwise.seconds = SecondsOf([&] {
    switch (pass) {
      case ConvolutionPass::kForward:
        ConvolutionForward(context, conv, x.gpu_data(), w.gpu_data(), y.mutable_gpu_data(), chosen);
        break;
      case ConvolutionPass::kBackwardData:
        ConvolutionBackwardData(context, conv, y.gpu_data(), w.gpu_data(), x.mutable_gpu_data(),
                                chosen);
        break;
      case ConvolutionPass::kBackwardWeights:
        ConvolutionBackwardWeights(context, conv, x.gpu_data(), y.gpu_data(),
                                   Accumulator<Dtype>{w.mutable_gpu_data()}, chosen);
    }
    return true;
  });
  return depthwise;
}

bool Lists(const AlgorithmTable& table, std::string_view name) {
  return std::any_of(table.begin(), table.end(),
                     [name](const Algorithm& algorithm) { return algorithm.name == name; });
}

/// The algorithms of the pass: from this GPU's file, or measured now and stored there, or guessed.
template <typename Pass, typename Dtype>
const CudnnProblem::Table& TableOf(const Convolution& conv, CudnnProblem* problem) {
  CudnnProblem::Table& known = problem->table(Pass::kPass);
  const bool measure = library_settings().measure;
  if (known.asked && (known.measured || !measure)) return known;
  known = {true, measure, false, {}};
  const std::string name = NameOf(problem->dims(), Pass::kPass, cudnn::dataType<Dtype>::name) +
                           (library_settings().tf32 != Tf32::kOff ? " tf32" : "");
  AlgorithmCache& cache = CudnnTimes();
  AlgorithmTable found;
  const bool depthwise = IsDepthwise(conv);
  const bool complete = cache.Find(name, &found) && (!depthwise || Lists(found, kDepthwise));
  if (!complete && measure) {
    found = Ask<Pass>(problem, true);
    if (depthwise) found.push_back(MeasureDepthwise<Dtype>(conv, Pass::kPass));
    if (!found.empty()) cache.Store(name, found);
  }
  for (Algorithm& algorithm : found) {
    const int number = NumberOf<Pass>(algorithm.name);
    if (algorithm.name != kDepthwise)
      algorithm.bytes = number < 0 ? -1 : BytesOf<Pass>(problem, number);
    if (algorithm.bytes >= 0) known.algorithms.push_back(algorithm);
  }
  known.timed = !known.algorithms.empty();
  if (known.timed) return known;
  known.algorithms = Ask<Pass>(problem, false);
  if (depthwise) {
    Algorithm own;
    own.name = kDepthwise;
    known.algorithms.insert(known.algorithms.begin(), own);
  }
  return known;
}

template <typename Pass, typename Dtype>
void RunPass(CudnnProblem* problem, const AlgorithmRun& chosen, const Dtype* a, const Dtype* b,
             const Accumulator<Dtype>& out) {
  const int number = NumberOf<Pass>(chosen.algorithm);
  CHECK_GE(number, 0) << "cuDNN has no algorithm '" << chosen.algorithm << "' for "
                      << NameOf(problem->dims(), Pass::kPass, cudnn::dataType<Dtype>::name);
  const int64_t bytes = BytesOf<Pass>(problem, number);
  CHECK_GE(bytes, 0) << "cuDNN cannot use algorithm '" << chosen.algorithm << "' for "
                     << NameOf(problem->dims(), Pass::kPass, cudnn::dataType<Dtype>::name);
  const Dtype one = 1, beta = out.add ? 1 : 0;
  const cudnnStatus_t status =
      Pass::Run(CudnnHandle(), *problem, static_cast<typename Pass::Algorithm>(number), &one, &beta,
                a, b, out.sum, chosen.memory, static_cast<size_t>(bytes));
  CHECK_EQ(status, CUDNN_STATUS_SUCCESS)
      << "cuDNN, " << NameOf(problem->dims(), Pass::kPass, cudnn::dataType<Dtype>::name) << " by "
      << chosen.algorithm << " with " << bytes
      << " bytes of workspace: " << FindCudnn()->GetErrorString(status);
}

}  // namespace

template <typename Dtype>
std::vector<Algorithm> CudnnChoices(const DeviceContext& context, const Convolution& conv,
                                    const std::vector<ConvolutionPass>& passes) {
  ConvolutionDims dims;
  if (!context.launch || passes.empty() || !DimsOf(conv, &dims)) return {};
  using Type = cudnn::dataType<Dtype>;
  CudnnProblem* const problem = FindCudnnProblem(dims, Type::type);
  if (problem == nullptr) return {};
  bool timed = true;
  std::vector<AlgorithmTable> steps;
  for (const ConvolutionPass pass : passes) {
    const CudnnProblem::Table& table =
        pass == ConvolutionPass::kForward        ? TableOf<Forward, Dtype>(conv, problem)
        : pass == ConvolutionPass::kBackwardData ? TableOf<BackwardData, Dtype>(conv, problem)
                                                 : TableOf<BackwardWeights, Dtype>(conv, problem);
    timed = timed && table.timed;
    steps.push_back(table.algorithms);
  }
  return timed ? Combine(steps) : WithoutTimes(steps);
}

template <typename Dtype>
void CudnnRun(const DeviceContext&, const Convolution& conv, ConvolutionPass pass,
              const AlgorithmRun& chosen, const Dtype* a, const Dtype* b,
              const Accumulator<Dtype>& out) {
  ConvolutionDims dims;
  CudnnProblem* const problem =
      DimsOf(conv, &dims) ? FindCudnnProblem(dims, cudnn::dataType<Dtype>::type) : nullptr;
  CHECK(problem != nullptr) << "cuDNN has no such convolution";
  switch (pass) {
    case ConvolutionPass::kForward:
      return RunPass<Forward>(problem, chosen, a, b, out);
    case ConvolutionPass::kBackwardData:
      return RunPass<BackwardData>(problem, chosen, a, b, out);
    case ConvolutionPass::kBackwardWeights:
      return RunPass<BackwardWeights>(problem, chosen, a, b, out);
  }
}

#define LAYRUB_INSTANTIATE_CUDNN(Dtype)                                                         \
  template std::vector<Algorithm> CudnnChoices<Dtype>(const DeviceContext&, const Convolution&, \
                                                      const std::vector<ConvolutionPass>&);     \
  template void CudnnRun(const DeviceContext&, const Convolution&, ConvolutionPass,             \
                         const AlgorithmRun&, const Dtype*, const Dtype*,                       \
                         const Accumulator<Dtype>&)
LAYRUB_INSTANTIATE_CUDNN(float);
LAYRUB_INSTANTIATE_CUDNN(double);
#undef LAYRUB_INSTANTIATE_CUDNN

}  // namespace kernels
}  // namespace caffe

#endif  // USE_CUDNN
