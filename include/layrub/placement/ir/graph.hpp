#ifndef LAYRUB_PLACEMENT_IR_GRAPH_HPP_
#define LAYRUB_PLACEMENT_IR_GRAPH_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/base/comparable.hpp"
#include "layrub/base/status.hpp"

namespace layrub {

/// Index into Graph::tensors or Graph::ops. kNone where there is none.
using TensorId = int32_t;
using OpId = int32_t;
inline constexpr int32_t kNone = -1;

/// Every planned range starts at a multiple of this many bytes and takes a multiple of it.
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
  kSaved,    ///< written by a forward for its own backward (mask, index, statistics); never a named
             ///< blob
  kScratch,  ///< workspace of one operation; holds nothing before or after it
  kUser,     ///< written by the user between passes (tops of Input layers)
};

/// How long the value of a tensor lives. Where it is meanwhile, a plan says.
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

  bool is_state() const { return life == Life::kState; }
  LAYRUB_COMPARABLE(Tensor)
};

/// `output` may lie on the bytes of `input`: the operation is correct when both have the same
/// address, and the value of `input` is gone afterwards.
struct AliasPair {
  TensorId output = kNone;
  TensorId input = kNone;
  LAYRUB_COMPARABLE(AliasPair)
};

/// One way to run an operation that needs workspace: a tensor of role kScratch (kNone: no bytes),
/// how long the operation takes with it (0: unknown, estimate from flops and bytes) and whether its
/// result is reproducible.
struct Scratch {
  TensorId tensor = kNone;
  double seconds = 0;
  bool deterministic = true;
  std::string name = {};  ///< of the algorithm, without white space; empty where there is one only
  LAYRUB_COMPARABLE(Scratch)
};

/// One operand set of an operation. All forms of an operation give the same bits.
/// A tensor in both `reads` and `writes` is updated in place. A tensor of role kSaved in `writes`
/// is materialised only if the chosen form of a later operation reads it.
struct Form {
  std::string name;  ///< without white space: "y", "mask"
  std::vector<TensorId>
      reads;  ///< may name a tensor twice (two operands that are views of one value)
  std::vector<TensorId> writes;
  std::vector<AliasPair> may_alias;
  std::vector<Scratch> scratch;  ///< alternatives, smallest first; empty: needs none
  double flops = 0;
  double bytes_moved = 0;  ///< bytes read and written by the operation itself
  bool tf32 = false;       ///< `flops` may be rounded to TF32, at Machine::tf32_flops
  double exchanged = 0;    ///< bytes that the device receives from others
  LAYRUB_COMPARABLE(Form)
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
      false;  ///< may run again in the same iteration with the same result and no other effect
  std::vector<Form> forms;  ///< at least one; forward operations have exactly one
  LAYRUB_COMPARABLE(Op)
};

/// One training iteration (or one forward pass) as data: operations in the order in which they run,
/// all forwards before all backwards before all updates. Plain data; no thread rules beyond those
/// of std::vector.
struct Graph {
  std::string name;  ///< without white space
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  LAYRUB_COMPARABLE(Graph)
};

/// Ok, or kInvalid naming the operation or tensor: ids in range, names unique and without white
/// space, bytes not negative, passes in order, every read written before (state tensors
/// excepted), scratch used by one operation only, alias outputs written by their form and no larger
/// than their inputs, every Fill writes exactly one tensor, a Feed is a forward that writes and
/// does nothing else.
Status Validate(const Graph& graph);

/// Bytes of the state tensors, aligned.
int64_t StateBytes(const Graph& graph);

/// The least device bytes any plan that keeps state tensors resident and does not slice can
/// need: StateBytes + max over operations of the least, over the operation's forms, of its distinct
/// tensors that are not state plus its smallest scratch; an output that may lie on an input is
/// counted once (a maximum matching: each input carries one output), kSaved outputs of forwards are
/// counted only if every form of their reader reads them. Computed from the graph alone, never from
/// a plan.
int64_t FloorBytes(const Graph& graph);
/// The operation at which FloorBytes is reached.
OpId FloorOp(const Graph& graph);
/// FloorBytes of plans that keep parameters, gradients and history in the host tier and have on the
/// device only those that the operation at hand touches.
int64_t StateFloorBytes(const Graph& graph);
OpId StateFloorOp(const Graph& graph);

/// The documented text format (docs/plan-format.md). FromText(ToText(g)) == g; errors name the
/// line.
std::string ToText(const Graph& graph);
Result<Graph> GraphFromText(const std::string& text);

const char* Name(Role role);
const char* Name(Pass pass);

}  // namespace layrub

#endif  // LAYRUB_PLACEMENT_IR_GRAPH_HPP_
