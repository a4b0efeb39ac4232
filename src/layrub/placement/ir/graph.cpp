#include "layrub/placement/ir/graph.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "layrub/base/text.hpp"

namespace layrub {
namespace {

/// No graph may hold more than this many bytes, so that sums of sizes never overflow.
constexpr int64_t kMaxBytes = int64_t{1} << 60;

/// A hash table of names. Deep graphs have hundreds of thousands of them.
class NameSet {
 public:
  explicit NameSet(size_t names) : slots_(std::bit_ceil(2 * names + 1)) {}

  /// Returns false if an equal name was inserted before. `name` must outlive the set, and at most
  /// `names` names may be inserted.
  bool Insert(std::string_view name) {
    const size_t hash = std::hash<std::string_view>()(name);
    for (size_t i = hash;; ++i) {
      Slot& slot = slots_[i % slots_.size()];
      if (slot.name.data() == nullptr) {
        slot = {hash, name};
        return true;
      }
      if (slot.hash == hash && slot.name == name) return false;
    }
  }

 private:
  struct Slot {
    size_t hash = 0;
    std::string_view name;
  };
  std::vector<Slot> slots_;
};

class Validator {
 public:
  explicit Validator(const Graph& graph)
      : graph_(graph),
        written_(graph.tensors.size()),
        last_variant_(graph.tensors.size()),
        workspace_of_(graph.tensors.size(), kNone) {}

  Status Run() {
    if (!graph_.name.empty() && !IsName(graph_.name)) {
      return Status::Invalid("graph: the name '" + graph_.name + "' has white space or is '-'");
    }
    if (Status status = CheckTensors(); !status.ok()) return status;
    NameSet names(graph_.ops.size());
    for (OpId o = 0; o < static_cast<OpId>(graph_.ops.size()); ++o) {
      const Op& op = graph_.ops[o];
      if (!IsName(op.name)) return Bad(op, "its name is empty, '-' or has white space");
      if (!names.Insert(op.name)) return Bad(op, "another operation has this name");
      if (o > 0 && op.pass < graph_.ops[o - 1].pass) {
        return Bad(op, std::string("a ") + Name(op.pass) + " operation cannot come after the " +
                           Name(graph_.ops[o - 1].pass) + " operation " + graph_.ops[o - 1].name);
      }
      if (Status status = CheckVariants(op, o); !status.ok()) return status;
      for (const Variant& variant : op.variants) {
        for (const TensorId t : variant.writes) written_[t] = true;
      }
    }
    return Status::Ok();
  }

 private:
  static Status Bad(const Op& op, const std::string& what) {
    return Status::Invalid("operation " + op.name + ": " + what);
  }
  static Status Bad(const Tensor& tensor, const std::string& what) {
    return Status::Invalid("tensor " + tensor.name + ": " + what);
  }

  Status CheckTensors() const {
    NameSet names(graph_.tensors.size());
    int64_t total = 0;
    for (const Tensor& tensor : graph_.tensors) {
      if (!IsName(tensor.name)) return Bad(tensor, "its name is empty, '-' or has white space");
      if (!names.Insert(tensor.name)) return Bad(tensor, "another tensor has this name");
      if (tensor.bytes < 0) {
        return Bad(tensor, "its size is negative (" + std::to_string(tensor.bytes) + " bytes)");
      }
      if (tensor.bytes > kMaxBytes || (total += Aligned(tensor.bytes)) > kMaxBytes) {
        return Bad(tensor, "with it the graph holds more than 2^60 bytes");
      }
      if (tensor.host_access && !tensor.is_state()) {
        return Bad(tensor, "it is used in host memory, but is not state");
      }
      if (tensor.role == Role::kWorkspace && tensor.is_state()) {
        return Bad(tensor, "a workspace cannot be state");
      }
    }
    return Status::Ok();
  }

  Status CheckVariants(const Op& op, OpId o) {
    if (op.variants.empty()) return Bad(op, "it has no variant");
    if (op.pass == Pass::kForward && op.variants.size() != 1) {
      return Bad(op, "a forward operation has exactly one variant");
    }
    for (const Variant& variant : op.variants) {
      if (!variant.name.empty() && !IsName(variant.name)) {
        return Bad(op, "the name of variant '" + variant.name + "' has white space or is '-'");
      }
      for (const double amount : {variant.flops, variant.bytes_moved, variant.exchanged}) {
        if (!IsAmount(amount)) return Bad(op, "its flops or bytes are negative or not finite");
      }
      if (Status status = CheckOperands(op, variant); !status.ok()) return status;
      if (Status status = CheckAlgorithm(op, variant, o); !status.ok()) return status;
      if (op.kind == OpKind::kFill && (variant.writes.size() != 1 || !variant.reads.empty())) {
        return Bad(op, "a fill writes exactly one tensor and reads none");
      }
      if (op.kind == OpKind::kFeed && !IsFeed(op, variant)) {
        return Bad(op, "a feed is a forward that only writes tensors that are not state");
      }
    }
    return Status::Ok();
  }

  bool IsFeed(const Op& op, const Variant& variant) const {
    const auto is_state = [this](TensorId t) { return graph_.tensors[t].is_state(); };
    return op.pass == Pass::kForward && !op.repeatable && variant.reads.empty() &&
           variant.algorithms.empty() && !variant.writes.empty() &&
           std::none_of(variant.writes.begin(), variant.writes.end(), is_state);
  }

  Status CheckOperands(const Op& op, const Variant& variant) {
    for (const std::vector<TensorId>* operands : {&variant.reads, &variant.writes}) {
      for (const TensorId t : *operands) {
        if (!Exists(t)) return Bad(op, "tensor number " + std::to_string(t) + " does not exist");
        if (graph_.tensors[t].role == Role::kWorkspace) {
          return Bad(op, "workspace " + graph_.tensors[t].name + " cannot be an operand");
        }
      }
    }
    for (const TensorId t : variant.reads) {
      if (!written_[t] && !graph_.tensors[t].is_state()) {
        return Bad(op, "it reads " + graph_.tensors[t].name + ", which nothing has written before");
      }
    }
    ++variants_;
    for (const TensorId t : variant.writes) {
      if (std::exchange(last_variant_[t], variants_) == variants_) {
        return Bad(op, "variant '" + variant.name + "' writes a tensor twice");
      }
    }
    for (const AliasPair& pair : variant.may_alias) {
      if (!Exists(pair.output) || !Exists(pair.input) || pair.output == pair.input) {
        return Bad(op, "a pair of may_alias does not name two different tensors");
      }
      if (std::find(variant.writes.begin(), variant.writes.end(), pair.output) ==
          variant.writes.end()) {
        return Bad(op, "may_alias names " + graph_.tensors[pair.output].name + ", which variant '" +
                           variant.name + "' does not write");
      }
      if (Aligned(graph_.tensors[pair.output].bytes) > Aligned(graph_.tensors[pair.input].bytes)) {
        return Bad(op, "may_alias puts " + graph_.tensors[pair.output].name + " on " +
                           graph_.tensors[pair.input].name + ", which is smaller");
      }
    }
    return Status::Ok();
  }

  Status CheckAlgorithm(const Op& op, const Variant& variant, OpId o) {
    for (const Algorithm& algorithm : variant.algorithms) {
      if (!IsAmount(algorithm.seconds)) return Bad(op, "its seconds are negative or not finite");
      if (algorithm.workspace == kNone) continue;
      if (!Exists(algorithm.workspace)) {
        return Bad(op, "tensor number " + std::to_string(algorithm.workspace) + " does not exist");
      }
      const Tensor& tensor = graph_.tensors[algorithm.workspace];
      if (tensor.role != Role::kWorkspace) return Bad(op, tensor.name + " is not a workspace");
      OpId& owner = workspace_of_[algorithm.workspace];
      if (owner != kNone && owner != o) {
        return Bad(op, "workspace " + tensor.name + " belongs to " + graph_.ops[owner].name);
      }
      owner = o;
    }
    return Status::Ok();
  }

  static bool IsAmount(double value) { return std::isfinite(value) && value >= 0; }

  bool Exists(TensorId t) const {
    return t >= 0 && t < static_cast<TensorId>(graph_.tensors.size());
  }

  const Graph& graph_;
  std::vector<bool> written_;
  std::vector<int64_t> last_variant_;  ///< by tensor: the number of the last variant that writes it
  int64_t variants_ = 0;               ///< checked so far
  std::vector<OpId> workspace_of_;
};

}  // namespace

Status Validate(const Graph& graph) { return Validator(graph).Run(); }

int64_t StateBytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.is_state()) bytes += Aligned(tensor.bytes);
  }
  return bytes;
}

const char* Name(Role role) {
  switch (role) {
    case Role::kParameter:
      return "parameter";
    case Role::kParameterGradient:
      return "parameter_gradient";
    case Role::kHistory:
      return "history";
    case Role::kActivation:
      return "activation";
    case Role::kActivationGradient:
      return "activation_gradient";
    case Role::kSaved:
      return "saved";
    case Role::kWorkspace:
      return "workspace";
    case Role::kUser:
      return "user";
  }
  return "unknown";
}

const char* Name(Pass pass) {
  switch (pass) {
    case Pass::kForward:
      return "forward";
    case Pass::kBackward:
      return "backward";
    case Pass::kUpdate:
      return "update";
  }
  return "unknown";
}

}  // namespace layrub
