#ifndef CAFFE_MEMORY_TRAITS_HPP_
#define CAFFE_MEMORY_TRAITS_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caffe {

/// Something an operation of a layer reads or writes, named by the layer's own indices.
struct Operand {
  enum Kind : uint8_t {
    kBottomData,
    kTopData,
    kBottomDiff,
    kTopDiff,
    kParamData,
    kParamDiff,
    kSaved
  };
  Kind kind;
  int index;
  bool operator==(const Operand& other) const { return kind == other.kind && index == other.index; }
};
inline Operand BottomData(int i) { return {Operand::kBottomData, i}; }
inline Operand TopData(int i) { return {Operand::kTopData, i}; }
inline Operand BottomDiff(int i) { return {Operand::kBottomDiff, i}; }
inline Operand TopDiff(int i) { return {Operand::kTopDiff, i}; }
inline Operand ParamData(int i) { return {Operand::kParamData, i}; }
inline Operand ParamDiff(int i) { return {Operand::kParamDiff, i}; }
inline Operand Saved(int i) { return {Operand::kSaved, i}; }

/// One way to run an operation that can be run in several, each with a workspace of its own size:
/// the same bits each time, other bits than another one's perhaps.
struct Workspace {
  std::string name;  ///< of the algorithm: "gemm", "fft"; without white space
  int64_t bytes = 0;
  double seconds = 0;         ///< that the operation takes with it; 0: unknown
  bool deterministic = true;  ///< the same bits each time
};

/// One operand set of a forward or backward.
struct OperandForm {
  std::string name;  ///< "x", "y", "mask"; without white space
  std::vector<Operand> reads;
  /// An operand in both lists is updated in place (parameter gradients accumulate, running
  /// statistics).
  std::vector<Operand> writes;
  /// (output, input): the body is right when both have the same address. An output written before
  /// the input has been read for the last time must not be listed.
  std::vector<std::pair<Operand, Operand>> may_alias;
  int64_t scratch_bytes = 0;  ///< workspace, where there is no choice of it
  double flops = 0;           ///< 0: one per value read or written
  bool tf32 = false;          ///< a GPU may round what they multiply to TF32 (RoundsToTf32)
  /// A backward form that reads a saved copy of what another form reads as it is, for calls that
  /// overwrite that in place. A plan has it only where that other form cannot be used.
  bool from_copy = false;
  /// Bytes that the device receives from others.
  int64_t exchanged_bytes = 0;
  /// The choice there is, smallest first, names unique; `scratch_bytes` does not count then. The
  /// body is told what was chosen (Layer::workspace).
  std::vector<Workspace> workspaces = {};
};

/// The workspaces of `form`, one without a name where there is no choice; none if it needs none.
std::vector<Workspace> Workspaces(const OperandForm& form);
/// The one for a call outside a plan: layrub::GrantedWorkspace, else the smallest; of no bytes if
/// the form needs none.
Workspace DirectWorkspace(const OperandForm& form);

/// A buffer that a layer's forward writes for its own backward.
struct SavedBuffer {
  std::string name;  ///< "mask", "index"; without white space
  int64_t bytes = 0;
};

/// Top `top` holds the same values as bottom `bottom` and shares its memory.
struct View {
  int top;
  int bottom;
};

/// Top `top` is the layer's parameter `param`: it shares its data.
struct ParamView {
  int top;
  int param;
};

/// What a layer tells the planner about its memory, for given shapes: pure knowledge, nothing is
/// touched. Backward forms are alternatives with the same result bit for bit. The first one whose
/// operands have not been overwritten (by an in-place forward) is used when nothing else decides,
/// so at least one form must need neither BottomData(i) nor TopData(j) wherever the layer may run
/// with bottom[i] == top[j]; it reads saved buffers instead. The forward writes exactly the saved
/// buffers that the chosen backward form reads (Layer::SavedBytes gives null for the others).
struct MemoryTraits {
  /// False: nothing is known (a layer that overrides nothing). The planner then assumes that both
  /// bodies read and write all that the layer is given, runs it in place where the prototxt says
  /// so, and never runs it twice.
  bool declared = false;
  /// They are about the bodies of a class from which that of the layer is derived: the layer may do
  /// other things, and is planned as one that declares nothing. Outside a plan, and for what a body
  /// of the base wants saved when it is called, they count.
  bool inherited = false;
  /// The forward may run again in the same iteration with the same result and no other effect
  /// (Layer::recomputing tells it so): state operands that it updates are left alone then.
  bool repeatable = true;
  /// The bodies queue kernels and calls of libraries, the same ones for the same addresses, and do
  /// nothing else: the host neither looks at values nor makes any, and no kernel is given by value
  /// what changes from run to run (a seed). A GPU may then do again what it has done without the
  /// layer being asked (CapturedWork).
  bool capturable = false;
  /// All bottoms and tops may have their channels in blocks (Blob::channel_block), of any size,
  /// together: the bodies do the same with each value wherever it lies, or ask the first bottom.
  bool takes_blocks = false;
  /// Each bottom and each top may lie in blocks, for itself, with its derivatives: in blocks of so
  /// many channels (8 or 16), of any size, or in none.
  int block_wanted = kNoBlocks;
  static constexpr int kNoBlocks = 0, kAnyBlock = 1;
  /// Of each that lies in such blocks, how many copies of it an iteration is spared; less those
  /// that the bodies make then.
  int copies_spared = 0;
  /// The tops' data are written by the user between passes (Input).
  bool user_tops = false;
  /// The forward brings values of the host to the tops, and may do so by Layer::feed: a plan for a
  /// device counts it as copies beside the operations.
  bool fed = false;
  /// The tops' shapes depend on the bottoms' values (Filter): where they are not as planned, the
  /// pass goes on without the plan, which has given up nothing that cannot be computed again.
  bool varying = false;
  std::vector<View>
      data_views;  ///< forward: top data is a view of bottom data; neither listed in `forward`
  std::vector<View> diff_views;        ///< backward: bottom diff is a view of top diff
  std::vector<ParamView> param_views;  ///< forward: top data is a parameter; listed nowhere else
  std::vector<SavedBuffer> saved;
  OperandForm forward;
  std::vector<OperandForm> backward;  ///< empty: the layer has no backward
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_TRAITS_HPP_
