// The part of cuDNN that this project calls, by plain loops. Algorithms differ as cuDNN's do: in
// the shapes that they take, in bytes of workspace, in bits (each adds up in an order of its own),
// and some of them give other bits at each run.
#include <cudnn.h>

#include <array>
#include <atomic>
#include <cmath>
#include <numeric>

#include "layrub/device/cuda/test/fake_libraries/fake_library.hpp"

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

struct cudnnContext {
  Place place;
};

namespace layrub::fake_cuda {

/// Of a tensor or filter: packed, batch and channels first.
struct Shape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;

  int64_t Count() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t Bytes() const { return Count() * (type == CUDNN_DATA_DOUBLE ? 8 : 4); }
};

}  // namespace layrub::fake_cuda

struct cudnnTensorStruct : Shape {};
struct cudnnFilterStruct : Shape {};
struct cudnnConvolutionStruct {
  std::vector<int> pad, stride, dilation;
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  std::array<int, 2> window{}, pad{}, stride{};
};
struct cudnnLRNStruct {
  int size = 0;
  double alpha = 0, beta = 0, k = 0;
};

namespace {

constexpr int64_t kLibraryBytes = int64_t{8} << 20;

cudnnStatus_t Status(cudaError_t error) {
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

cudnnStatus_t Plain(const char* name) { return Status(PlainCall(name)); }

bool IsDouble(const Shape& shape) { return shape.type == CUDNN_DATA_DOUBLE; }

/// The factors are of the type of the values.
double Factor(const Shape& shape, const void* at) {
  return IsDouble(shape) ? *static_cast<const double*>(at) : double{*static_cast<const float*>(at)};
}

Operand In(const Shape& shape, const void* address) { return {address, shape.Bytes(), false}; }
Operand Out(const Shape& shape, const void* address) { return {address, shape.Bytes(), true}; }

/// out = alpha * result + beta * out, which is not read if beta is 0
template <typename Number>
void Blend(double alpha, const std::vector<Number>& result, double beta, void* out) {
  auto* const values = static_cast<Number*>(out);
  for (size_t i = 0; i < result.size(); ++i) {
    values[i] = Number(alpha) * result[i] + (beta == 0 ? Number(0) : Number(beta) * values[i]);
  }
}

// ---------------------------------------------------------------- convolutions

/// A convolution with three spatial axes, the first of them 1 where there are two.
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

  /// Calls row(first value of x, first of y, value of w, values of y): each row of each product of
  /// an input channel with one value of a kernel, those of x a stride apart. From the last to the
  /// first if `backwards`.
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

/// What an algorithm is like: `winograd` and `fft` take some shapes only.
struct Algorithm {
  enum Kind : uint8_t { kGemm, kFft, kWinograd, kNever } kind = kGemm;
  double workspace = 0;  ///< in bytes of x, y and w together
  double seconds = 1;    ///< of what the plain one takes
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

/// Whether the algorithm is one and can do it; then sets `*bytes`, of its workspace.
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

/// Rows of a list of algorithms: the fastest first, those that cannot do it last. Each is listed
/// for another kind of arithmetic, too, as cuDNN does it.
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

// ---------------------------------------------------------------- other operations

/// Calls compute(Number()) by the type of `shape`.
template <typename Compute>
void ByType(const Shape& shape, const Compute& compute) {
  if (IsDouble(shape)) {
    compute(double());
  } else {
    compute(float());
  }
}

/// Windows with what they take of the padding.
template <typename Visit>
void ForWindows(const cudnnPoolingStruct& pooling, const Shape& x, const Shape& y,
                const Visit& visit) {
  const int height = x.sizes[2], width = x.sizes[3];
  const int64_t planes = int64_t{x.sizes[0]} * x.sizes[1];
  int64_t out = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for (int py = 0; py < y.sizes[2]; ++py) {
      for (int px = 0; px < y.sizes[3]; ++px, ++out) {
        for (int ky = 0; ky < pooling.window[0]; ++ky) {
          for (int kx = 0; kx < pooling.window[1]; ++kx) {
            const int iy = py * pooling.stride[0] - pooling.pad[0] + ky;
            const int ix = px * pooling.stride[1] - pooling.pad[1] + kx;
            if (iy >= 0 && iy < height && ix >= 0 && ix < width)
              visit(out, (plane * height + iy) * width + ix);
          }
        }
      }
    }
  }
}

/// The lines along the channels: visit(first value, step, values).
template <typename Visit>
void ForChannelLines(const Shape& shape, const Visit& visit) {
  const int channels = shape.sizes[1];
  const int64_t inner = shape.Count() / shape.sizes[0] / channels;
  for (int64_t image = 0; image < shape.sizes[0]; ++image) {
    for (int64_t i = 0; i < inner; ++i) visit(image * channels * inner + i, inner, channels);
  }
}

/// The sum over the neighbours of channel `c`.
template <typename Value>
double Neighbours(const cudnnLRNStruct& lrn, int c, int channels, const Value& value) {
  const int before = (lrn.size - 1) / 2;
  double sum = 0;
  for (int n = std::max(0, c - before); n <= std::min(channels - 1, c - before + lrn.size - 1); ++n)
    sum += value(n);
  return sum;
}

template <typename Descriptor>
cudnnStatus_t Create(const char* name, Descriptor** descriptor) {
  const cudnnStatus_t status = Plain(name);
  if (status == CUDNN_STATUS_SUCCESS) *descriptor = new Descriptor;
  return status;
}

template <typename Descriptor>
cudnnStatus_t Destroy(const char* name, Descriptor* descriptor) {
  delete descriptor;
  return Plain(name);
}

cudnnStatus_t SetShape(const char* name, Shape* shape, cudnnDataType_t type,
                       std::vector<int> sizes) {
  for (const int size : sizes) {
    if (size < 1) return CUDNN_STATUS_BAD_PARAM;
  }
  shape->type = type;
  shape->sizes = std::move(sizes);
  return Plain(name);
}

}  // namespace

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }

const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS         ? "CUDNN_STATUS_SUCCESS"
         : status == CUDNN_STATUS_BAD_PARAM     ? "CUDNN_STATUS_BAD_PARAM"
         : status == CUDNN_STATUS_NOT_SUPPORTED ? "CUDNN_STATUS_NOT_SUPPORTED"
                                                : "CUDNN_STATUS_EXECUTION_FAILED";
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  const cudnnStatus_t status = Status(OpenLibrary("cudnnCreate", kLibraryBytes));
  if (status == CUDNN_STATUS_SUCCESS) *handle = new cudnnContext;
  return status;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  const Place place = handle->place;
  delete handle;
  return Status(CloseLibrary("cudnnDestroy", place, kLibraryBytes));
}

#define LAYRUB_FAKE_DESCRIPTOR(Name, Struct)                         \
  cudnnStatus_t cudnnCreate##Name##Descriptor(Struct** descriptor) { \
    return Create("cudnnCreate" #Name "Descriptor", descriptor);     \
  }                                                                  \
  cudnnStatus_t cudnnDestroy##Name##Descriptor(Struct* descriptor) { \
    return Destroy("cudnnDestroy" #Name "Descriptor", descriptor);   \
  }
LAYRUB_FAKE_DESCRIPTOR(Tensor, cudnnTensorStruct)
LAYRUB_FAKE_DESCRIPTOR(Filter, cudnnFilterStruct)
LAYRUB_FAKE_DESCRIPTOR(Convolution, cudnnConvolutionStruct)
LAYRUB_FAKE_DESCRIPTOR(Pooling, cudnnPoolingStruct)
LAYRUB_FAKE_DESCRIPTOR(LRN, cudnnLRNStruct)
#undef LAYRUB_FAKE_DESCRIPTOR

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  if (format != CUDNN_TENSOR_NCHW) return CUDNN_STATUS_NOT_SUPPORTED;
  return SetShape("cudnnSetTensor4dDescriptor", tensor, type, {n, c, h, w});
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensor,
                                           cudnnTensorFormat_t format, cudnnDataType_t type,
                                           int axes, const int sizes[]) {
  if (format != CUDNN_TENSOR_NCHW || axes < 4 || axes > 5) return CUDNN_STATUS_NOT_SUPPORTED;
  return SetShape("cudnnSetTensorNdDescriptorEx", tensor, type, {sizes, sizes + axes});
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filter, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int axes, const int sizes[]) {
  if (format != CUDNN_TENSOR_NCHW || axes < 4 || axes > 5) return CUDNN_STATUS_NOT_SUPPORTED;
  return SetShape("cudnnSetFilterNdDescriptor", filter, type, {sizes, sizes + axes});
}

cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t conv, int axes,
                                              const int pad[], const int stride[],
                                              const int dilation[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t) {
  if (mode != CUDNN_CROSS_CORRELATION) return CUDNN_STATUS_NOT_SUPPORTED;
  for (int i = 0; i < axes; ++i) {
    if (pad[i] < 0 || stride[i] < 1 || dilation[i] < 1) return CUDNN_STATUS_BAD_PARAM;
  }
  conv->pad.assign(pad, pad + axes);
  conv->stride.assign(stride, stride + axes);
  conv->dilation.assign(dilation, dilation + axes);
  return Plain("cudnnSetConvolutionNdDescriptor");
}

cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t conv, int groups) {
  conv->groups = groups;
  return Plain("cudnnSetConvolutionGroupCount");
}

cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t conv, cudnnMathType_t math) {
  conv->math = math;
  return Plain("cudnnSetConvolutionMathType");
}

cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t pooling, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t, int height, int width, int pad_h,
                                          int pad_w, int stride_h, int stride_w) {
  if (mode != CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) return CUDNN_STATUS_NOT_SUPPORTED;
  *pooling = {{height, width}, {pad_h, pad_w}, {stride_h, stride_w}};
  return Plain("cudnnSetPooling2dDescriptor");
}

cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t lrn, unsigned size, double alpha,
                                    double beta, double k) {
  if (size < CUDNN_LRN_MIN_N || size > CUDNN_LRN_MAX_N || k < CUDNN_LRN_MIN_K ||
      beta < CUDNN_LRN_MIN_BETA) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  *lrn = {static_cast<int>(size), alpha, beta, k};
  return Plain("cudnnSetLRNDescriptor");
}

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

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void* alpha, const cudnnTensorDescriptor_t x_shape,
                                  const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_shape, void* y) {
  return Status(QueueCall("cudnnPoolingForward", handle->place, {In(*x_shape, x), Out(*y_shape, y)},
                          [=, pooling = *pooling, xs = Shape(*x_shape), ys = Shape(*y_shape),
                           a = Factor(*x_shape, alpha), b = Factor(*x_shape, beta)] {
                            ByType(xs, [&](auto number) {
                              using Number = decltype(number);
                              std::vector<Number> result(static_cast<size_t>(ys.Count()));
                              ForWindows(pooling, xs, ys, [&](int64_t out, int64_t in) {
                                result[static_cast<size_t>(out)] +=
                                    static_cast<const Number*>(x)[in];
                              });
                              Blend(a / (pooling.window[0] * pooling.window[1]), result, b, y);
                            });
                          }));
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                   const void* alpha, const cudnnTensorDescriptor_t y_shape,
                                   const void* y, const cudnnTensorDescriptor_t, const void* dy,
                                   const cudnnTensorDescriptor_t x_shape, const void* x,
                                   const void* beta, const cudnnTensorDescriptor_t, void* dx) {
  // An average's gradient depends on neither x nor y: they need be memory of the device, no more.
  if (x == nullptr || y == nullptr) return CUDNN_STATUS_BAD_PARAM;
  return Status(
      QueueCall("cudnnPoolingBackward", handle->place, {In(*y_shape, dy), Out(*x_shape, dx)},
                [=, pooling = *pooling, xs = Shape(*x_shape), ys = Shape(*y_shape),
                 a = Factor(*x_shape, alpha), b = Factor(*x_shape, beta)] {
                  ByType(xs, [&](auto number) {
                    using Number = decltype(number);
                    std::vector<Number> result(static_cast<size_t>(xs.Count()));
                    ForWindows(pooling, xs, ys, [&](int64_t out, int64_t in) {
                      result[static_cast<size_t>(in)] += static_cast<const Number*>(dy)[out];
                    });
                    Blend(a / (pooling.window[0] * pooling.window[1]), result, b, dx);
                  });
                }));
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn,
                                          cudnnLRNMode_t, const void* alpha,
                                          const cudnnTensorDescriptor_t shape, const void* x,
                                          const void* beta, const cudnnTensorDescriptor_t,
                                          void* y) {
  return Status(QueueCall(
      "cudnnLRNCrossChannelForward", handle->place, {In(*shape, x), Out(*shape, y)},
      [=, lrn = *lrn, s = Shape(*shape), a = Factor(*shape, alpha), b = Factor(*shape, beta)] {
        ByType(s, [&](auto number) {
          using Number = decltype(number);
          const auto* const in = static_cast<const Number*>(x);
          std::vector<Number> result(static_cast<size_t>(s.Count()));
          ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
            for (int c = 0; c < channels; ++c) {
              const double squares = Neighbours(lrn, c, channels, [&](int n) {
                return double(in[first + n * step]) * in[first + n * step];
              });
              const double scale = lrn.k + lrn.alpha / lrn.size * squares;
              result[static_cast<size_t>(first + c * step)] =
                  static_cast<Number>(in[first + c * step] * std::pow(scale, -lrn.beta));
            }
          });
          Blend(a, result, b, y);
        });
      }));
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn,
                                           cudnnLRNMode_t, const void* alpha,
                                           const cudnnTensorDescriptor_t shape, const void* y,
                                           const cudnnTensorDescriptor_t, const void* dy,
                                           const cudnnTensorDescriptor_t, const void* x,
                                           const void* beta, const cudnnTensorDescriptor_t,
                                           void* dx) {
  return Status(QueueCall(
      "cudnnLRNCrossChannelBackward", handle->place,
      {In(*shape, y), In(*shape, dy), In(*shape, x), Out(*shape, dx)},
      [=, lrn = *lrn, s = Shape(*shape), a = Factor(*shape, alpha), b = Factor(*shape, beta)] {
        ByType(s, [&](auto number) {
          using Number = decltype(number);
          const auto* const in = static_cast<const Number*>(x);
          const auto* const out = static_cast<const Number*>(y);
          const auto* const gradient = static_cast<const Number*>(dy);
          std::vector<Number> result(static_cast<size_t>(s.Count()));
          ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
            const auto scale = [&](int c) {
              return lrn.k + lrn.alpha / lrn.size * Neighbours(lrn, c, channels, [&](int n) {
                               return double(in[first + n * step]) * in[first + n * step];
                             });
            };
            for (int c = 0; c < channels; ++c) {
              const double ratio = Neighbours(lrn, c, channels, [&](int n) {
                const int64_t at = first + n * step;
                return double(gradient[at]) * out[at] / scale(n);
              });
              const int64_t at = first + c * step;
              result[static_cast<size_t>(at)] =
                  static_cast<Number>(gradient[at] * std::pow(scale(c), -lrn.beta) -
                                      2 * lrn.alpha / lrn.size * lrn.beta * in[at] * ratio);
            }
          });
          Blend(a, result, b, dx);
        });
      },
      InPlace::kYes));
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void* alpha,
                                  const cudnnTensorDescriptor_t shape, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t, void* y) {
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || mode != CUDNN_SOFTMAX_MODE_CHANNEL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return Status(QueueCall(
      "cudnnSoftmaxForward", handle->place, {In(*shape, x), Out(*shape, y)},
      [=, s = Shape(*shape), a = Factor(*shape, alpha), b = Factor(*shape, beta)] {
        ByType(s, [&](auto number) {
          using Number = decltype(number);
          const auto* const in = static_cast<const Number*>(x);
          std::vector<Number> result(static_cast<size_t>(s.Count()));
          ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
            Number most = in[first];
            for (int c = 1; c < channels; ++c) most = std::max(most, in[first + c * step]);
            double sum = 0;
            for (int c = 0; c < channels; ++c) sum += std::exp(double(in[first + c * step] - most));
            for (int c = 0; c < channels; ++c) {
              const int64_t at = first + c * step;
              result[static_cast<size_t>(at)] =
                  static_cast<Number>(std::exp(double(in[at] - most)) / sum);
            }
          });
          Blend(a, result, b, y);
        });
      },
      InPlace::kYes));
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void* alpha,
                                   const cudnnTensorDescriptor_t shape, const void* y,
                                   const cudnnTensorDescriptor_t, const void* dy, const void* beta,
                                   const cudnnTensorDescriptor_t, void* dx) {
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || mode != CUDNN_SOFTMAX_MODE_CHANNEL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  return Status(QueueCall(
      "cudnnSoftmaxBackward", handle->place, {In(*shape, y), In(*shape, dy), Out(*shape, dx)},
      [=, s = Shape(*shape), a = Factor(*shape, alpha), b = Factor(*shape, beta)] {
        ByType(s, [&](auto number) {
          using Number = decltype(number);
          const auto* const out = static_cast<const Number*>(y);
          const auto* const gradient = static_cast<const Number*>(dy);
          std::vector<Number> result(static_cast<size_t>(s.Count()));
          ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
            double dot = 0;
            for (int c = 0; c < channels; ++c)
              dot += double(gradient[first + c * step]) * out[first + c * step];
            for (int c = 0; c < channels; ++c) {
              const int64_t at = first + c * step;
              result[static_cast<size_t>(at)] = static_cast<Number>(out[at] * (gradient[at] - dot));
            }
          });
          Blend(a, result, b, dx);
        });
      },
      InPlace::kYes));
}

}  // extern "C"
