#include "caffe/kernels/conv_onednn.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "caffe/kernels/depthwise.hpp"
#include "caffe/kernels/onednn/convolution.hpp"
#include "caffe/util/beside_library.hpp"
#include "caffe/util/cpu_gemm.hpp"

namespace caffe {
namespace kernels {
namespace {

/// The functions of libcaffe_onednn.so; null where it is not there.
struct Library {
  decltype(&layrub_onednn_convolution_bytes) bytes = nullptr;
  decltype(&layrub_onednn_convolution) run = nullptr;
};

/// Threads of GCC's OpenMP, when they have nothing to do, turn in a loop for a while, in which
/// those of loops and products want the processor. It reads how they wait when it is loaded.
class WaitingWithoutLoops {
 public:
  WaitingWithoutLoops() {
    for (const char* name : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"})
      said_ |= std::getenv(name) != nullptr;
    if (!said_) setenv("OMP_WAIT_POLICY", "passive", 0);
  }
  ~WaitingWithoutLoops() {
    if (!said_) unsetenv("OMP_WAIT_POLICY");
  }

 private:
  bool said_ = false;  ///< by the user
};

/// Opened at the first use, not when the program starts: so it can be told how to wait, and
/// programs that compute nothing do not load oneDNN.
Library Open() {
#ifndef USE_ONEDNN
  return {};
#endif
  const WaitingWithoutLoops waiting;
  const std::string path = BesideLibrary("libcaffe_onednn.so");
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    LOG(WARNING) << "Convolutions run without oneDNN: " << dlerror();
    return {};
  }
  const auto interface = reinterpret_cast<decltype(&layrub_onednn_interface)>(
      dlsym(library, "layrub_onednn_interface"));
  if (!interface || interface() != kOneDnnInterface) {
    LOG(WARNING) << "Convolutions run without oneDNN: " << path << " is of another version.";
    return {};
  }
  return {
      reinterpret_cast<decltype(Library::bytes)>(dlsym(library, "layrub_onednn_convolution_bytes")),
      reinterpret_cast<decltype(Library::run)>(dlsym(library, "layrub_onednn_convolution"))};
}

const Library& TheLibrary() {
  static const Library library = Open();
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

}  // namespace

std::optional<int64_t> OneDnnBytes(const Convolution& conv, ConvolutionPass pass) {
  if (conv.own_kernels || GainsNothing(conv, pass) || !TheLibrary().bytes) return std::nullopt;
  const int64_t bytes = TheLibrary().bytes(conv, pass, BlasThreads());
  if (bytes < 0) return std::nullopt;
  return bytes;
}

void OneDnnRun(const Convolution& conv, ConvolutionPass pass, void* workspace, const float* a,
               const float* b, float* out) {
  CHECK(TheLibrary().run) << "oneDNN was chosen for a convolution, but it is not there.";
  const char* const error = TheLibrary().run(conv, pass, BlasThreads(), workspace, a, b, out);
  CHECK(!error) << "A convolution failed in oneDNN: " << error << ". engine: CAFFE in its "
                << "convolution_param does without.";
}

}  // namespace kernels
}  // namespace caffe
