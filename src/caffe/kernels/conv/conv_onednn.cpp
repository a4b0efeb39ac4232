#include "caffe/kernels/conv/conv_onednn.hpp"

#include "caffe/kernels/conv/depthwise.hpp"
#include "caffe/kernels/onednn/convolution.hpp"
#include "caffe/util/cpu_gemm.hpp"
#include "caffe/util/onednn_library.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Functions of libcaffe_onednn.so; null if it is missing.
struct Library {
  decltype(&layrub_onednn_convolution_bytes) bytes;
  decltype(&layrub_onednn_preferred_block) preferred_block;
  decltype(&layrub_onednn_images) images;
  decltype(&layrub_onednn_convolution) run;
};

const Library& TheLibrary() {
  static const Library library = {
      OneDnnFunction<decltype(layrub_onednn_convolution_bytes)>("layrub_onednn_convolution_bytes"),
      OneDnnFunction<decltype(layrub_onednn_preferred_block)>("layrub_onednn_preferred_block"),
      OneDnnFunction<decltype(layrub_onednn_images)>("layrub_onednn_images"),
      OneDnnFunction<decltype(layrub_onednn_convolution)>("layrub_onednn_convolution")};
  return library;
}

/// oneDNN's kernels compute 8 or 16 output channels at a time even if there are fewer. They can
/// read fewer (the three colours of images).
constexpr int kFewestWritten = 8;
/// Minimum number of values of x per value of y: three colours times a 3 x 3 window.
constexpr int64_t kFewestRead = 27;
/// For fewer weights oneDNN splits the gradient by image, and the threads spin until all have
/// finished before they sum up. That takes milliseconds if another process occupies a core.
constexpr int64_t kFewWeights = 32768;

/// True where measurements showed oneDNN no faster than a matrix product, which needs less memory.
bool IsNoFaster(const Convolution& conv, ConvolutionPass pass) {
  const SlidingWindow& window = conv.window;
  const bool of_weights = pass == ConvolutionPass::kBackwardWeights;
  if (window.KernelSize() == 1) return true;
  if (IsDepthwise(conv)) return false;
  const int64_t outputs = conv.num_output / conv.group;
  const int64_t inner = window.channels * window.KernelSize();
  const int64_t written = pass == ConvolutionPass::kBackwardData ? window.channels : outputs;
  return written < kFewestWritten || inner < kFewestRead ||
         (of_weights && conv.num_output * inner < kFewWeights);
}

bool IsAsked(const Convolution& conv, ConvolutionPass pass) {
  return !conv.own_kernels && !IsNoFaster(conv, pass) && TheLibrary().bytes;
}

}  // namespace

std::optional<int64_t> OneDnnBytes(const Convolution& conv, ConvolutionPass pass) {
  if (!IsAsked(conv, pass)) return std::nullopt;
  const int64_t bytes = TheLibrary().bytes(conv, pass, BlasThreads());
  if (bytes < 0) return std::nullopt;
  return bytes;
}

int OneDnnPreferredBlock(const Convolution& conv, ConvolutionPass pass) {
  return IsAsked(conv, pass) ? TheLibrary().preferred_block(conv, pass, BlasThreads()) : 0;
}

int OneDnnImages(const Convolution& conv) { return TheLibrary().images(conv); }

void OneDnnRun(const Convolution& conv, ConvolutionPass pass, void* workspace, const float* a,
               const float* b, const Accumulator<float>& out) {
  CHECK(TheLibrary().run) << "oneDNN was chosen for a convolution, but it is not available.";
  const char* const error =
      TheLibrary().run(conv, pass, BlasThreads(), workspace, a, b, out.sum, out.add);
  CHECK(!error) << "A convolution failed in oneDNN: " << error << ". Set engine: CAFFE in its "
                << "convolution_param to run it without oneDNN.";
}

}  // namespace kernels
}  // namespace caffe
