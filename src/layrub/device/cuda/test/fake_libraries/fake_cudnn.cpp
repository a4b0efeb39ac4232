// A fake of the part of cuDNN that this project calls, by plain loops: handles, descriptors, and
// all operations except convolutions (fake_cudnn_convolution.cpp).
#include "layrub/device/cuda/test/fake_libraries/fake_cudnn.hpp"

#include <cmath>

// NOLINTNEXTLINE(build/namespaces)
using namespace layrub::fake_cuda;

namespace {

constexpr int64_t kLibraryBytes = int64_t{8} << 20;

/// Queues body(result), where `result` points to as many zeros, of the type of the values, as there
/// are of shape `to`; what it makes of them is blended into `out`. `in`: what else it reads.
template <typename Body>
cudnnStatus_t Queue(const char* name, cudnnHandle_t handle, std::vector<Operand> in,
                    const Shape& to, const void* alpha, const void* beta, void* out, Body body,
                    InPlace in_place = InPlace::kNo) {
  in.push_back(Out(to, out));
  const auto work = [=, a = Factor(to, alpha), b = Factor(to, beta)](auto number) {
    std::vector<decltype(number)> result(static_cast<size_t>(to.Count()));
    body(result.data());
    Blend(a, result, b, out);
  };
  return Status(QueueCall(
      name, handle->place, in,
      [=, is_double = IsDouble(to)] { is_double ? work(double()) : work(float()); }, in_place));
}

/// The type of the values that a body of Queue is given.
template <typename Pointer>
using NumberOf = std::remove_pointer_t<Pointer>;

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

/// What the square of each neighbour of channel `c` makes of it, to be raised to -beta.
template <typename Number>
double LrnScale(const cudnnLRNStruct& lrn, const Number* line, int64_t step, int c, int channels) {
  return lrn.k + lrn.alpha / lrn.size * Neighbours(lrn, c, channels, [&](int n) {
                   return double(line[n * step]) * line[n * step];
                 });
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

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  handle->place.stream = stream;
  return Status(PlainCall("cudnnSetStream"));
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

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                  const void* alpha, const cudnnTensorDescriptor_t x_shape,
                                  const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t y_shape, void* y) {
  const auto body = [=, p = *pooling, from = Shape(*x_shape), to = Shape(*y_shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    ForWindows(p, from, to, [&](int64_t out, int64_t in) {
      result[out] += static_cast<const Number*>(x)[in] / (p.window[0] * p.window[1]);
    });
  };
  return Queue("cudnnPoolingForward", handle, {In(*x_shape, x)}, *y_shape, alpha, beta, y, body);
}

/// An average's gradient depends on neither x nor y: they need be given, no more.
cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t pooling,
                                   const void* alpha, const cudnnTensorDescriptor_t y_shape,
                                   const void* y, const cudnnTensorDescriptor_t, const void* dy,
                                   const cudnnTensorDescriptor_t x_shape, const void* x,
                                   const void* beta, const cudnnTensorDescriptor_t, void* dx) {
  if (x == nullptr || y == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const auto body = [=, p = *pooling, to = Shape(*x_shape), from = Shape(*y_shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    ForWindows(p, to, from, [&](int64_t out, int64_t in) {
      result[in] += static_cast<const Number*>(dy)[out] / (p.window[0] * p.window[1]);
    });
  };
  return Queue("cudnnPoolingBackward", handle, {In(*y_shape, dy)}, *x_shape, alpha, beta, dx, body);
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn,
                                          cudnnLRNMode_t, const void* alpha,
                                          const cudnnTensorDescriptor_t shape, const void* x,
                                          const void* beta, const cudnnTensorDescriptor_t,
                                          void* y) {
  const auto body = [=, l = *lrn, s = Shape(*shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    const auto* const in = static_cast<const Number*>(x);
    ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
      for (int c = 0; c < channels; ++c) {
        const int64_t at = first + c * step;
        result[at] = static_cast<Number>(
            in[at] * std::pow(LrnScale(l, in + first, step, c, channels), -l.beta));
      }
    });
  };
  return Queue("cudnnLRNCrossChannelForward", handle, {In(*shape, x)}, *shape, alpha, beta, y,
               body);
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t lrn,
                                           cudnnLRNMode_t, const void* alpha,
                                           const cudnnTensorDescriptor_t shape, const void* y,
                                           const cudnnTensorDescriptor_t, const void* dy,
                                           const cudnnTensorDescriptor_t, const void* x,
                                           const void* beta, const cudnnTensorDescriptor_t,
                                           void* dx) {
  const auto body = [=, l = *lrn, s = Shape(*shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    const auto* const in = static_cast<const Number*>(x);
    const auto* const out = static_cast<const Number*>(y);
    const auto* const gradient = static_cast<const Number*>(dy);
    ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
      const auto scale = [&](int c) { return LrnScale(l, in + first, step, c, channels); };
      for (int c = 0; c < channels; ++c) {
        const double ratio = Neighbours(l, c, channels, [&](int n) {
          const int64_t at = first + n * step;
          return double(gradient[at]) * out[at] / scale(n);
        });
        const int64_t at = first + c * step;
        result[at] = static_cast<Number>(gradient[at] * std::pow(scale(c), -l.beta) -
                                         2 * l.alpha / l.size * l.beta * in[at] * ratio);
      }
    });
  };
  return Queue("cudnnLRNCrossChannelBackward", handle,
               {In(*shape, y), In(*shape, dy), In(*shape, x)}, *shape, alpha, beta, dx, body,
               InPlace::kYes);
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                  cudnnSoftmaxMode_t mode, const void* alpha,
                                  const cudnnTensorDescriptor_t shape, const void* x,
                                  const void* beta, const cudnnTensorDescriptor_t, void* y) {
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || mode != CUDNN_SOFTMAX_MODE_CHANNEL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  const auto body = [=, s = Shape(*shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    const auto* const in = static_cast<const Number*>(x);
    ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
      Number most = in[first];
      for (int c = 1; c < channels; ++c) most = std::max(most, in[first + c * step]);
      const auto power = [&](int c) { return std::exp(double(in[first + c * step] - most)); };
      double sum = 0;
      for (int c = 0; c < channels; ++c) sum += power(c);
      for (int c = 0; c < channels; ++c)
        result[first + c * step] = static_cast<Number>(power(c) / sum);
    });
  };
  return Queue("cudnnSoftmaxForward", handle, {In(*shape, x)}, *shape, alpha, beta, y, body,
               InPlace::kYes);
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm,
                                   cudnnSoftmaxMode_t mode, const void* alpha,
                                   const cudnnTensorDescriptor_t shape, const void* y,
                                   const cudnnTensorDescriptor_t, const void* dy, const void* beta,
                                   const cudnnTensorDescriptor_t, void* dx) {
  if (algorithm != CUDNN_SOFTMAX_ACCURATE || mode != CUDNN_SOFTMAX_MODE_CHANNEL)
    return CUDNN_STATUS_NOT_SUPPORTED;
  const auto body = [=, s = Shape(*shape)](auto* result) {
    using Number = NumberOf<decltype(result)>;
    const auto* const out = static_cast<const Number*>(y);
    const auto* const gradient = static_cast<const Number*>(dy);
    ForChannelLines(s, [&](int64_t first, int64_t step, int channels) {
      double dot = 0;
      for (int c = 0; c < channels; ++c)
        dot += double(gradient[first + c * step]) * out[first + c * step];
      for (int c = 0; c < channels; ++c) {
        const int64_t at = first + c * step;
        result[at] = static_cast<Number>(out[at] * (gradient[at] - dot));
      }
    });
  };
  return Queue("cudnnSoftmaxBackward", handle, {In(*shape, y), In(*shape, dy)}, *shape, alpha, beta,
               dx, body, InPlace::kYes);
}

}  // extern "C"
