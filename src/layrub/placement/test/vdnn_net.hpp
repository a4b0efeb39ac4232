#ifndef LAYRUB_PLACEMENT_TEST_VDNN_NET_HPP_
#define LAYRUB_PLACEMENT_TEST_VDNN_NET_HPP_

#include <string>

#include "layrub/placement/test/hand_made.hpp"

namespace layrub::testing {

/// A net like those in the papers. All values but the loss are 8 units. All forwards but that of
/// the data are repeatable.
///
///   data -> x; conv1: x -> c1; relu1 in place: c1 -> r1; conv2: r1 -> c2; norm: r1 -> n;
///   sum: n, c2 -> sum; pool: n -> p; conv3: p -> c3; loss: c3, sum -> loss
///
/// The backwards of conv<i>, relu1, norm and pool read their inputs. The backward pass does not use
/// sum.
class VdnnNet : public HandMade {
 public:
  VdnnNet() {
    const TensorId w = Add("w", 1, Role::kParameter), dw = Add("dw", 1, Role::kParameterGradient);
    const TensorId x = Add("x", 8);
    const TensorId c1 = AddVersion("c1", 8, 0), r1 = AddVersion("r1", 8, 0);
    const TensorId c2 = Add("c2", 8), n = Add("n", 8), sum = Add("sum", 8), p = Add("p", 8);
    const TensorId c3 = Add("c3", 8), loss = Add("loss", 1);
    graph.tensors[loss].keep = true;
    const auto diff = [this](const std::string& name) {
      return Add(name + ".grad", 8, Role::kActivationGradient);
    };
    const TensorId dc3 = diff("c3"), dp = diff("p"), dn = diff("n"), dr1 = diff("r1");
    const TensorId dr1b = diff("r1b"), dc1 = diff("c1");
    Forward("data/forward", Uses({}, {x}));
    AddConv("conv1/forward", Uses({x, w}, {c1}));
    Forward("relu1/forward", Uses({c1}, {r1}, {{r1, c1}}));
    AddConv("conv2/forward", Uses({r1, w}, {c2}));
    Forward("norm/forward", Uses({r1}, {n}));
    Forward("sum/forward", Uses({n, c2}, {sum}));
    Forward("pool/forward", Uses({n}, {p}));
    AddConv("conv3/forward", Uses({p, w}, {c3}));
    Forward("loss/forward", Uses({c3, sum}, {loss}));
    for (size_t o = 1; o < graph.ops.size(); ++o) graph.ops[o].repeatable = true;
    Backward("loss/backward", Uses({c3}, {dc3}));
    AddConv("conv3/backward", Uses({p, dc3, w, dw}, {dp, dw}), Pass::kBackward);
    Backward("pool/backward", Uses({n, dp}, {dn}, {{dn, dp}}));
    Backward("norm/backward", Uses({r1, dn}, {dr1}, {{dr1, dn}}));
    AddConv("conv2/backward", Uses({r1, dr1, w, dw}, {dr1b, dw}), Pass::kBackward);
    Backward("relu1/backward", Uses({c1, dr1b}, {dc1}, {{dc1, dr1b}}));
    AddConv("conv1/backward", Uses({x, dc1, dw}, {dw}), Pass::kBackward);
  }

  TensorId Find(const std::string& name) const {
    for (TensorId t = 0; t < static_cast<TensorId>(graph.tensors.size()); ++t) {
      if (graph.tensors[t].name == name) return t;
    }
    return kNone;
  }

  OpId FindOp(const std::string& name) const {
    for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
      if (graph.ops[o].name == name) return o;
    }
    return kNone;
  }

 private:
  void AddConv(const std::string& name, Variant variant, Pass pass = Pass::kForward) {
    variant.flops = 1e6;
    Run(name, pass, {std::move(variant)});
  }
};

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_VDNN_NET_HPP_
