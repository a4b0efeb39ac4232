#include "caffe/kernels/conv/conv_onednn.hpp"

#include "caffe/kernels/conv/depthwise.hpp"
#include "caffe/kernels/onednn/convolution.hpp"
#include "caffe/util/cpu_gemm.hpp"
#include "caffe/util/onednn_library.hpp"

namespace caffe {
namespace kernels {
namespace {

/// Functions of libcaffe_onednn.so; null where it is not there.
struct Library {
  decltype(&layrub_onednn_convolution_bytes) bytes;
  decltype(&layrub_onednn_liked_block) liked_block;
  decltype(&layrub_onednn_convolution) run;
};

const Library& TheLibrary() {
  static const Library library = {
      OneDnnFunction<decltype(layrub_onednn_convolution_bytes)>("layrub_onednn_convolution_bytes"),
      OneDnnFunction<decltype(layrub_onednn_liked_block)>("layrub_onednn_liked_block"),
      OneDnnFunction<decltype(layrub_onednn_convolution)>("layrub_onednn_convolution")};
  return library;
}

/// Its kernels compute 8 or 16 channels at a time of what they write, whether there are so many or
/// not. Of what they read they can do with less (the three colours of images).
constexpr int kFewestWritten = 8;
/// Values of x that make one of y: those of three colours under a window of 3 x 3.
constexpr int64_t kFewestRead = 27;
/// Gradients of fewer weights are shared by image, and summed up by threads that turn in a loop
/// until the others have come: for milliseconds, where something else has the core of one.
constexpr int64_t kFewWeights = 32768;

/// Where it was found to be slower than, or no faster than, a product of matrices in less memory.
bool GainsNothing(const Convolution& conv, ConvolutionPass pass) {
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
  return !conv.own_kernels && !GainsNothing(conv, pass) && TheLibrary().bytes;
}

}  // namespace

std::optional<int64_t> OneDnnBytes(const Convolution& conv, ConvolutionPass pass) {
  if (!IsAsked(conv, pass)) return std::nullopt;
  const int64_t bytes = TheLibrary().bytes(conv, pass, BlasThreads());
  if (bytes < 0) return std::nullopt;
  return bytes;
}

int OneDnnLikedBlock(const Convolution& conv, ConvolutionPass pass) {
  return IsAsked(conv, pass) ? TheLibrary().liked_block(conv, pass, BlasThreads()) : 0;
}

void OneDnnRun(const Convolution& conv, ConvolutionPass pass, void* workspace, const float* a,
               const float* b, const Accumulator<float>& out) {
  CHECK(TheLibrary().run) << "oneDNN was chosen for a convolution, but it is not there.";
  const char* const error =
      TheLibrary().run(conv, pass, BlasThreads(), workspace, a, b, out.sum, out.add);
  CHECK(!error) << "A convolution failed in oneDNN: " << error << ". engine: CAFFE in its "
                << "convolution_param does without.";
}

}  // namespace kernels
}  // namespace caffe
