// libcaffe_onednn.so: convolutions by oneDNN. Its kernels want operands in layouts of their own
// (blocks of channels, "nChw16c"), while blobs are NCHW. So the images are taken in pieces that are
// small enough for the caches: a piece is brought into the layout that the kernel likes, computed,
// and brought back, which costs little there and needs a workspace for a piece only.
#include "caffe/kernels/onednn/convolution.hpp"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <dnnl.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace caffe {
namespace kernels {
namespace {

using dnnl::memory;
using Pass = ConvolutionPass;

/// What a piece of the images may take in the workspace, with which it stays in the cache of a
/// core.
constexpr int64_t kPieceBytes = int64_t{1} << 20;
constexpr int64_t kLine = 64;
/// That a thread keeps: nets whose shapes change have ever new ones.
constexpr size_t kMostKernels = 512;
/// The most channels in a block of a layout.
constexpr int64_t kBlock = 16;

constexpr int64_t RoundUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// In a child of fork, which has none of the threads that its parent's OpenMP waits for.
std::atomic<bool> in_child{false};
const int registered = pthread_atfork(nullptr, nullptr, [] { in_child = true; });

/// While it lives, the calling thread's parallel regions have count() threads: as many as are
/// wanted, if OpenMP gives so many. oneDNN shares work among as many as a kernel was made for.
class OmpThreads {
 public:
  explicit OmpThreads(int wanted)
      : count_(Possible(wanted)), threads_(omp_get_max_threads()), dynamic_(omp_get_dynamic()) {
    omp_set_num_threads(count_);
    omp_set_dynamic(0);
  }
  ~OmpThreads() {
    omp_set_num_threads(threads_);
    omp_set_dynamic(dynamic_);
  }
  OmpThreads(const OmpThreads&) = delete;
  OmpThreads& operator=(const OmpThreads&) = delete;

  int count() const { return count_; }

 private:
  static int Possible(int wanted) {
    if (in_child || omp_in_parallel()) return 1;
    return std::min(wanted, omp_get_thread_limit());
  }

  const int count_, threads_, dynamic_;
};

/// The operands of a pass, as the functions of conv.hpp have them: two that are read, one that is
/// written.
enum Operand { kFirst, kSecond, kOut };

/// One of the operands: its layout in blobs, and the one that the kernel wants, which needs a copy
/// in the workspace where the two differ.
struct Side {
  memory::desc blob, kernel;
  int argument = 0;        ///< DNNL_ARG_...
  bool per_image = false;  ///< of images, or the weights
  int64_t offset = -1;     ///< of the copy in the workspace; -1: none is needed
  dnnl::reorder change;    ///< brings the operand into the copy or, if it is written, out of it

  bool copied() const { return offset >= 0; }
};

/// A pass of a convolution of some images.
struct Kernel {
  int pieces = 0;  ///< how often it runs, each time for the images that come next
  Side sides[3];
  dnnl::primitive run;
  memory::desc scratchpad;
  int64_t copied = 0;  ///< bytes of the workspace that copies take; the scratchpad comes behind
  int64_t bytes = 0;   ///< of the workspace

  int64_t scratch_bytes() const { return static_cast<int64_t>(scratchpad.get_size()); }
};

memory::dims Dims(const int* values, int count) { return {values, values + count}; }

memory::desc InBlob(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * dims[i];
  return {dims, memory::data_type::f32, strides};
}

/// Kernels read images of so few channels, of colours, as they are.
constexpr bool ReadsAsInBlob(int64_t channels) { return channels <= 3; }

memory::desc Any(const memory::dims& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

/// What oneDNN calls the tensors of a convolution.
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

/// Values that the copies of an image, x and y, hold in blocks of kBlock channels.
int64_t ImageValues(const Convolution& conv) {
  const SlidingWindow& window = conv.window;
  const int64_t x = ReadsAsInBlob(conv.channels) ? 0 : RoundUp(conv.channels, kBlock);
  return x * window.ImageSize() + RoundUp(conv.num_output, kBlock) * window.OutputSize();
}

/// The same of the weights.
int64_t WeightValues(const Convolution& conv) {
  const bool depthwise = conv.window.channels == 1 && conv.num_output == conv.group;
  if (depthwise) return RoundUp(conv.group, kBlock) * conv.window.KernelSize();
  return conv.group * RoundUp(conv.window.channels, kBlock) *
         RoundUp(conv.num_output / conv.group, kBlock) * conv.window.KernelSize();
}

/// The most images, a divisor of all, that a piece has room for; at least one.
int ImagesOfPiece(const Convolution& conv) {
  int images = conv.images;
  while (images > 1 && (conv.images % images != 0 ||
                        images * ImageValues(conv) * int64_t{sizeof(float)} > kPieceBytes))
    --images;
  return images;
}

/// What the copies of a piece and of the weights take. Which operands are copied, into blocks of
/// what size, and what threads need for themselves, depends on the processor; plans should not.
int64_t WorkspaceBytes(const Convolution& conv, int images) {
  return (images * ImageValues(conv) + WeightValues(conv)) * int64_t{sizeof(float)} + 4 * kLine;
}

dnnl::primitive_attr Attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

using Forward = dnnl::convolution_forward;
using BackwardData = dnnl::convolution_backward_data;
using BackwardWeights = dnnl::convolution_backward_weights;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// oneDNN 3 has no descriptor between an operation's numbers and its primitive_desc.
#if DNNL_VERSION_MAJOR >= 3
Forward::primitive_desc DescribeForward(const Tensors& of, const memory::desc (&any)[3]) {
  return {Cpu(),        dnnl::prop_kind::forward_training,
          kDirect,      any[0],
          any[1],       any[2],
          of.stride,    of.dilation,
          of.pad,       of.pad,
          Attributes(), true};
}
BackwardData::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                              const Forward::primitive_desc& forward,
                                              BackwardData*) {
  return {Cpu(),       kDirect, any[0], any[1],  any[2],       of.stride,
          of.dilation, of.pad,  of.pad, forward, Attributes(), true};
}
BackwardWeights::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                                 const Forward::primitive_desc& forward,
                                                 BackwardWeights*) {
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
BackwardData::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                              const Forward::primitive_desc& forward,
                                              BackwardData*) {
  return {{kDirect, any[0], any[1], any[2], of.stride, of.dilation, of.pad, of.pad},
          Attributes(),
          Cpu(),
          forward,
          true};
}
BackwardWeights::primitive_desc DescribeBackward(const Tensors& of, const memory::desc (&any)[3],
                                                 const Forward::primitive_desc& forward,
                                                 BackwardWeights*) {
  return {{kDirect, any[0], any[1], any[2], of.stride, of.dilation, of.pad, of.pad},
          Attributes(),
          Cpu(),
          forward,
          true};
}
#endif

/// One of oneDNN's kernels that are made for this processor; it also has products of column
/// matrices and plain loops, which gain nothing.
bool IsMadeForProcessor(const char* name) {
  const std::string_view text(name);
  return text.starts_with("jit") || text.starts_with("brg");
}

template <typename Description>
std::unique_ptr<Kernel> Finish(const Description& description, dnnl::primitive run,
                               const memory::desc (&kernel)[3], std::unique_ptr<Kernel> made) {
  made->run = std::move(run);
  made->scratchpad = description.scratchpad_desc();
  for (int i = 0; i < 3; ++i) made->sides[i].kernel = kernel[i];
  return made;
}

/// Null where oneDNN has nothing for it. `sides` know their tensors, `dims`, as blobs.
std::unique_ptr<Kernel> Describe(Pass pass, const Tensors& of, std::unique_ptr<Kernel> made) {
  const memory::desc x = ReadsAsInBlob(of.x[1]) ? InBlob(of.x) : Any(of.x);
  const memory::desc weights = Any(of.weights), y = Any(of.y);
  const Forward::primitive_desc forward = DescribeForward(of, {x, weights, y});
  if (!forward) return nullptr;
  if (pass == Pass::kForward) {
    if (!IsMadeForProcessor(forward.impl_info_str())) return nullptr;
    return Finish(forward, Forward(forward),
                  {forward.src_desc(), forward.weights_desc(), forward.dst_desc()},
                  std::move(made));
  }
  if (pass == Pass::kBackwardData) {
    const auto backward =
        DescribeBackward(of, {x, weights, y}, forward, static_cast<BackwardData*>(nullptr));
    if (!backward || !IsMadeForProcessor(backward.impl_info_str())) return nullptr;
    return Finish(backward, BackwardData(backward),
                  {backward.diff_dst_desc(), backward.weights_desc(), backward.diff_src_desc()},
                  std::move(made));
  }
  const auto backward =
      DescribeBackward(of, {x, weights, y}, forward, static_cast<BackwardWeights*>(nullptr));
  if (!backward || !IsMadeForProcessor(backward.impl_info_str())) return nullptr;
  return Finish(backward, BackwardWeights(backward),
                {backward.src_desc(), backward.diff_dst_desc(), backward.diff_weights_desc()},
                std::move(made));
}

/// The tensors of a pass in the order of its operands.
void NameSides(Pass pass, const Tensors& of, Kernel* kernel) {
  Side x, y, weights;
  x.blob = InBlob(of.x), x.argument = DNNL_ARG_SRC, x.per_image = true;
  y.blob = InBlob(of.y), y.argument = DNNL_ARG_DST, y.per_image = true;
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

/// Where the copies lie, and what makes them.
void PlaceCopies(Pass pass, Kernel* kernel) {
  for (Side& side : kernel->sides) {
    const bool written = &side == &kernel->sides[kOut];
    const bool added = written && pass == Pass::kBackwardWeights;
    if (side.kernel == side.blob && !added) continue;
    side.offset = kernel->copied;
    kernel->copied += RoundUp(static_cast<int64_t>(side.kernel.get_size()), kLine);
    dnnl::primitive_attr attributes;
    if (added) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attributes.set_post_ops(sum);
    }
    const memory::desc& from = written ? side.kernel : side.blob;
    const memory::desc& to = written ? side.blob : side.kernel;
    side.change = dnnl::reorder({Cpu(), from, Cpu(), to, attributes});
  }
}

/// Memory of the calling thread, at a multiple of kLine: what many threads want for the sums of
/// each, which the workspace may have no room for. As much as was ever wanted.
char* OwnScratch(int64_t bytes) {
  static thread_local std::vector<char> memory;
  if (static_cast<int64_t>(memory.size()) < bytes + kLine) {
    memory.clear();
    memory.resize(static_cast<size_t>(bytes + kLine));
  }
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  return memory.data() + (kLine - address % kLine);
}

bool CanDescribe(const Convolution& conv) {
  return conv.window.axes >= 1 && conv.window.axes <= 3 && conv.images > 0;
}

std::unique_ptr<Kernel> MakeKernel(const Convolution& conv, Pass pass) {
  if (!CanDescribe(conv)) return nullptr;
  const int images = ImagesOfPiece(conv);
  const Tensors tensors(conv, images);
  auto kernel = std::make_unique<Kernel>();
  NameSides(pass, tensors, kernel.get());
  kernel = Describe(pass, tensors, std::move(kernel));
  if (!kernel) return nullptr;
  kernel->pieces = conv.images / images;
  kernel->bytes = WorkspaceBytes(conv, images);
  PlaceCopies(pass, kernel.get());
  if (kernel->copied > kernel->bytes) return nullptr;
  return kernel;
}

std::vector<int> KeyOf(const Convolution& conv, Pass pass, int threads) {
  const SlidingWindow& window = conv.window;
  std::vector<int> key = {threads,       static_cast<int>(pass), conv.images,
                          conv.channels, conv.num_output,        conv.group};
  for (const int* values :
       {window.image, window.output, window.kernel, window.pad, window.stride, window.dilation})
    key.insert(key.end(), values, values + window.axes);
  return key;
}

/// The calling thread's kernel, where its parallel regions have `threads` threads. It lives as long
/// as the thread; oneDNN itself shares the code. Null where there is none.
const Kernel* KernelFor(const Convolution& conv, Pass pass, int threads) {
  static thread_local std::map<std::vector<int>, std::unique_ptr<Kernel>> kernels;
  std::vector<int> key = KeyOf(conv, pass, threads);
  const auto found = kernels.find(key);
  if (found != kernels.end()) return found->second.get();
  if (kernels.size() >= kMostKernels) kernels.clear();
  std::unique_ptr<Kernel> made = MakeKernel(conv, pass);
  return kernels.emplace(std::move(key), std::move(made)).first->second.get();
}

void Run(const Kernel& kernel, void* workspace, float* const (&operands)[3]) {
  static thread_local dnnl::stream stream(Cpu());
  char* const base = static_cast<char*>(workspace);
  const bool fits = kernel.copied + kernel.scratch_bytes() <= kernel.bytes;
  const memory scratchpad(kernel.scratchpad, Cpu(),
                          fits ? base + kernel.copied : OwnScratch(kernel.scratch_bytes()));
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
    if (written.copied()) written.change.execute(stream, used[kOut], blob[kOut]);
  }
  stream.wait();
}

}  // namespace
}  // namespace kernels
}  // namespace caffe

using caffe::kernels::Convolution;
using caffe::kernels::ConvolutionPass;

int64_t layrub_onednn_interface() { return kOneDnnInterface; }

int64_t layrub_onednn_convolution_bytes(const Convolution& conv, ConvolutionPass pass,
                                        int threads) try {
  const caffe::kernels::OmpThreads scope(threads);
  const caffe::kernels::Kernel* const kernel = caffe::kernels::KernelFor(conv, pass, scope.count());
  return kernel ? kernel->bytes : -1;
} catch (const dnnl::error&) {
  return -1;
}

const char* layrub_onednn_convolution(const Convolution& conv, ConvolutionPass pass, int threads,
                                      void* workspace, const float* a, const float* b,
                                      float* out) try {
  const caffe::kernels::OmpThreads scope(threads);
  const caffe::kernels::Kernel* const kernel = caffe::kernels::KernelFor(conv, pass, scope.count());
  if (!kernel) return "it has no kernel for this";
  caffe::kernels::Run(*kernel, workspace, {const_cast<float*>(a), const_cast<float*>(b), out});
  return nullptr;
} catch (const std::exception& error) {
  static thread_local std::string what;
  what = error.what();
  return what.c_str();
}
