#ifndef LAYRUB_PLACEMENT_IR_GRAPH_HPP_
#define LAYRUB_PLACEMENT_IR_GRAPH_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"

namespace layrub {

/// Index into Graph::tensors or Graph::ops; kNone: none.
using TensorId = int32_t;
using OpId = int32_t;
inline constexpr int32_t kNone = -1;

/// Every planned range starts at a multiple of this many bytes, and its size is a multiple of it.
inline constexpr int64_t kAlignment = 256;

/// `bytes` rounded up to kAlignment.
constexpr int64_t Aligned(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// What a tensor is for; reports break the peak down by role.
enum class Role : uint8_t {
  kParameter,           ///< weights, and statistics such as BatchNorm's running means
  kParameterGradient,   ///< accumulated over the iterations of one solver step
  kHistory,             ///< solver state
  kActivation,          ///< one version of a named blob's data
  kActivationGradient,  ///< one version of a named blob's diff
  kSaved,  ///< written by a forward for its own backward (mask, index, statistics); never a named
           ///< blob
  kWorkspace,  ///< memory of one operation; holds nothing before or after it
  kUser,       ///< written by the user between passes (tops of Input layers)
};

/// How long the value of a tensor lives. The plan says where it is meanwhile.
enum class Life : uint8_t {
  kIteration,  ///< within one iteration, from the operation that writes it to the last that reads
               ///< it
  kState,  ///< across iterations: parameters, their gradients, history, user inputs, loss weights
};

/// One value. A named blob that is written in place several times is several tensors: its versions.
struct Tensor {
  std::string name;  ///< unique, without white space: "conv1", "conv1@2" (version 2), "conv1.grad",
                     ///< "relu1:mask"
  int64_t bytes = 0;
  Role role = Role::kActivation;
  Life life = Life::kIteration;
  /// The value must be readable after each pass, once it has been written (net outputs, blobs the
  /// user asked for).
  bool keep = false;
  /// Tensors with the same blob >= 0 are versions of one named blob's data (or of its diff), in
  /// order of version.
  int32_t blob = kNone;
  /// The operations that use this state can also use it in host memory. If its home is there, it
  /// then needs no range of the device.
  bool host_access = false;

  bool is_state() const { return life == Life::kState; }
  LAYRUB_COMPARABLE(Tensor)
};

/// `output` may use the bytes of `input`: the operation is correct when both have the same address.
/// The value of `input` is lost then.
struct AliasPair {
  TensorId output = kNone;
  TensorId input = kNone;
  LAYRUB_COMPARABLE(AliasPair)
};

/// One way to compute an operation, with a workspace of its own size. Two algorithms may round
/// differently.
struct Algorithm {
  TensorId workspace = kNone;  ///< a tensor of role kWorkspace; kNone: it needs none
  double seconds = 0;          ///< of the operation; 0: estimate them from flops and bytes
  bool deterministic = true;   ///< the same bits in each run
  std::string name = {};       ///< without white space; empty where there is only one algorithm
  LAYRUB_COMPARABLE(Algorithm)
};

/// One operand set of an operation. All variants of an operation give the same bits.
/// A tensor in both `reads` and `writes` is updated in place. A tensor of role kSaved in `writes`
/// is materialised only if the chosen variant of a later operation reads it.
struct Variant {
  std::string name;  ///< without white space: "y", "mask"
  std::vector<TensorId>
      reads;  ///< may name a tensor twice (two operands that are views of one value)
  std::vector<TensorId> writes;
  std::vector<AliasPair> may_alias;
  std::vector<Algorithm> algorithms;  ///< smallest workspace first; empty: needs no workspace
  double flops = 0;
  double bytes_moved = 0;  ///< bytes read and written by the operation itself
  bool tf32 = false;       ///< `flops` may be rounded to TF32, at Machine::tf32_flops
  double exchanged = 0;    ///< bytes that the device receives from others
  LAYRUB_COMPARABLE(Variant)
};

enum class Pass : uint8_t { kForward, kBackward, kUpdate };

enum class OpKind : uint8_t {
  kCompute,  ///< runs a layer
  kFill,     ///< zeroes the one tensor it writes (a diff that is read but that no layer writes)
  kUpdate,   ///< one parameter's solver step
  kFeed,     ///< copies what it writes from memory of the process over the load lane; reads nothing
};

struct Op {
  std::string name;  ///< unique, without white space: "conv1/forward"
  Pass pass = Pass::kForward;
  OpKind kind = OpKind::kCompute;
  bool repeatable =
      false;  ///< may run again in the same iteration, with the same result and no other effect
  std::vector<Variant> variants;  ///< at least one; forward operations have exactly one
  LAYRUB_COMPARABLE(Op)
};

/// One training iteration (or one forward pass) as data: operations in the order in which they run,
/// all forwards before all backwards before all updates. Its thread rules are those of std::vector.
struct Graph {
  std::string name;  ///< without white space
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  LAYRUB_COMPARABLE(Graph)
};

/// Returns Ok, or kInvalid naming the operation or tensor. Checks that:
///
/// - ids are in range, and names are unique and without white space;
/// - bytes are not negative, and passes are in order;
/// - every tensor that is read has been written before (state tensors excepted);
/// - a workspace is used by one operation only;
/// - alias outputs are written by their variant and are no larger than their inputs;
/// - every Fill writes exactly one tensor;
/// - only state has host_access;
/// - a Feed is a forward operation that writes and does nothing else.
Status Validate(const Graph& graph);

/// Bytes of the state tensors, aligned.
int64_t StateBytes(const Graph& graph);

/// Returns the floor: the fewest device bytes that a plan can need if it keeps state tensors
/// resident and does not slice operations. This is StateBytes plus the most that any operation
/// needs: the least, over its variants, of its distinct tensors that are not state plus its
/// smallest workspace. An output that may alias an input is counted once (a maximum matching: each
/// input carries one output). A kSaved output of a forward is counted only if every variant of its
/// reader reads it. Computed from the graph alone, never from a plan.
int64_t FloorBytes(const Graph& graph);
/// The operation at which FloorBytes is reached.
OpId FloorOp(const Graph& graph);
/// Returns the state floor: the floor of plans that keep parameters, gradients and history in the
/// host tier and have on the device only those that the current operation touches. If that is more
/// than other operations need, it uses the state with Tensor::host_access in host memory.
int64_t StateFloorBytes(const Graph& graph);
OpId StateFloorOp(const Graph& graph);

/// Writes and reads the text format (docs/plan-format.md). GraphFromText(ToText(g)) == g. Errors
/// name the line.
std::string ToText(const Graph& graph);
Result<Graph> GraphFromText(const std::string& text);

const char* Name(Role role);
const char* Name(Pass pass);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_IR_GRAPH_HPP_
