// libcaffe_onednn.so: convolutions by oneDNN. Its kernels want operands in blocked layouts
// ("nChw16c"), while most blobs are NCHW. So the images are processed in pieces that fit the
// caches: a piece is converted to the kernel's layout, computed, and converted back. The conversion
// is cheap in the cache, and the workspace only has to hold one piece.
#include "caffe/kernels/onednn/convolution.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "caffe/kernels/onednn/kernel.hpp"
#include "caffe/kernels/onednn/openmp.hpp"

namespace caffe {
namespace kernels {
namespace {

using dnnl::memory;

/// Maximum number of kernels that a thread keeps; a net whose shapes change needs new ones all the
/// time.
constexpr size_t kMostKernels = 512;

/// Creates the primitives for the first run.
void MakePrimitives(Kernel* kernel) {
  for (Side& side : kernel->sides) {
    if (!side.copied()) continue;
    const bool written = &side == &kernel->sides[kOut];
    const memory::desc& from = written ? side.kernel : side.blob;
    const memory::desc& to = written ? side.blob : side.kernel;
    side.change = dnnl::reorder({Cpu(), from, Cpu(), to});
    if (!side.added) continue;
    dnnl::post_ops sum;
    sum.append_sum(1);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(sum);
    side.addition = dnnl::reorder({Cpu(), from, Cpu(), to, attributes});
  }
  kernel->run = kernel->make();
}

/// Returns memory of the calling thread, aligned to kLine, for data that does not fit in the
/// workspace, such as separate sums for many threads. The memory only grows.
char* OwnWorkspace(int64_t bytes) {
  static thread_local std::vector<char> memory;
  if (static_cast<int64_t>(memory.size()) < bytes + kLine) {
    memory.clear();
    memory.resize(static_cast<size_t>(bytes + kLine));
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (kLine - address % kLine);
}

std::vector<int> KeyOf(const Convolution& conv, ConvolutionPass pass, int threads) {
  const SlidingWindow& window = conv.window;
  std::vector<int> key = {
      threads,    static_cast<int>(pass), conv.images, conv.channels, conv.num_output,
      conv.group, conv.x_block,           conv.y_block};
  for (const int* values :
       {window.image, window.output, window.kernel, window.pad, window.stride, window.dilation})
    key.insert(key.end(), values, values + window.axes);
  return key;
}

/// Returns the calling thread's kernel for `threads` threads. Threads share the generated code
/// inside oneDNN. Null if there is no kernel.
Kernel* KernelFor(const Convolution& conv, ConvolutionPass pass, int threads) {
  static thread_local std::map<std::vector<int>, std::unique_ptr<Kernel>> kernels;
  std::vector<int> key = KeyOf(conv, pass, threads);
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second.get();
  if (kernels.size() >= kMostKernels) kernels.clear();
  std::unique_ptr<Kernel> made = MakeKernel(conv, pass);
  return kernels.emplace(std::move(key), std::move(made)).first->second.get();
}

/// If `add`, adds to the output.
void Run(Kernel& kernel, void* workspace, float* const (&operands)[3], bool add) {
  if (!kernel.run) MakePrimitives(&kernel);
  static thread_local dnnl::stream stream(Cpu());
  char* base = static_cast<char*>(workspace);
  char* scratchpad_memory = base + kernel.copied;
  if (kernel.copied > kernel.bytes) {
    base = OwnWorkspace(kernel.copied + kernel.workspace_bytes());
    scratchpad_memory = base + kernel.copied;
  } else if (kernel.copied + kernel.workspace_bytes() > kernel.bytes) {
    scratchpad_memory = OwnWorkspace(kernel.workspace_bytes());
  }
  const memory scratchpad(kernel.scratchpad, Cpu(), scratchpad_memory);
  for (int piece = 0; piece < kernel.pieces; ++piece) {
    std::unordered_map<int, memory> arguments = {{DNNL_ARG_SCRATCHPAD, scratchpad}};
    memory blob[3], used[3];
    for (int i = 0; i < 3; ++i) {
      const Side& side = kernel.sides[i];
      const size_t step = side.per_image ? side.blob.get_size() : 0;
      blob[i] = memory(side.blob, Cpu(),
                       reinterpret_cast<char*>(operands[i]) + static_cast<size_t>(piece) * step);
      used[i] = side.copied() ? memory(side.kernel, Cpu(), base + side.offset) : blob[i];
      arguments.emplace(side.argument, used[i]);
      const bool is_there = !side.per_image && piece > 0;
      if (side.copied() && i != kOut && !is_there) side.change.execute(stream, blob[i], used[i]);
    }
    kernel.run.execute(stream, arguments);
    const Side& written = kernel.sides[kOut];
    const bool adds = written.added && (add || piece > 0);
    if (written.copied())
      (adds ? written.addition : written.change).execute(stream, used[kOut], blob[kOut]);
  }
  stream.wait();
}

}  // namespace
}  // namespace kernels
}  // namespace caffe

using caffe::kernels::Convolution;
using caffe::kernels::ConvolutionPass;

int layrub_onednn_preferred_block(const Convolution& conv, ConvolutionPass pass, int threads) try {
  const caffe::kernels::OmpThreads scope(threads);
  const caffe::kernels::Kernel* const kernel = caffe::kernels::KernelFor(conv, pass, scope.count());
  return kernel ? kernel->preferred_block : 0;
} catch (const dnnl::error&) {
  return 0;
}

int64_t layrub_onednn_convolution_bytes(const Convolution& conv, ConvolutionPass pass,
                                        int threads) try {
  const caffe::kernels::OmpThreads scope(threads);
  const caffe::kernels::Kernel* const kernel = caffe::kernels::KernelFor(conv, pass, scope.count());
  return kernel ? kernel->bytes : -1;
} catch (const dnnl::error&) {
  return -1;
}

int layrub_onednn_images(const Convolution& conv) { return caffe::kernels::ImagesOfPiece(conv); }

const char* layrub_onednn_convolution(const Convolution& conv, ConvolutionPass pass, int threads,
                                      void* workspace, const float* a, const float* b, float* out,
                                      bool add) try {
  const caffe::kernels::OmpThreads scope(threads);
  caffe::kernels::Kernel* const kernel = caffe::kernels::KernelFor(conv, pass, scope.count());
  if (!kernel) return "it has no kernel for this";
  caffe::kernels::Run(*kernel, workspace, {const_cast<float*>(a), const_cast<float*>(b), out}, add);
  return nullptr;
} catch (const std::exception& error) {
  static thread_local std::string what;
  what = error.what();
  return what.c_str();
}
