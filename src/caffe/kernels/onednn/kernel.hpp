#ifndef CAFFE_KERNELS_ONEDNN_KERNEL_HPP_
#define CAFFE_KERNELS_ONEDNN_KERNEL_HPP_

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>

#include "caffe/kernels/conv/conv.hpp"

namespace caffe {
namespace kernels {

constexpr int64_t kLine = 64;  ///< bytes of a cache line, to which copies are aligned
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit * unit; }

inline const dnnl::engine& Cpu() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The operands of a pass, in the order of the functions in conv.hpp: two inputs and the output.
enum Operand { kFirst, kSecond, kOut };

/// One of the operands: its layout in blobs and the layout that the kernel wants. If they differ,
/// the workspace has a copy.
struct Side {
  dnnl::memory::dims dims = {};
  dnnl::memory::desc blob, kernel;
  int argument = 0;        ///< DNNL_ARG_...
  bool per_image = false;  ///< x or y, not the weights
  int64_t offset = -1;     ///< of the copy in the workspace; -1: no copy
  bool added = false;      ///< the results of the pieces are added up
  dnnl::reorder change;    ///< converts the operand to the copy or, for an output, back
  dnnl::reorder addition;  ///< adds the copy to the operand; only if `added`

  bool copied() const { return offset >= 0; }
};

/// A pass of a convolution of some images.
struct Kernel {
  int pieces = 0;           ///< number of runs; each run takes the next images
  int preferred_block = 0;  ///< OneDnnPreferredBlock
  Side sides[3];
  std::function<dnnl::primitive()>
      make;             ///< of `run`: oneDNN then writes its code, which takes time
  dnnl::primitive run;  ///< empty before the first run, as are those of `sides`
  dnnl::memory::desc scratchpad;
  int64_t copied = 0;  ///< bytes of the copies in the workspace; the scratchpad follows them
  int64_t bytes = 0;   ///< of the workspace; what does not fit is in memory of the thread

  int64_t workspace_bytes() const { return static_cast<int64_t>(scratchpad.get_size()); }
};

/// Images per piece: the largest divisor of all images that fits in kPieceBytes, at least 1. The
/// same if nothing is copied: gradients of weights are summed piece by piece, and their bits should
/// not depend on the layout.
int ImagesOfPiece(const Convolution& conv);

/// Makes the kernel for the caller's current number of OpenMP threads. Returns null if oneDNN has
/// no kernel optimized for this processor.
std::unique_ptr<Kernel> MakeKernel(const Convolution& conv, ConvolutionPass pass);

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_ONEDNN_KERNEL_HPP_
