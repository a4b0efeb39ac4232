#ifndef CAFFE_KERNELS_ONEDNN_KERNEL_HPP_
#define CAFFE_KERNELS_ONEDNN_KERNEL_HPP_

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

constexpr int64_t kLine = 64;  ///< bytes of a line of a cache, which copies begin with
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

inline const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The operands of a pass, as the functions of conv.hpp have them: two that are read, one that is
/// written.
enum Operand { kFirst, kSecond, kOut };

/// One of the operands: its layout in blobs, and the one that the kernel wants, which needs a copy
/// in the workspace where the two differ.
struct Side {
  dnnl::memory::dims dims = {};
  dnnl::memory::desc blob, kernel;
  int argument = 0;        ///< DNNL_ARG_...
  bool per_image = false;  ///< of images, or the weights
  int64_t offset = -1;     ///< of the copy in the workspace; -1: none is needed
  bool added = false;      ///< pieces, each to those before
  dnnl::reorder change;    ///< brings the operand into the copy or, if it is written, out of it
  dnnl::reorder addition;  ///< adds the copy to the operand; where `added`

  bool copied() const { return offset >= 0; }
};

/// A pass of a convolution of some images.
struct Kernel {
  int pieces = 0;       ///< how often it runs, each time for the images that come next
  int liked_block = 0;  ///< OneDnnLikedBlock
  Side sides[3];
  std::function<dnnl::primitive()>
      make;             ///< of `run`: oneDNN then writes its code, which takes time
  dnnl::primitive run;  ///< empty before the first run, as are those of `sides`
  dnnl::memory::desc scratchpad;
  int64_t copied = 0;  ///< bytes of the workspace that copies take; the scratchpad comes behind
  int64_t bytes = 0;   ///< of the workspace; copies that do not fit lie elsewhere

  int64_t scratch_bytes() const { return static_cast<int64_t>(scratchpad.get_size()); }
};

/// The kernel for the threads that parallel regions of the caller have now. Null where oneDNN has
/// none that is made for this processor.
std::unique_ptr<Kernel> MakeKernel(const Convolution& conv, ConvolutionPass pass);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ONEDNN_KERNEL_HPP_
