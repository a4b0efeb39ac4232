// The fake cuDNN's convolutions, by plain loops. Algorithms differ as cuDNN's do: in the shapes
// they accept, in bytes of workspace, and in bits, since each adds in an order of its own. Some
// give different bits in each run.
#include <atomic>

#include "layrub/device/cuda/test/fake_libraries/fake_cudnn.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

namespace {

/// A convolution with three spatial axes. The first has size 1 if there are only two.
struct Problem {
  Problem(const Shape& x, const Shape& w, const cudnnConvolutionStruct& conv, const Shape& y)
      : images(x.sizes[0]), channels(x.sizes[1]), outputs(y.sizes[1]), groups(conv.groups) {
    const size_t axes = x.sizes.size() - 2;
    for (size_t i = 0; i < axes; ++i) {
      const size_t at = 3 - axes + i;
      in[at] = x.sizes[2 + i];
      out[at] = y.sizes[2 + i];
      kernel[at] = w.sizes[2 + i];
      pad[at] = conv.pad[i];
      stride[at] = conv.stride[i];
      dilation[at] = conv.dilation[i];
    }
    fits = channels % groups == 0 && outputs % groups == 0 && images == y.sizes[0] &&
           outputs == w.sizes[0] && channels / groups == w.sizes[1];
    for (size_t i = 0; i < 3; ++i) {
      fits = fits &&
             out[i] == (in[i] + 2 * pad[i] - dilation[i] * (kernel[i] - 1) - 1) / stride[i] + 1;
    }
  }

  bool Unit(const std::array<int, 3>& sizes) const { return sizes == std::array{1, 1, 1}; }

  /// Calls row(first value of x, first of y, value of w, values of y) for each row of the product
  /// of an input channel with one value of a kernel. The values of x are a stride apart. Goes from
  /// the last to the first if `backwards`.
  template <typename Row>
  void ForRows(bool backwards, const Row& row) const {
    const int inputs = channels / groups;
    const int taps = kernel[0] * kernel[1] * kernel[2];
    const int64_t all = int64_t{images} * outputs * inputs * taps;
    for (int64_t step = 0; step < all; ++step) {
      const int64_t at = backwards ? all - 1 - step : step;
      const int tap = static_cast<int>(at % taps);
      const int input = static_cast<int>(at / taps % inputs);
      const int output = static_cast<int>(at / taps / inputs % outputs);
      const int image = static_cast<int>(at / taps / inputs / outputs);
      const int channel = output / (outputs / groups) * inputs + input;
      const std::array<int, 3> k{tap / (kernel[1] * kernel[2]), tap / kernel[2] % kernel[1],
                                 tap % kernel[2]};
      std::array<int, 3> shift;  // x = y * stride + shift
      for (size_t i = 0; i < 3; ++i) shift[i] = k[i] * dilation[i] - pad[i];
      int first = 0, last = out[2];
      while (first < last && first * stride[2] + shift[2] < 0) ++first;
      while (first < last && (last - 1) * stride[2] + shift[2] >= in[2]) --last;
      if (first == last) continue;
      const int64_t w = (int64_t{output} * inputs + input) * taps + tap;
      for (int oz = 0; oz < out[0]; ++oz) {
        const int iz = oz * stride[0] + shift[0];
        for (int oy = 0; oy < out[1]; ++oy) {
          const int iy = oy * stride[1] + shift[1];
          if (iz < 0 || iz >= in[0] || iy < 0 || iy >= in[1]) continue;
          const int64_t x_row = ((int64_t{image} * channels + channel) * in[0] + iz) * in[1] + iy;
          const int64_t y_row = ((int64_t{image} * outputs + output) * out[0] + oz) * out[1] + oy;
          row(x_row * in[2] + first * stride[2] + shift[2], y_row * out[2] + first, w,
              last - first);
        }
      }
    }
  }

  int images, channels, outputs, groups;
  std::array<int, 3> in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, pad{0, 0, 0}, stride{1, 1, 1},
      dilation{1, 1, 1};
  bool fits = false;
};

enum class Pass : uint8_t { kForward, kData, kFilter };

/// Properties of an algorithm. `winograd` and `fft` accept only some shapes.
struct Algorithm {
  enum Kind : uint8_t { kGemm, kFft, kWinograd, kNever } kind = kGemm;
  double workspace = 0;  ///< in bytes of x, y and w together
  double seconds = 1;    ///< relative to the plain algorithm
  bool deterministic = true;
};

const std::vector<Algorithm>& Algorithms(Pass pass) {
  using A = Algorithm;
  static const std::vector<Algorithm> forward{
      {A::kGemm, 0, 1},  {A::kGemm, 0.25, 0.8}, {A::kGemm, 2, 0.9},     {A::kNever},
      {A::kFft, 3, 0.7}, {A::kFft, 1.5, 0.75},  {A::kWinograd, 0, 0.6}, {A::kWinograd, 1, 0.5}};
  static const std::vector<Algorithm> data{{A::kGemm, 0, 1, false}, {A::kGemm, 0.25, 0.9},
                                           {A::kFft, 3, 0.7},       {A::kFft, 1.5, 0.75},
                                           {A::kWinograd, 0, 0.6},  {A::kWinograd, 1, 0.5}};
  static const std::vector<Algorithm> filter{
      {A::kGemm, 0, 1, false},   {A::kGemm, 0.25, 0.9}, {A::kFft, 3, 0.7},
      {A::kGemm, 1, 0.4, false}, {A::kNever},           {A::kWinograd, 1, 0.5},
      {A::kFft, 1.5, 0.75}};
  return pass == Pass::kForward ? forward : pass == Pass::kData ? data : filter;
}

/// Whether the algorithm exists and can do this convolution. Then sets `*bytes` to its workspace.
bool Takes(Pass pass, int algorithm, const Problem& p, const Shape& x, const Shape& w,
           const Shape& y, size_t* bytes) {
  const std::vector<Algorithm>& all = Algorithms(pass);
  if (algorithm < 0 || algorithm >= static_cast<int>(all.size()) || !p.fits) return false;
  const Algorithm& it = all[static_cast<size_t>(algorithm)];
  const bool plain = p.Unit(p.stride) && p.Unit(p.dilation);
  if (it.kind == Algorithm::kNever || (it.kind == Algorithm::kFft && !plain)) return false;
  if (it.kind == Algorithm::kWinograd) {
    const bool three = p.kernel[1] == 3 && p.kernel[2] == 3 && p.in[0] == 1;
    if (!plain || !three || p.groups > 1 || IsDouble(x)) return false;
  }
  *bytes = static_cast<size_t>(it.workspace * double(x.Bytes() + w.Bytes() + y.Bytes()));
  return true;
}

struct Arrays {
  const void* x;
  const void* w;
  const void* y;
};

template <typename Number>
void Convolve(Pass pass, const Problem& p, bool backwards, int64_t results, double alpha,
              double beta, const Arrays& arrays, void* out) {
  const auto* const x = static_cast<const Number*>(arrays.x);
  const auto* const w = static_cast<const Number*>(arrays.w);
  const auto* const y = static_cast<const Number*>(arrays.y);
  std::vector<Number> result(static_cast<size_t>(results));
  Number* const r = result.data();
  const int step = p.stride[2];
  p.ForRows(backwards, [&](int64_t xi, int64_t yi, int64_t wi, int count) {
    if (pass == Pass::kForward) {
      for (int i = 0; i < count; ++i) r[yi + i] += w[wi] * x[xi + int64_t{i} * step];
    } else if (pass == Pass::kData) {
      for (int i = 0; i < count; ++i) r[xi + int64_t{i} * step] += w[wi] * y[yi + i];
    } else {
      Number sum = 0;
      for (int i = 0; i < count; ++i) sum += x[xi + int64_t{i} * step] * y[yi + i];
      r[wi] += sum;
    }
  });
  Blend(alpha, result, beta, out);
}

cudnnStatus_t Run(Pass pass, const char* name, cudnnHandle_t handle, const Shape& x, const Shape& w,
                  const cudnnConvolutionStruct& conv, const Shape& y, int algorithm, void* memory,
                  size_t bytes, const void* alpha, const void* beta, const Arrays& arrays,
                  void* out) {
  const Problem p(x, w, conv, y);
  size_t needed = 0;
  if (!Takes(pass, algorithm, p, x, w, y, &needed)) return CUDNN_STATUS_NOT_SUPPORTED;
  if (bytes < needed) return CUDNN_STATUS_BAD_PARAM;
  const Shape& result = pass == Pass::kForward ? y : pass == Pass::kData ? x : w;
  std::vector<Operand> operands{Out(result, out), {memory, static_cast<int64_t>(needed), true}};
  if (pass != Pass::kForward) operands.push_back(In(y, arrays.y));
  if (pass != Pass::kData) operands.push_back(In(x, arrays.x));
  if (pass != Pass::kFilter) operands.push_back(In(w, arrays.w));
  static std::atomic<int> runs = 0;
  const bool deterministic = Algorithms(pass)[static_cast<size_t>(algorithm)].deterministic;
  const bool backwards = (deterministic ? algorithm : ++runs) % 2 == 1;
  return Status(QueueCall(name, handle->place, operands,
                          [=, count = result.Count(), is_double = IsDouble(x), a = Factor(x, alpha),
                           b = Factor(x, beta)] {
                            Spoil(memory, static_cast<int64_t>(needed));
                            if (is_double) {
                              Convolve<double>(pass, p, backwards, count, a, b, arrays, out);
                            } else {
                              Convolve<float>(pass, p, backwards, count, a, b, arrays, out);
                            }
                          }));
}

/// Lists the algorithms, the fastest first and those that cannot do this convolution last. Lists
/// each for a second kind of arithmetic, too, as cuDNN does.
template <typename Row>
cudnnStatus_t List(Pass pass, const char* name, const Shape& x, const Shape& w,
                   const cudnnConvolutionStruct& conv, const Shape& y, bool timed, int most,
                   int* count, Row* rows) {
  const Problem p(x, w, conv, y);
  const cudnnStatus_t status = Plain(name);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  std::vector<Row> all;
  const std::vector<Algorithm>& algorithms = Algorithms(pass);
  for (size_t i = 0; i < algorithms.size(); ++i) {
    Row row{};
    row.algo = static_cast<decltype(row.algo)>(i);
    size_t bytes = 0;
    const bool takes = Takes(pass, static_cast<int>(i), p, x, w, y, &bytes);
    row.status = takes ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
    row.memory = bytes;
    row.time = takes ? static_cast<float>(algorithms[i].seconds) : -1;
    row.determinism = algorithms[i].deterministic ? CUDNN_DETERMINISTIC : CUDNN_NON_DETERMINISTIC;
    row.mathType = conv.math == CUDNN_FMA_MATH ? CUDNN_TENSOR_OP_MATH : CUDNN_FMA_MATH;
    all.push_back(row);
    row.mathType = conv.math;
    all.push_back(row);
  }
  std::stable_sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
    return std::pair(a.time < 0, a.time) < std::pair(b.time < 0, b.time);
  });
  *count = std::min(most, static_cast<int>(all.size()));
  std::copy_n(all.begin(), *count, rows);
  for (int i = 0; i < *count; ++i) {
    if (!timed) rows[i].time = -1;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t WorkspaceSize(Pass pass, const char* name, const Shape& x, const Shape& w,
                            const cudnnConvolutionStruct& conv, const Shape& y, int algorithm,
                            size_t* bytes) {
  const cudnnStatus_t status = Plain(name);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  return Takes(pass, algorithm, Problem(x, w, conv, y), x, w, y, bytes)
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_NOT_SUPPORTED;
}

}  // namespace

extern "C" {

#define LAYRUB_FAKE_CONVOLUTION(Name, kPass, Row, FirstType, first, SecondType, second, ThirdType, \
                                third, x, w, y)                                                    \
  cudnnStatus_t cudnnGetConvolution##Name##AlgorithmMaxCount(cudnnHandle_t, int* count) {          \
    *count = 2 * static_cast<int>(Algorithms(kPass).size());                                       \
    return Plain("cudnnGetConvolution" #Name "AlgorithmMaxCount");                                 \
  }                                                                                                \
  cudnnStatus_t cudnnGetConvolution##Name##Algorithm_v7(                                           \
      cudnnHandle_t, const FirstType first, const SecondType second,                               \
      const cudnnConvolutionDescriptor_t conv, const ThirdType third, const int most, int* count,  \
      Row* rows) {                                                                                 \
    return List(kPass, "cudnnGetConvolution" #Name "Algorithm_v7", *x, *w, *conv, *y, false, most, \
                count, rows);                                                                      \
  }                                                                                                \
  cudnnStatus_t cudnnFindConvolution##Name##Algorithm(                                             \
      cudnnHandle_t, const FirstType first, const SecondType second,                               \
      const cudnnConvolutionDescriptor_t conv, const ThirdType third, const int most, int* count,  \
      Row* rows) {                                                                                 \
    return List(kPass, "cudnnFindConvolution" #Name "Algorithm", *x, *w, *conv, *y, true, most,    \
                count, rows);                                                                      \
  }                                                                                                \
  cudnnStatus_t cudnnGetConvolution##Name##WorkspaceSize(                                          \
      cudnnHandle_t, const FirstType first, const SecondType second,                               \
      const cudnnConvolutionDescriptor_t conv, const ThirdType third,                              \
      decltype(Row::algo) algorithm, size_t* bytes) {                                              \
    return WorkspaceSize(kPass, "cudnnGetConvolution" #Name "WorkspaceSize", *x, *w, *conv, *y,    \
                         algorithm, bytes);                                                        \
  }
LAYRUB_FAKE_CONVOLUTION(Forward, Pass::kForward, cudnnConvolutionFwdAlgoPerf_t,
                        cudnnTensorDescriptor_t, x, cudnnFilterDescriptor_t, w,
                        cudnnTensorDescriptor_t, y, x, w, y)
LAYRUB_FAKE_CONVOLUTION(BackwardData, Pass::kData, cudnnConvolutionBwdDataAlgoPerf_t,
                        cudnnFilterDescriptor_t, w, cudnnTensorDescriptor_t, y,
                        cudnnTensorDescriptor_t, x, x, w, y)
LAYRUB_FAKE_CONVOLUTION(BackwardFilter, Pass::kFilter, cudnnConvolutionBwdFilterAlgoPerf_t,
                        cudnnTensorDescriptor_t, x, cudnnTensorDescriptor_t, y,
                        cudnnFilterDescriptor_t, w, x, w, y)
#undef LAYRUB_FAKE_CONVOLUTION

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha,
                                      const cudnnTensorDescriptor_t x_shape, const void* x,
                                      const cudnnFilterDescriptor_t w_shape, const void* w,
                                      const cudnnConvolutionDescriptor_t conv,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* memory,
                                      size_t bytes, const void* beta,
                                      const cudnnTensorDescriptor_t y_shape, void* y) {
  return Run(Pass::kForward, "cudnnConvolutionForward", handle, *x_shape, *w_shape, *conv, *y_shape,
             algorithm, memory, bytes, alpha, beta, {x, w, nullptr}, y);
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha,
                                           const cudnnFilterDescriptor_t w_shape, const void* w,
                                           const cudnnTensorDescriptor_t y_shape, const void* dy,
                                           const cudnnConvolutionDescriptor_t conv,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* memory,
                                           size_t bytes, const void* beta,
                                           const cudnnTensorDescriptor_t x_shape, void* dx) {
  return Run(Pass::kData, "cudnnConvolutionBackwardData", handle, *x_shape, *w_shape, *conv,
             *y_shape, algorithm, memory, bytes, alpha, beta, {nullptr, w, dy}, dx);
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha,
                                             const cudnnTensorDescriptor_t x_shape, const void* x,
                                             const cudnnTensorDescriptor_t y_shape, const void* dy,
                                             const cudnnConvolutionDescriptor_t conv,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm,
                                             void* memory, size_t bytes, const void* beta,
                                             const cudnnFilterDescriptor_t w_shape, void* dw) {
  return Run(Pass::kFilter, "cudnnConvolutionBackwardFilter", handle, *x_shape, *w_shape, *conv,
             *y_shape, algorithm, memory, bytes, alpha, beta, {x, nullptr, dy}, dw);
}

}  // extern "C"
