#ifndef LAYRUB_PLACEMENT_TEST_HAND_MADE_HPP_
#define LAYRUB_PLACEMENT_TEST_HAND_MADE_HPP_

#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::testing {

/// Builds a graph tensor by tensor and operation by operation. Sizes are in units of kAlignment.
class HandMade {
 public:
  TensorId Add(const std::string& name, int64_t units, Role role = Role::kActivation) {
    Tensor tensor;
    tensor.name = name;
    tensor.bytes = units * kAlignment;
    tensor.role = role;
    const bool is_state = role == Role::kParameter || role == Role::kParameterGradient ||
                          role == Role::kHistory || role == Role::kUser;
    tensor.life = is_state ? Life::kState : Life::kIteration;
    graph.tensors.push_back(tensor);
    return static_cast<TensorId>(graph.tensors.size()) - 1;
  }

  /// A version of the named blob number `blob`.
  TensorId AddVersion(const std::string& name, int64_t units, int32_t blob,
                      Role role = Role::kActivation) {
    const TensorId t = Add(name, units, role);
    graph.tensors[t].blob = blob;
    return t;
  }

  OpId Run(const std::string& name, Pass pass, std::vector<Variant> variants,
           OpKind kind = OpKind::kCompute) {
    Op op;
    op.name = name;
    op.pass = pass;
    op.kind = kind;
    op.variants = std::move(variants);
    graph.ops.push_back(op);
    return static_cast<OpId>(graph.ops.size()) - 1;
  }

  OpId Forward(const std::string& name, Variant variant) {
    return Run(name, Pass::kForward, {variant});
  }
  OpId Backward(const std::string& name, Variant variant) {
    return Run(name, Pass::kBackward, {variant});
  }

  Graph graph;
};

inline Variant Uses(std::vector<TensorId> reads, std::vector<TensorId> writes,
                    std::vector<AliasPair> may_alias = {}) {
  Variant variant;
  variant.reads = std::move(reads);
  variant.writes = std::move(writes);
  variant.may_alias = std::move(may_alias);
  return variant;
}

/// x is needed again after y and z have been written and read. Each has 8 units, and each operation
/// takes a second.
class NetOfThree : public HandMade {
 public:
  NetOfThree() {
    const TensorId y = Add("y", 8), z = Add("z", 8);
    Forward("x/forward", Uses({}, {x}));
    Forward("y/forward", Uses({}, {y}));
    Forward("z/forward", Uses({y}, {z}));
    Backward("x/backward", Uses({x}, {}));
    for (Op& op : graph.ops) op.variants[0].flops = 1;
  }
  const TensorId x = Add("x", 8);
};

/// The steps of a plan as in its text, without their numbers.
inline std::vector<std::string> Steps(const Graph& graph, const Plan& plan) {
  std::vector<std::string> steps;
  const std::string text = ToText(plan, graph);
  size_t at = text.find("\n0 ");
  while (at != std::string::npos && text.compare(at + 1, std::string::npos, "end\n") != 0) {
    const size_t begin = text.find(' ', at + 1) + 1;
    const size_t end = text.find('\n', begin);
    steps.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return steps;
}

/// Names of `tensors`.
inline std::vector<std::string> Names(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<std::string> names;
  for (const TensorId t : tensors) names.push_back(graph.tensors[t].name);
  return names;
}

/// Data, a layer a, a layer b, a layer c with the loss, and their backwards: every forward output
/// is read again by the backward of its reader. All activations are 4 units, gradients of
/// parameters are left out.
///   forward: 0 data, 1 a, 2 b, 3 c; backward: 4 c, 5 b, 6 a.
inline HandMade Chain() {
  HandMade net;
  const TensorId w = net.Add("w", 1, Role::kParameter);
  const TensorId x = net.Add("x", 4);
  const TensorId a = net.Add("a", 4);
  const TensorId b = net.Add("b", 4);
  const TensorId c = net.Add("c", 4);
  const TensorId db = net.Add("b.grad", 4, Role::kActivationGradient);
  const TensorId da = net.Add("a.grad", 4, Role::kActivationGradient);
  net.Forward("data/forward", Uses({}, {x}));
  net.Forward("a/forward", Uses({x, w}, {a}));
  net.Forward("b/forward", Uses({a}, {b}));
  net.Forward("c/forward", Uses({b}, {c}));
  net.Backward("c/backward", Uses({b, c}, {db}, {{db, b}, {db, c}}));
  net.Backward("b/backward", Uses({a, db}, {da}, {{da, db}}));
  net.Backward("a/backward", Uses({x, da}, {}));
  return net;
}

/// A machine with one FLOP a second, a link of `units` units a second each way, and no latency.
inline Machine LinkMachine(double units) {
  const double rate = units * static_cast<double>(kAlignment);
  Machine machine{"link", 1, 1e12, rate, rate, 2 * rate, 0};
  machine.file_write = machine.file_read = rate;
  return machine;
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_HAND_MADE_HPP_
