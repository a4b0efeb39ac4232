// Chooses oneDNN's kernel for a pass of a convolution and describes its operands and workspace.
#include "caffe/kernels/onednn/kernel.hpp"

#include <string_view>
#include <utility>

namespace caffe {
namespace kernels {
namespace {

using dnnl::memory;
using Pass = ConvolutionPass;

/// Maximum bytes of a piece of images in the workspace, so that it stays in the cache of a core.
constexpr int64_t kPieceBytes = int64_t{1} << 20;
/// Maximum channels in a block of a layout.
constexpr int64_t kBlock = 16;

memory::dims Dims(const int* values, int count) { return {values, values + count}; }

memory::desc InBlob(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

/// InBlob for images with one to three spatial axes, whose channels may be in blocks.
memory::desc InBlob(const memory::dims& dims, int block) {
  using Tag = memory::format_tag;
  if (block == 1) return InBlob(dims);
  static constexpr Tag kTags[2][3] = {{Tag::nCw8c, Tag::nChw8c, Tag::nCdhw8c},
                                      {Tag::nCw16c, Tag::nChw16c, Tag::nCdhw16c}};
  return {dims, memory::data_type::f32, kTags[block == 16][dims.size() - 3]};
}

/// Kernels read images with so few channels (colours) without a copy.
constexpr bool ReadsAsInBlob(int64_t channels) { return channels <= 3; }

memory::desc Any(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

/// The tensors and parameters of a convolution in oneDNN's terms.
struct Tensors {
  memory::dims x, weights, y, stride, dilation, pad;

  Tensors(const Convolution& conv, int images) {
    const SlidingWindow& window = conv.window;
    x = {images, conv.channels};
    y = {images, conv.num_output};
    weights = {conv.num_output / conv.group, window.channels};
    if (conv.group > 1) weights.insert(weights.begin(), conv.group);
    const auto append = [&](const int* values, memory::dims* dims) {
      dims->insert(dims->end(), values, values + window.axes);
    };
    append(window.image, &x);
    append(window.output, &y);
    append(window.kernel, &weights);
    stride = Dims(window.stride, window.axes);
    pad = Dims(window.pad, window.axes);
    for (int i = 0; i < window.axes; ++i) dilation.push_back(window.dilation[i] - 1);
  }
};

/// Number of values of an image of x, and below of y, in blocks of kBlock channels.
int64_t ValuesOfX(const Convolution& conv) {
  if (ReadsAsInBlob(conv.channels)) return 0;
  return RoundUp(conv.channels, kBlock) * conv.window.ImageSize();
}
int64_t ValuesOfY(const Convolution& conv) {
  return RoundUp(conv.num_output, kBlock) * conv.window.OutputSize();
}

/// Number of values of the weights in blocks.
int64_t WeightValues(const Convolution& conv) {
  const bool depthwise = conv.window.channels == 1 && conv.num_output == conv.group;
  if (depthwise) return RoundUp(conv.group, kBlock) * conv.window.KernelSize();
  return conv.group * RoundUp(conv.window.channels, kBlock) *
         RoundUp(conv.num_output / conv.group, kBlock) * conv.window.KernelSize();
}

/// Maximum bytes for the copies of a piece and of the weights. Operands that are already in blocks
/// need none. Which operands are copied, the size of their blocks and the memory that threads need
/// depend on the processor, but plans should not.
int64_t WorkspaceBytes(const Convolution& conv, int images) {
  const int64_t x = conv.x_block > 1 ? 0 : ValuesOfX(conv);
  const int64_t y = conv.y_block > 1 ? 0 : ValuesOfY(conv);
  return (images * (x + y) + WeightValues(conv)) * int64_t{sizeof(float)} + 4 * kLine;
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

using Forward = dnnl::convolution_forward;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// oneDNN 3 creates a primitive_desc directly, without an operation descriptor.
#if DNNL_VERSION_MAJOR >= 3
Forward::primitive_desc DescribeForward(const Tensors& of, const memory::desc (&any)[3]) {
  return {Cpu(),        dnnl::prop_kind::forward_training,
          kDirect,      any[0],
          any[1],       any[2],
          of.stride,    of.dilation,
          of.pad,       of.pad,
          Attributes(), true};
}
template <typename Backward>
typename Backward::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                                   const Forward::primitive_desc& forward) {
  return {Cpu(),       kDirect, any[0], any[1],  any[2],       of.stride,
          of.dilation, of.pad,  of.pad, forward, Attributes(), true};
}
#else
Forward::primitive_desc DescribeForward(const Tensors& of, const memory::desc (&any)[3]) {
  return {{dnnl::prop_kind::forward_training, kDirect, any[0], any[1], any[2], of.stride,
           of.dilation, of.pad, of.pad},
          Attributes(),
          Cpu(),
          true};
}
template <typename Backward>
typename Backward::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                                   const Forward::primitive_desc& forward) {
  return {{kDirect, any[0], any[1], any[2], of.stride, of.dilation, of.pad, of.pad},
          Attributes(),
          Cpu(),
          forward,
          true};
}
#endif

/// Whether the kernel is optimized for this processor. oneDNN also has matrix products and plain
/// loops, which are no faster than ours.
bool IsOptimizedForProcessor(const char* name) {
  const std::string_view text(name);
  return text.starts_with("jit") || text.starts_with("brg");
}

/// Returns null if the kernel is not optimized for this processor. `kernel` are the layouts that it
/// wants.
template <typename Primitive>
std::unique_ptr<Kernel> Finish(const typename Primitive::primitive_desc& description,
                               const memory::desc (&kernel)[3], std::unique_ptr<Kernel> made) {
  if (!IsOptimizedForProcessor(description.impl_info_str())) return nullptr;
  made->make = [description] { return Primitive(description); };
  made->scratchpad = description.scratchpad_desc();
  for (int i = 0; i < 3; ++i) made->sides[i].kernel = kernel[i];
  return made;
}

/// Returns null if oneDNN has no such kernel. The sides of `made` must have their blob layouts.
std::unique_ptr<Kernel> Describe(Pass pass, const Tensors& of, std::unique_ptr<Kernel> made) {
  using Data = dnnl::convolution_backward_data;
  using Weights = dnnl::convolution_backward_weights;
  const memory::desc any[3] = {ReadsAsInBlob(of.x[1]) ? InBlob(of.x) : Any(of.x), Any(of.weights),
                               Any(of.y)};
  const Forward::primitive_desc forward = DescribeForward(of, any);
  if (!forward) return nullptr;
  if (pass == Pass::kForward) {
    return Finish<Forward>(
        forward, {forward.src_desc(), forward.weights_desc(), forward.dst_desc()}, std::move(made));
  }
  if (pass == Pass::kBackwardData) {
    const auto data = DescribeBackward<Data>(of, any, forward);
    if (!data) return nullptr;
    return Finish<Data>(data, {data.diff_dst_desc(), data.weights_desc(), data.diff_src_desc()},
                        std::move(made));
  }
  const auto weights = DescribeBackward<Weights>(of, any, forward);
  if (!weights) return nullptr;
  return Finish<Weights>(weights,
                         {weights.src_desc(), weights.diff_dst_desc(), weights.diff_weights_desc()},
                         std::move(made));
}

/// Sets the kernel's sides in the order of the pass's operands.
void NameSides(Pass pass, const Convolution& conv, const Tensors& of, Kernel* kernel) {
  Side x, y, weights;
  x.dims = of.x, y.dims = of.y, weights.dims = of.weights;
  x.blob = InBlob(of.x, conv.x_block), x.argument = DNNL_ARG_SRC, x.per_image = true;
  y.blob = InBlob(of.y, conv.y_block), y.argument = DNNL_ARG_DST, y.per_image = true;
  weights.blob = InBlob(of.weights), weights.argument = DNNL_ARG_WEIGHTS;
  Side* const sides = kernel->sides;
  switch (pass) {
    case Pass::kForward:
      sides[kFirst] = x, sides[kSecond] = weights, sides[kOut] = y;
      break;
    case Pass::kBackwardData:
      sides[kFirst] = y, sides[kSecond] = weights, sides[kOut] = x;
      sides[kFirst].argument = DNNL_ARG_DIFF_DST, sides[kOut].argument = DNNL_ARG_DIFF_SRC;
      break;
    case Pass::kBackwardWeights:
      sides[kFirst] = x, sides[kSecond] = y, sides[kOut] = weights;
      sides[kSecond].argument = DNNL_ARG_DIFF_DST, sides[kOut].argument = DNNL_ARG_DIFF_WEIGHTS;
  }
}

/// Assigns offsets in the workspace to the copies.
void PlaceCopies(Pass pass, Kernel* kernel) {
  for (Side& side : kernel->sides) {
    side.added = &side == &kernel->sides[kOut] && pass == Pass::kBackwardWeights;
    if (side.kernel == side.blob && !side.added) continue;
    side.offset = kernel->copied;
    kernel->copied += RoundUp(static_cast<int64_t>(side.kernel.get_size()), kLine);
  }
}

/// Bytes of the copies if no blob were in blocks.
int64_t CopiesOfArrays(const Kernel& kernel) {
  int64_t bytes = 0;
  for (const Side& side : kernel.sides) {
    if (side.added || side.kernel != InBlob(side.dims))
      bytes += RoundUp(static_cast<int64_t>(side.kernel.get_size()), kLine);
  }
  return bytes;
}

/// The block size, 8 or 16, in which the kernel wants images whose channels are a multiple of
/// kBlock. 0 if it wants another layout.
int LikedBlock(const Kernel& kernel) {
  int liked = 0;
  for (const Side& side : kernel.sides) {
    if (!side.per_image || side.dims[1] % kBlock != 0) continue;
    const int wanted = side.kernel == InBlob(side.dims, 16)  ? 16
                       : side.kernel == InBlob(side.dims, 8) ? 8
                                                             : 0;
    if (wanted == 0 || (liked > 0 && liked != wanted)) return 0;
    liked = wanted;
  }
  return liked;
}

bool CanDescribe(const Convolution& conv) {
  return conv.window.axes >= 1 && conv.window.axes <= 3 && conv.images > 0;
}

}  // namespace

int ImagesOfPiece(const Convolution& conv) {
  const int64_t bytes = (ValuesOfX(conv) + ValuesOfY(conv)) * int64_t{sizeof(float)};
  int images = conv.images;
  while (images > 1 && (conv.images % images != 0 || images * bytes > kPieceBytes)) --images;
  return images;
}

std::unique_ptr<Kernel> MakeKernel(const Convolution& conv, Pass pass) {
  if (!CanDescribe(conv)) return nullptr;
  const int images = ImagesOfPiece(conv);
  const Tensors tensors(conv, images);
  auto kernel = std::make_unique<Kernel>();
  NameSides(pass, conv, tensors, kernel.get());
  kernel = Describe(pass, tensors, std::move(kernel));
  if (!kernel) return nullptr;
  kernel->pieces = conv.images / images;
  kernel->bytes = WorkspaceBytes(conv, images);
  PlaceCopies(pass, kernel.get());
  // Decides as for plain arrays, because the bits should not depend on the layout. If the blobs are
  // in blocks that this kernel does not want (perhaps for another number of threads), they are
  // copied too.
  Convolution arrays = conv;
  arrays.x_block = arrays.y_block = 1;
  if (CopiesOfArrays(*kernel) > WorkspaceBytes(arrays, images)) return nullptr;
  kernel->preferred_block = LikedBlock(*kernel);
  return kernel;
}

}  // namespace kernels
}  // namespace caffe
