#ifndef CAFFE_MEMORY_TRAITS_HPP_
#define CAFFE_MEMORY_TRAITS_HPP_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace caffe {

/// A value that an operation of a layer reads or writes, identified by the layer's own indices.
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

/// One of several ways to compute an operation, each with its own workspace. The same algorithm
/// always gives the same bits (if `deterministic`); another one may give other bits.
struct Algorithm {
  std::string name;  ///< for example "gemm", "fft"; without white space
  int64_t bytes = 0;
  double seconds = 0;         ///< time of the operation with it; 0: unknown
  bool deterministic = true;  ///< the same bits each time
};

/// One set of operands with which a forward or backward can run.
struct OperandVariant {
  std::string name;  ///< for example "x", "y", "mask"; without white space
  std::vector<Operand> reads;
  /// An operand in both lists is updated in place (parameter gradients accumulate, running
  /// statistics).
  std::vector<Operand> writes;
  /// Pairs (output, input) that may have the same address. A pair must not be listed if the body
  /// writes to the output before it has read the input for the last time.
  std::vector<std::pair<Operand, Operand>> may_alias;
  int64_t workspace_bytes = 0;  ///< used if `algorithms` is empty
  double flops = 0;             ///< 0: one for each value read or written
  bool tf32 = false;            ///< a GPU may round the factors to TF32 (RoundsToTf32)
  /// A backward variant that reads a saved copy of a value that another variant reads directly. It
  /// is for calls that overwrite the value in place. A plan has it only if the other variant cannot
  /// be used.
  bool from_copy = false;
  /// Bytes that the device receives from other devices.
  int64_t exchanged_bytes = 0;
  /// The algorithms to choose from, smallest workspace first, with unique names. If not empty,
  /// `workspace_bytes` is ignored. Layer::algorithm tells the body which one was chosen.
  std::vector<Algorithm> algorithms = {};
};

/// Returns the algorithms of `variant`: a single one without a name if there is no choice, none if
/// no workspace is needed.
std::vector<Algorithm> Algorithms(const OperandVariant& variant);
/// Returns the algorithm for a call outside a plan: layrub::DefaultAlgorithm, otherwise the
/// smallest. It has 0 bytes if the variant needs no workspace.
Algorithm DirectAlgorithm(const OperandVariant& variant);

/// A buffer that a layer's forward writes for its own backward.
struct SavedBuffer {
  std::string name;  ///< for example "mask", "index"; without white space
  int64_t bytes = 0;
};

/// Top `top` holds the same values as bottom `bottom` and shares its memory.
struct View {
  int top;
  int bottom;
};

/// Top `top` is the layer's parameter `param` and shares its data.
struct ParamView {
  int top;
  int param;
};

/// What a layer tells the planner about its memory for given shapes. It is a description only:
/// nothing is allocated or changed.
///
/// Backward variants are alternatives with the same result bit for bit. By default the first one is
/// used whose operands have not been overwritten by an in-place forward. So if the layer may run
/// with bottom[i] == top[j], at least one variant must read neither BottomData(i) nor TopData(j),
/// but saved buffers instead. The forward writes exactly the saved buffers that the chosen backward
/// variant reads (Layer::SavedBytes returns null for the others).
struct MemoryTraits {
  /// False: nothing is known, because the layer does not override Traits. The planner then assumes
  /// that both bodies read and write all their operands, runs the layer in place if the prototxt
  /// says so, and never recomputes it.
  bool declared = false;
  /// The traits describe the bodies of a base class, and the layer's own class may behave
  /// differently. A plan treats the layer as one that declares nothing. Outside a plan these traits
  /// apply, for the buffers that a body of the base class needs when it is called.
  bool inherited = false;
  /// The forward may be recomputed in the same iteration, with the same result and no other effect.
  /// Layer::recomputing tells it so, and it must not update state operands then.
  bool repeatable = true;
  /// The bodies only queue kernels and library calls, the same ones for the same addresses. The
  /// host neither reads nor computes values, and no kernel argument passed by value (a seed)
  /// changes between runs. A GPU may then replay captured work without calling the layer
  /// (CapturedWork).
  bool capturable = false;
  /// All bottoms and tops may have channel blocks (Blob::channel_block) of any one size. The bodies
  /// treat every value alike, wherever it is stored, or ask the first bottom for the block.
  bool takes_blocks = false;
  /// Each bottom and each top, with its derivatives, may independently have channel blocks of this
  /// size (8 or 16), of any size (kAnyBlock), or none.
  int block_wanted = kNoBlocks;
  static constexpr int kNoBlocks = 0, kAnyBlock = 1;
  /// The number of copies that an iteration saves for each blob with such blocks, minus the copies
  /// that the bodies then make.
  int copies_saved = 0;
  /// The layer may run for some items of the batch at a time. All bottoms and tops have the batch
  /// as their first dimension; a top's item depends on the same item of the bottoms alone; and
  /// gradients of parameters are sums over items.
  bool sliceable = false;
  /// If the number of items of each slice is a multiple of this, the slices in the order of the
  /// items give the same bits as the whole batch. 0: sums may be rounded differently.
  int exact_items = 1;
  /// The user writes the tops' data between passes (Input).
  bool user_tops = false;
  /// The forward copies host values to the tops, and may do so through Layer::feed. A plan for a
  /// device then treats it as copies that overlap operations.
  bool fed = false;
  /// The tops' shapes depend on the bottoms' values (Filter). If they differ from the planned ones,
  /// the pass continues without the plan, which therefore drops nothing that cannot be recomputed.
  bool varying = false;
  std::vector<View>
      data_views;  ///< forward: top data is a view of bottom data; neither listed in `forward`
  std::vector<View> diff_views;        ///< backward: bottom diff is a view of top diff
  std::vector<ParamView> param_views;  ///< forward: top data is a parameter; listed nowhere else
  std::vector<SavedBuffer> saved;
  OperandVariant forward;
  std::vector<OperandVariant> backward;  ///< empty: the layer has no backward
};

}  // namespace caffe

#endif  // CAFFE_MEMORY_TRAITS_HPP_
