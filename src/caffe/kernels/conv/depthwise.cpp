#include "caffe/kernels/conv/depthwise.hpp"

#include "caffe/kernels/loops.hpp"
#include "caffe/kernels/spans.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The sizes of a depthwise convolution, as kernels see them.
struct Planes {
  explicit Planes(const Convolution& conv)
      : image(conv.window.ImageSize()),
        output(conv.window.OutputSize()),
        images(conv.images),
        channels(conv.channels),
        multiplier(conv.num_output / conv.channels) {
    for (int axis = 0; axis < 2; ++axis) {
      in[axis] = conv.window.image[axis];
      out[axis] = conv.window.output[axis];
      kernel[axis] = conv.window.kernel[axis];
      pad[axis] = conv.window.pad[axis];
      stride[axis] = conv.window.stride[axis];
      dilation[axis] = conv.window.dilation[axis];
    }
  }
  LAYRUB_HOST_DEVICE int taps() const { return kernel[0] * kernel[1]; }
  /// Where tap `at` along an axis reads, relative to stride * output position.
  LAYRUB_HOST_DEVICE int Offset(int axis, int at) const { return at * dilation[axis] - pad[axis]; }

  int64_t image, output;  ///< values of a plane
  int images, channels;
  int multiplier;  ///< outputs per channel
  int in[2], out[2], kernel[2], pad[2], stride[2], dilation[2];
};

/// The outputs that a thread sums up: a single value in a register, or a segment of a row in
/// memory. For a segment each tap is applied to all values at once, so that a CPU vectorizes it.
/// Both add in the same order.
template <typename Dtype, bool kSingle>
struct RowSums {
  LAYRUB_HOST_DEVICE RowSums(Dtype* row, int begin, int end) : row_(row), begin_(begin), end_(end) {
    for (int i = begin; !kSingle && i < end; ++i) row[i] = 0;
  }
  /// Continues sums that another object has started.
  enum GoesOn { kGoesOn };
  LAYRUB_HOST_DEVICE RowSums(Dtype* row, int begin, int end, GoesOn)
      : row_(row), begin_(begin), end_(end) {}
  LAYRUB_HOST_DEVICE void Store() const {
    if constexpr (kSingle) row_[begin_] = sum_;
  }

  /// Adds to each output position `weight` times the value at position * stride + offset of the
  /// line `in`, which has `length` values.
  LAYRUB_HOST_DEVICE void Gather(Dtype weight, const Dtype* in, int length, int stride,
                                 int offset) {
    if constexpr (kSingle) {
      const int at = begin_ * stride + offset;
      if (at >= 0 && at < length) sum_ += weight * in[at];
    } else {
      const Span inside = InsideImage(offset, stride, 0, length, begin_, end_);
      if (stride == 1) {
        for (int i = inside.begin; i < inside.end; ++i) row_[i] += weight * in[i + offset];
      } else {
        for (int i = inside.begin; i < inside.end; ++i) row_[i] += weight * in[i * stride + offset];
      }
    }
  }

  /// Gather for all taps of a line of the kernel, in order: `weights`, at offset, offset + spacing,
  /// ... Three taps share one loop where all are inside the image.
  LAYRUB_HOST_DEVICE void GatherTaps(const Dtype* weights, int taps, const Dtype* in, int length,
                                     int stride, int offset, int spacing) {
    if constexpr (!kSingle) {
      if (taps == 3) return GatherThree(weights, in, length, stride, offset, spacing);
    }
    for (int k = 0; k < taps; ++k) Gather(weights[k], in, length, stride, offset + k * spacing);
  }

  /// The adjoint of Gather: adds `weight` times value i of `in` to position i * stride + offset.
  LAYRUB_HOST_DEVICE void GatherBack(Dtype weight, const Dtype* in, int length, int stride,
                                     int offset) {
    if constexpr (kSingle) {
      const int distance = begin_ - offset;
      if (distance < 0 || (stride > 1 && distance % stride != 0)) return;
      const int at = stride > 1 ? distance / stride : distance;
      if (at < length) sum_ += weight * in[at];
    } else {
      const Span inside = InsideImage(offset, stride, begin_, end_, 0, length);
      for (int i = inside.begin; i < inside.end; ++i) row_[i * stride + offset] += weight * in[i];
    }
  }

 private:
  LAYRUB_HOST_DEVICE void GatherThree(const Dtype* weights, const Dtype* in, int length, int stride,
                                      int offset, int spacing) {
    // All three taps are inside where the first and the last are.
    const Span one = InsideImage(offset, stride, 0, length, begin_, end_);
    const Span other = InsideImage(offset + 2 * spacing, stride, 0, length, begin_, end_);
    const int begin = one.begin > other.begin ? one.begin : other.begin;
    const int last = one.end < other.end ? one.end : other.end;
    const int end = last < begin ? begin : last;
    for (int k = 0; k < 3; ++k) {
      const int at = offset + k * spacing;
      RowSums(row_, begin_, begin, kGoesOn).Gather(weights[k], in, length, stride, at);
      RowSums(row_, end, end_, kGoesOn).Gather(weights[k], in, length, stride, at);
    }
    const Dtype a = weights[0], b = weights[1], c = weights[2];
    const Dtype* const first = in + offset;
    if (stride == 1) {
      for (int i = begin; i < end; ++i) {
        const Dtype* const at = first + i;
        row_[i] = ((row_[i] + a * at[0]) + b * at[spacing]) + c * at[2 * spacing];
      }
    } else {
      for (int i = begin; i < end; ++i) {
        const Dtype* const at = first + int64_t{i} * stride;
        row_[i] = ((row_[i] + a * at[0]) + b * at[spacing]) + c * at[2 * spacing];
      }
    }
  }

  Dtype* const row_;
  const int begin_, end_;
  Dtype sum_ = 0;
};

/// Computes a segment of row `row` of y.
template <bool kSingle, typename Dtype>
LAYRUB_HOST_DEVICE void ForwardRow(const Planes& p, const Dtype* x, const Dtype* weights, Dtype* y,
                                   int64_t row, int begin, int end) {
  const int64_t plane = row / p.out[0];  // of y: image, then output
  const int top = static_cast<int>(row - plane * p.out[0]) * p.stride[0];
  const int64_t outputs = int64_t{p.channels} * p.multiplier;
  const Dtype* const w = weights + plane % outputs * p.taps();
  const Dtype* const source = x + plane / p.multiplier * p.image;
  RowSums<Dtype, kSingle> sums(y + row * p.out[1], begin, end);
  for (int ky = 0; ky < p.kernel[0]; ++ky) {
    const int line = top + p.Offset(0, ky);
    if (line < 0 || line >= p.in[0]) continue;
    sums.GatherTaps(w + ky * p.kernel[1], p.kernel[1], source + int64_t{line} * p.in[1], p.in[1],
                    p.stride[1], p.Offset(1, 0), p.dilation[1]);
  }
  sums.Store();
}

/// Computes a segment of row `row` of dx.
template <bool kSingle, typename Dtype>
LAYRUB_HOST_DEVICE void BackwardRow(const Planes& p, const Dtype* dy, const Dtype* weights,
                                    Dtype* dx, int64_t row, int begin, int end) {
  const int64_t plane = row / p.in[0];  // of x: image, then channel
  const int line = static_cast<int>(row - plane * p.in[0]);
  RowSums<Dtype, kSingle> sums(dx + row * p.in[1], begin, end);
  for (int m = 0; m < p.multiplier; ++m) {
    const Dtype* const w = weights + (plane % p.channels * p.multiplier + m) * p.taps();
    const Dtype* const source = dy + (plane * p.multiplier + m) * p.output;
    for (int ky = 0; ky < p.kernel[0]; ++ky) {
      const int distance = line - p.Offset(0, ky);
      const int from = distance / p.stride[0];
      if (distance < 0 || from * p.stride[0] != distance || from >= p.out[0]) continue;
      const Dtype* const gradients = source + int64_t{from} * p.out[1];
      if (p.stride[1] == 1) {
        sums.GatherTaps(w + ky * p.kernel[1], p.kernel[1], gradients, p.out[1], 1, -p.Offset(1, 0),
                        -p.dilation[1]);
        continue;
      }
      for (int kx = 0; kx < p.kernel[1]; ++kx) {
        sums.GatherBack(w[ky * p.kernel[1] + kx], gradients, p.out[1], p.stride[1],
                        p.Offset(1, kx));
      }
    }
  }
  sums.Store();
}

/// Adds the products of a line of dy and the values of x under one tap to eight interleaved sums.
/// `kDense`: the stride is 1, so that a CPU vectorizes the loop.
template <bool kDense, typename Dtype>
void AddLineProduct(const Planes& p, const Dtype* x, const Dtype* dy, int offset, Dtype* sums) {
  const int stride = kDense ? 1 : p.stride[1];
  const Span inside = InsideImage(offset, stride, 0, p.in[1], 0, p.out[1]);
  Dtype own[8];
  for (int k = 0; k < 8; ++k) own[k] = sums[k];
  int i = inside.begin;
  for (; i + 8 <= inside.end; i += 8) {
    for (int k = 0; k < 8; ++k) own[k] += dy[i + k] * x[(i + k) * stride + offset];
  }
  for (int k = 0; k < 8; ++k) sums[k] = own[k];
  for (int k = 0; i < inside.end; ++i, ++k) sums[k] += dy[i] * x[i * stride + offset];
}

/// Number of taps whose gradients the CPU sums up together, reading x and dy once.
constexpr int kTaps = 9;

/// At most kTaps taps first, first + 1, ... of the weights of an output.
struct TapGroup {
  TapGroup(const Planes& p, int64_t index) {
    const int groups = (p.taps() + kTaps - 1) / kTaps;
    output = index / groups;
    first = static_cast<int>(index - output * groups) * kTaps;
    count = p.taps() - first < kTaps ? p.taps() - first : kTaps;
  }
  int64_t output;
  int first, count;
};

/// Computes the gradients of the weights in `group`.
template <typename Dtype>
void SumTaps(const Planes& p, const Dtype* x, const Dtype* dy, const TapGroup& group,
             Dtype* totals) {
  const int64_t outputs = int64_t{p.channels} * p.multiplier;
  const int64_t rows = int64_t{p.images} * p.out[0];
  Dtype sums[kTaps][8] = {};
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t image = row / p.out[0];
    const int from = static_cast<int>(row - image * p.out[0]);
    const Dtype* const gradients =
        dy + (image * outputs + group.output) * p.output + int64_t{from} * p.out[1];
    const Dtype* const plane = x + (image * p.channels + group.output / p.multiplier) * p.image;
    for (int k = 0; k < kTaps; ++k) {
      if (k >= group.count) break;
      const int tap = group.first + k, ky = tap / p.kernel[1], kx = tap - ky * p.kernel[1];
      const int line = from * p.stride[0] + p.Offset(0, ky), offset = p.Offset(1, kx);
      if (line < 0 || line >= p.in[0]) continue;
      const Dtype* const values = plane + int64_t{line} * p.in[1];
      if (p.stride[1] == 1) {
        AddLineProduct<true>(p, values, gradients, offset, sums[k]);
      } else {
        AddLineProduct<false>(p, values, gradients, offset, sums[k]);
      }
    }
  }
  for (int k = 0; k < kTaps; ++k) {
    totals[k] = 0;
    for (Dtype part : sums[k]) totals[k] += part;
  }
}

/// Number of taps of a kernel line whose gradients a GPU sums up together, reading dy once.
constexpr int kTapsOfLine = 3;

/// The contributions of one position of one image to the gradients of kTapsOfLine taps. For
/// ParallelReduce, whose rows are (output, kernel line, taps of the line).
template <typename Dtype>
struct TapProducts {
  TapProducts(const Planes& planes, const Dtype* from, const Dtype* gradients)
      : p(planes),
        groups((p.kernel[1] + kTapsOfLine - 1) / kTapsOfLine),
        image_of(p.output),
        line_of(p.out[1]),
        x(from),
        dy(gradients) {}

  int64_t rows() const { return int64_t{p.channels} * p.multiplier * p.kernel[0] * groups; }
  /// The number of the row's first tap in its line.
  LAYRUB_HOST_DEVICE int First(int64_t row) const {
    return static_cast<int>(row % groups) * kTapsOfLine;
  }

  LAYRUB_HOST_DEVICE Sums<Dtype, kTapsOfLine> operator()(int64_t row, int64_t i) const {
    const int64_t kernel_line = row / groups, output = kernel_line / p.kernel[0];
    const int64_t image = image_of(i), at = i - image * p.output, out_line = line_of(at);
    const int64_t outputs = int64_t{p.channels} * p.multiplier;
    const int line = static_cast<int>(out_line) * p.stride[0] +
                     p.Offset(0, static_cast<int>(kernel_line - output * p.kernel[0]));
    Sums<Dtype, kTapsOfLine> sums{};
    if (line < 0 || line >= p.in[0]) return sums;
    const Dtype gradient = dy[(image * outputs + output) * p.output + at];
    const Dtype* const values =
        x + (image * p.channels + output / p.multiplier) * p.image + int64_t{line} * p.in[1];
    const int column = static_cast<int>(at - out_line * p.out[1]) * p.stride[1];
    for (int k = 0; k < kTapsOfLine; ++k) {
      const int tap = First(row) + k, place = column + p.Offset(1, tap);
      if (tap < p.kernel[1] && place >= 0 && place < p.in[1])
        sums.values[k] = gradient * values[place];
    }
    return sums;
  }

  Planes p;
  int groups;  ///< of taps, in a line
  Divider image_of, line_of;
  const Dtype *x, *dy;
};

}  // namespace

bool IsDepthwise(const Convolution& conv) {
  return conv.window.axes == 2 && !conv.force_nd && conv.group == conv.channels && conv.group > 1;
}

template <typename Dtype>
void DepthwiseForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                      const Dtype* weights, Dtype* y) {
  const Planes p(conv);
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    if (end - begin == 1) {
      ForwardRow<true>(p, x, weights, y, row, begin, end);
    } else {
      ForwardRow<false>(p, x, weights, y, row, begin, end);
    }
  };
  ParallelForSegments(context, int64_t{conv.images} * conv.num_output * p.out[0], p.out[1],
                      int64_t{p.out[1]} * p.taps(), segment);
}

template <typename Dtype>
void DepthwiseBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                           const Dtype* weights, Dtype* dx) {
  const Planes p(conv);
  const auto segment = [=] LAYRUB_HOST_DEVICE(int64_t row, int begin, int end) {
    if (end - begin == 1) {
      BackwardRow<true>(p, dy, weights, dx, row, begin, end);
    } else {
      BackwardRow<false>(p, dy, weights, dx, row, begin, end);
    }
  };
  ParallelForSegments(context, int64_t{conv.images} * conv.channels * p.in[0], p.in[1],
                      int64_t{p.in[1]} * p.taps() * p.multiplier, segment);
}

template <typename Dtype>
void DepthwiseBackwardWeights(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                              const Dtype* dy, const Accumulator<Dtype>& dweights) {
  const Accumulator<Dtype> to = dweights;
  const Planes p(conv);
  if (context.launch) {
    const TapProducts<Dtype> products(p, x, dy);
    ParallelReduce<Sums<Dtype, kTapsOfLine>>(
        context, products.rows(), p.images * p.output, products,
        [=] LAYRUB_HOST_DEVICE(int64_t row, const Sums<Dtype, kTapsOfLine>& sums) {
          const int first = products.First(row);
          const int64_t line = row / products.groups;  // of all kernels
          for (int k = 0; k < kTapsOfLine && first + k < p.kernel[1]; ++k)
            to.Add(line * p.kernel[1] + first + k, sums.values[k]);
        });
    return;
  }
  const int64_t groups = int64_t{conv.num_output} * ((p.taps() + kTaps - 1) / kTaps);
  const int64_t cost = p.images * p.output * kTaps;
  const HostKernel scope(context);
  HostFor(groups, groups > 1 && groups * cost > kGrain, [=](int64_t index) {
    const TapGroup group(p, index);
    Dtype sums[kTaps];
    SumTaps(p, x, dy, group, sums);
    for (int k = 0; k < group.count; ++k)
      to.Add(group.output * p.taps() + group.first + k, sums[k]);
  });
}

#define LAYRUB_INSTANTIATE_DEPTHWISE(Dtype)                                                      \
  template void DepthwiseForward(const DeviceContext&, const Convolution&, const Dtype*,         \
                                 const Dtype*, Dtype*);                                          \
  template void DepthwiseBackwardData(const DeviceContext&, const Convolution&, const Dtype*,    \
                                      const Dtype*, Dtype*);                                     \
  template void DepthwiseBackwardWeights(const DeviceContext&, const Convolution&, const Dtype*, \
                                         const Dtype*, const Accumulator<Dtype>&)
LAYRUB_INSTANTIATE_DEPTHWISE(float);
LAYRUB_INSTANTIATE_DEPTHWISE(double);
#undef LAYRUB_INSTANTIATE_DEPTHWISE

}  // namespace kernels
}  // namespace caffe
