#include "caffe/kernels/conv/conv.hpp"

#include <optional>
#include <type_traits>

#include "caffe/kernels/conv/conv_onednn.hpp"
#include "caffe/kernels/conv/depthwise.hpp"
#include "caffe/kernels/math/gemm.hpp"
#include "caffe/kernels/parallel.hpp"
#include "caffe/util/algorithm_table.hpp"
#include "caffe/util/channel_shape.hpp"
#ifdef USE_CUDNN
#include "caffe/kernels/cuda/conv_cudnn.hpp"
#endif

namespace caffe {
namespace kernels {
namespace {

/// The matrices of one group of one image: output (rows x columns) = weights (rows x inner) *
/// column matrix (inner x columns).
struct GroupSizes {
  explicit GroupSizes(const Convolution& conv)
      : rows(conv.num_output / conv.group),
        inner(conv.window.channels * conv.window.KernelSize()),
        columns(conv.window.OutputSize()),
        image(conv.window.channels * conv.window.ImageSize()) {}
  int64_t rows, inner, columns;
  int64_t image;  ///< values of one group's share of an image
};

/// The products of a pointwise convolution that share weights: one group of all images. `factor`
/// and `result` are the values of one product's input and output.
GemmBatch OverImages(const Convolution& conv, int64_t factor, int64_t result) {
  return {conv.images, 0, conv.group * factor, conv.group * result};
}

bool TwoAxes(const Convolution& conv) { return conv.window.axes == 2 && !conv.force_nd; }

template <typename Dtype>
const Dtype* ColumnsOf(const DeviceContext& context, const Convolution& conv, const Dtype* image,
                       Dtype* workspace) {
  if (conv.Pointwise()) return image;
  if (TwoAxes(conv)) {
    Im2col(context, conv.window, image, workspace);
  } else {
    Im2colNd(context, conv.window, image, workspace);
  }
  return workspace;
}

/// The workspace of a matrix product, in values: the column matrix of a group, and, for blobs in
/// blocks, one image of x and one of y as plain arrays.
struct ColumnWorkspace {
  explicit ColumnWorkspace(const Convolution& conv)
      : x(conv.window.ColumnCount()),
        y(x + (conv.x_block > 1 ? conv.channels * conv.window.ImageSize() : 0)),
        end(y + (conv.y_block > 1 ? conv.num_output * conv.window.OutputSize() : 0)) {}
  int64_t values() const { return end; }
  int64_t x, y, end;
};

/// Gives access to the images of x or y, one by one, as plain arrays.
template <typename Dtype>
class Images {
 public:
  /// `array`: memory for one image, used if the images are in blocks.
  Images(int64_t channels, int64_t inner, int block, Dtype* array)
      : image_{1, channels, inner, block}, array_(array) {}

  const Dtype* Read(const Dtype* images, int64_t image) const {
    const Dtype* const from = images + image * image_.count();
    if (image_.block == 1) return from;
    ArrayFromBlocks(image_, from, array_);
    return array_;
  }
  /// Where to write an image. Call Written when it is complete.
  Dtype* ToWrite(Dtype* images, int64_t image) const {
    return image_.block == 1 ? images + image * image_.count() : array_;
  }
  void Written(Dtype* images, int64_t image) const {
    if (image_.block > 1) BlocksFromArray(image_, array_, images + image * image_.count());
  }

 private:
  const ChannelShape image_;
  Dtype* const array_;
};
template <typename Dtype>
Images<Dtype> ImagesOfX(const Convolution& conv, Dtype* workspace) {
  return {conv.channels, conv.window.ImageSize(), conv.x_block,
          conv.x_block == 1 ? nullptr : workspace + ColumnWorkspace(conv).x};
}
template <typename Dtype>
Images<Dtype> ImagesOfY(const Convolution& conv, Dtype* workspace) {
  return {conv.num_output, conv.window.OutputSize(), conv.y_block,
          conv.y_block == 1 ? nullptr : workspace + ColumnWorkspace(conv).y};
}

/// The name of the matrix product if other passes of the operation have named algorithms.
constexpr const char* kColumns = "columns";

/// The algorithm of `pass` without cuDNN. The matrix product has no name.
template <typename Dtype>
Algorithm OneAlgorithm(const DeviceContext& context, const Convolution& conv,
                       ConvolutionPass pass) {
  Algorithm algorithm;
  if constexpr (std::is_same_v<Dtype, float>) {
    const std::optional<int64_t> bytes = context.launch ? std::nullopt : OneDnnBytes(conv, pass);
    if (bytes) {
      algorithm.name = kOneDnn;
      algorithm.bytes = *bytes;
      return algorithm;
    }
  }
  if (IsDepthwise(conv)) {
    algorithm.name = kDepthwise;
  } else if (!conv.Pointwise()) {
    algorithm.bytes = ColumnWorkspace(conv).values() * int64_t{sizeof(Dtype)};
  }
  return algorithm;
}

void RunOneDnn(const DeviceContext& context, const Convolution& conv, ConvolutionPass pass,
               const AlgorithmRun& chosen, const float* a, const float* b,
               const Accumulator<float>& out) {
  CHECK(!context.launch) << "oneDNN computes in memory of the host.";
  const HostKernel scope(context);
  OneDnnRun(conv, pass, chosen.memory, a, b, out);
}

void RunOneDnn(const DeviceContext&, const Convolution&, ConvolutionPass, const AlgorithmRun&,
               const double*, const double*, const Accumulator<double>&) {
  LOG(FATAL) << "oneDNN has no convolutions of double precision.";
}

}  // namespace

bool Convolution::Pointwise() const {
  for (int i = 0; i < window.axes; ++i) {
    if (window.kernel[i] != 1 || window.stride[i] != 1 || window.pad[i] != 0) return false;
  }
  return true;
}

double Convolution::Flops() const {
  const GroupSizes size(*this);
  return 2.0 * images * group * size.rows * size.inner * size.columns;
}

template <typename Dtype>
std::vector<Algorithm> ConvolutionAlgorithms(const DeviceContext& context, const Convolution& conv,
                                             const std::vector<ConvolutionPass>& passes) {
#ifdef USE_CUDNN
  const std::vector<Algorithm> choices = CudnnChoices<Dtype>(context, conv, passes);
  if (!choices.empty()) return choices;
#endif
  std::vector<AlgorithmTable> ways;
  bool named = false;
  for (const ConvolutionPass pass : passes) {
    ways.push_back({OneAlgorithm<Dtype>(context, conv, pass)});
    named |= !ways.back()[0].name.empty();
  }
  if (named) {
    for (AlgorithmTable& way : ways) {
      if (way[0].name.empty()) way[0].name = kColumns;
    }
    return WithoutTimes(ways);
  }
  if (ways.empty() || ways[0][0].bytes == 0) return {};
  return ways[0];
}

template <typename Dtype>
int ItemsOfExactSlices(const DeviceContext& context, const Convolution& conv,
                       const std::vector<ConvolutionPass>& passes) {
  const auto sums = [](ConvolutionPass pass) { return pass == ConvolutionPass::kBackwardWeights; };
  int items = 1;
  for (const ConvolutionPass pass : passes) {
#ifdef USE_CUDNN
    if (!CudnnChoices<Dtype>(context, conv, {pass}).empty()) return 0;
#endif
    const std::string name = OneAlgorithm<Dtype>(context, conv, pass).name;
    if (name == kDepthwise && sums(pass)) return 0;
    if (name == kOneDnn) items = OneDnnImages(conv);
  }
  return items;
}

template <typename Dtype>
ConvolutionBlocks BlocksOf(const DeviceContext& context, const Convolution& conv,
                           const std::vector<ConvolutionPass>& passes) {
  if (context.gpu || IsDepthwise(conv) || conv.Pointwise()) return {};
  ConvolutionBlocks blocks{1, 0};
  for (const ConvolutionPass pass : passes) {
    if (OneAlgorithm<Dtype>(context, conv, pass).name != kOneDnn) {
      --blocks.spared;
      continue;
    }
    const int liked = OneDnnPreferredBlock(conv, pass);
    if (liked == 0 || (blocks.size > 1 && blocks.size != liked)) return {};
    blocks.size = liked;
    ++blocks.spared;
  }
  return blocks;
}

template <typename Dtype>
void ConvolutionForward(const DeviceContext& context, const Convolution& conv, const Dtype* x,
                        const Dtype* weights, Dtype* y, const AlgorithmRun& chosen) {
  if (chosen.algorithm == kDepthwise) return DepthwiseForward(context, conv, x, weights, y);
  if (chosen.algorithm == kOneDnn)
    return RunOneDnn(context, conv, ConvolutionPass::kForward, chosen, x, weights, {y, false});
#ifdef USE_CUDNN
  if (context.launch && !chosen.algorithm.empty())
    return CudnnRun(context, conv, ConvolutionPass::kForward, chosen, x, weights, {y, false});
#endif
  Dtype* const workspace = static_cast<Dtype*>(chosen.memory);
  const GroupSizes size(conv);
  const int64_t output = size.rows * size.columns;
  if (conv.Pointwise()) {
    for (int64_t group = 0; group < conv.group; ++group) {
      BatchedGemm(context, OverImages(conv, size.image, output), Transpose::kNo, Transpose::kNo,
                  size.rows, size.columns, size.inner, Dtype(1),
                  weights + group * size.rows * size.inner, x + group * size.image, Dtype(0),
                  y + group * output);
    }
    return;
  }
  const Images<Dtype> xs = ImagesOfX(conv, workspace);
  const Images<Dtype> ys = ImagesOfY(conv, workspace);
  for (int64_t i = 0; i < conv.images; ++i) {
    const Dtype* const image = xs.Read(x, i);
    Dtype* const result = ys.ToWrite(y, i);
    for (int64_t group = 0; group < conv.group; ++group) {
      const Dtype* columns = ColumnsOf(context, conv, image + group * size.image, workspace);
      Gemm(context, Transpose::kNo, Transpose::kNo, size.rows, size.columns, size.inner, Dtype(1),
           weights + group * size.rows * size.inner, columns, Dtype(0), result + group * output);
    }
    ys.Written(y, i);
  }
}

template <typename Dtype>
void ConvolutionBackwardData(const DeviceContext& context, const Convolution& conv, const Dtype* dy,
                             const Dtype* weights, Dtype* dx, const AlgorithmRun& chosen) {
  if (chosen.algorithm == kDepthwise) return DepthwiseBackwardData(context, conv, dy, weights, dx);
  if (chosen.algorithm == kOneDnn)
    return RunOneDnn(context, conv, ConvolutionPass::kBackwardData, chosen, dy, weights,
                     {dx, false});
#ifdef USE_CUDNN
  if (context.launch && !chosen.algorithm.empty())
    return CudnnRun(context, conv, ConvolutionPass::kBackwardData, chosen, dy, weights,
                    {dx, false});
#endif
  Dtype* const columns = static_cast<Dtype*>(chosen.memory);
  const GroupSizes size(conv);
  const int64_t output = size.rows * size.columns;
  if (conv.Pointwise()) {
    for (int64_t group = 0; group < conv.group; ++group) {
      BatchedGemm(context, OverImages(conv, output, size.image), Transpose::kYes, Transpose::kNo,
                  size.inner, size.columns, size.rows, Dtype(1),
                  weights + group * size.rows * size.inner, dy + group * output, Dtype(0),
                  dx + group * size.image);
    }
    return;
  }
  const Images<Dtype> xs = ImagesOfX(conv, columns);
  const Images<Dtype> ys = ImagesOfY(conv, columns);
  for (int64_t i = 0; i < conv.images; ++i) {
    const Dtype* const given = ys.Read(dy, i);
    Dtype* const result = xs.ToWrite(dx, i);
    for (int64_t group = 0; group < conv.group; ++group) {
      Dtype* const image = result + group * size.image;
      Gemm(context, Transpose::kYes, Transpose::kNo, size.inner, size.columns, size.rows, Dtype(1),
           weights + group * size.rows * size.inner, given + group * output, Dtype(0), columns);
      if (TwoAxes(conv)) {
        Col2im(context, conv.window, columns, image);
      } else {
        Col2imNd(context, conv.window, columns, image);
      }
    }
    xs.Written(dx, i);
  }
}

template <typename Dtype>
void ConvolutionBackwardWeights(const DeviceContext& context, const Convolution& conv,
                                const Dtype* x, const Dtype* dy, const Accumulator<Dtype>& dweights,
                                const AlgorithmRun& chosen) {
  if (chosen.algorithm == kDepthwise)
    return DepthwiseBackwardWeights(context, conv, x, dy, dweights);
  if (chosen.algorithm == kOneDnn)
    return RunOneDnn(context, conv, ConvolutionPass::kBackwardWeights, chosen, x, dy, dweights);
#ifdef USE_CUDNN
  if (context.launch && !chosen.algorithm.empty())
    return CudnnRun(context, conv, ConvolutionPass::kBackwardWeights, chosen, x, dy, dweights);
#endif
  Dtype* const workspace = static_cast<Dtype*>(chosen.memory);
  const GroupSizes size(conv);
  if (conv.images == 0 && !dweights.add) {
    ZeroBytes(context, dweights.sum,
              static_cast<size_t>(conv.group * size.rows * size.inner) * sizeof(Dtype));
  }
  const Images<Dtype> xs = ImagesOfX(conv, workspace);
  const Images<Dtype> ys = ImagesOfY(conv, workspace);
  for (int64_t i = 0; i < conv.images; ++i) {
    const Dtype *const image = xs.Read(x, i), *const given = ys.Read(dy, i);
    const bool add = dweights.add || i > 0;
    for (int64_t group = 0; group < conv.group; ++group) {
      const Dtype* columns = ColumnsOf(context, conv, image + group * size.image, workspace);
      Gemm(context, Transpose::kNo, Transpose::kYes, size.rows, size.inner, size.columns, Dtype(1),
           given + group * size.rows * size.columns, columns, Dtype(add),
           dweights.sum + group * size.rows * size.inner);
    }
  }
}

#define LAYRUB_INSTANTIATE_CONV(Dtype)                                                             \
  template int ItemsOfExactSlices<Dtype>(const DeviceContext&, const Convolution&,                 \
                                         const std::vector<ConvolutionPass>&);                     \
  template ConvolutionBlocks BlocksOf<Dtype>(const DeviceContext&, const Convolution&,             \
                                             const std::vector<ConvolutionPass>&);                 \
  template std::vector<Algorithm> ConvolutionAlgorithms<Dtype>(                                    \
      const DeviceContext&, const Convolution&, const std::vector<ConvolutionPass>&);              \
  template void ConvolutionForward(const DeviceContext&, const Convolution&, const Dtype*,         \
                                   const Dtype*, Dtype*, const AlgorithmRun&);                     \
  template void ConvolutionBackwardData(const DeviceContext&, const Convolution&, const Dtype*,    \
                                        const Dtype*, Dtype*, const AlgorithmRun&);                \
  template void ConvolutionBackwardWeights(const DeviceContext&, const Convolution&, const Dtype*, \
                                           const Dtype*, const Accumulator<Dtype>&,                \
                                           const AlgorithmRun&)
LAYRUB_INSTANTIATE_CONV(float);
LAYRUB_INSTANTIATE_CONV(double);
#undef LAYRUB_INSTANTIATE_CONV

}  // namespace kernels
}  // namespace caffe
