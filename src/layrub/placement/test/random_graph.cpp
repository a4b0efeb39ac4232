#include "layrub/placement/test/random_graph.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/test/net_builder.hpp"

namespace layrub::testing {

TensorId NetBuilder::Add(const std::string& name, int64_t bytes, Role role, int32_t blob) {
  graph_.tensors.push_back({name, bytes, role, Life::kIteration, false, blob});
  return static_cast<TensorId>(graph_.tensors.size() - 1);
}

TensorId NetBuilder::AddState(const std::string& name, int64_t bytes, Role role) {
  const TensorId id = Add(name, bytes, role);
  graph_.tensors[id].life = Life::kState;
  graph_.tensors[id].host_access = id % 3 == 0;
  return id;
}

size_t NetBuilder::NewValue(const std::string& name, int64_t bytes) {
  Value value;
  value.data = Add(name, bytes, Role::kActivation, blobs_++);
  value.diff_blob = blobs_++;
  values_.push_back(value);
  return values_.size() - 1;
}

/// The version of the same blob that an in-place layer makes of `input`.
size_t NetBuilder::NextVersion(size_t input, const std::string& name) {
  values_[input].overwritten = true;
  Value value;
  const Tensor& tensor = graph_.tensors[values_[input].data];
  value.data = Add(name, tensor.bytes, Role::kActivation, tensor.blob);
  value.diff_blob = values_[input].diff_blob;
  value.in_place = true;
  values_.push_back(value);
  return values_.size() - 1;
}

/// The gradient of a value, about to be written by the backward of `layer`.
TensorId NetBuilder::Diff(size_t value, const std::string& layer) {
  Value& of = values_[value];
  of.diff = Add(layer + "." + std::to_string(value) + ".grad", BytesOf(of.data),
                Role::kActivationGradient, of.diff_blob);
  return of.diff;
}

Variant NetBuilder::MakeVariant(const std::string& name, Ids reads, Ids writes) {
  Variant variant;
  variant.name = name;
  for (TensorId id : reads) variant.bytes_moved += static_cast<double>(BytesOf(id));
  variant.flops = variant.bytes_moved * Pick(1, 100);
  variant.tf32 = Pick(0, 1) == 1;
  variant.reads = std::move(reads);
  variant.writes = std::move(writes);
  return variant;
}

/// Any output may lie on any operand that is not state, not updated in place and not smaller.
void NetBuilder::AllowAliases(Variant* variant, int percent) {
  const auto updated = [variant](TensorId id) {
    return std::count(variant->reads.begin(), variant->reads.end(), id) > 0 &&
           std::count(variant->writes.begin(), variant->writes.end(), id) > 0;
  };
  for (TensorId output : variant->writes) {
    for (TensorId input : variant->reads) {
      if (updated(input) || updated(output) || graph_.tensors[input].is_state()) continue;
      if (BytesOf(output) <= BytesOf(input) && Chance(percent))
        variant->may_alias.push_back({output, input});
    }
  }
}

void NetBuilder::AddWorkspace(Variant* variant, const std::string& layer) {
  int64_t bytes = 0;
  for (int i = 0, n = Pick(0, 4); i < n; ++i) {
    TensorId id = kNone;
    if (i > 0 || Chance(50)) {
      bytes += Pick(1, 3000);
      id = Add(layer + ":workspace" + std::to_string(i), bytes, Role::kWorkspace);
    }
    variant->algorithms.push_back({id, 1e-3 / (i + 1), Chance(70)});
  }
}

void NetBuilder::AddOp(const std::string& name, Pass pass, OpKind kind, bool repeatable,
                       std::vector<Variant> variants) {
  graph_.ops.push_back({name, pass, kind, repeatable, std::move(variants)});
}

/// Prepares the backward of a layer with these outputs. Returns false if no gradient arrives at any
/// of them; otherwise zeroes those that nobody has written.
bool NetBuilder::Fill(const std::string& layer, const std::vector<size_t>& outputs) {
  const auto arrives = [this](size_t value) { return values_[value].diff != kNone; };
  if (std::none_of(outputs.begin(), outputs.end(), arrives)) return false;
  for (size_t value : outputs) {
    if (arrives(value)) continue;
    const TensorId diff = Diff(value, layer + "/fill");
    AddOp(graph_.tensors[diff].name + "/fill", Pass::kBackward, OpKind::kFill, true,
          {MakeVariant("zero", {}, {diff})});
  }
  return true;
}

/// A value that no layer has taken yet, or, rarely, a new input.
size_t NetBuilder::Take(bool trained) {
  std::vector<size_t> free;
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].taken && (values_[i].trained || !trained)) free.push_back(i);
  }
  if (free.empty()) {
    const size_t input = NewValue("input" + std::to_string(values_.size()), Bytes());
    values_[input].trained = false;
    Tensor& tensor = graph_.tensors[values_[input].data];
    tensor.role = Role::kUser;
    tensor.life = Life::kState;
    free.push_back(input);
  }
  // Mostly the newest one, so that chains are long.
  const size_t chosen = free[Chance(70) ? free.size() - 1 : Pick(0, static_cast<int>(free.size()))];
  values_[chosen].taken = true;
  return chosen;
}

/// Marks blobs that the user asks for: the last version of some data and of some gradients.
void NetBuilder::MarkKeep() {
  for (const Value& value : values_) {
    if (!value.overwritten && Chance(8)) graph_.tensors[value.data].keep = true;
    if (!value.in_place && value.diff != kNone && Chance(5)) graph_.tensors[value.diff].keep = true;
  }
}

Graph NetBuilder::Build(int layers) {
  Source();
  using Layer = void (NetBuilder::*)(const std::string&);
  // Listed as often as they are wanted.
  constexpr Layer kLayers[] = {
      &NetBuilder::Linear,     &NetBuilder::Linear,     &NetBuilder::Linear,
      &NetBuilder::Activation, &NetBuilder::Activation, &NetBuilder::Activation,
      &NetBuilder::Normalize,  &NetBuilder::Normalize,  &NetBuilder::Merge,
      &NetBuilder::Split,      &NetBuilder::Split,      &NetBuilder::Slice,
      &NetBuilder::View,       &NetBuilder::Untyped,    &NetBuilder::Accuracy,
      &NetBuilder::Loss};
  Linear("first");
  for (int i = 0; i < layers; ++i) {
    (this->*kLayers[Pick(0, static_cast<int>(std::size(kLayers)))])("layer" + std::to_string(i));
  }
  Loss("loss");
  if (Chance(90)) {
    for (size_t i = backward_.size(); i-- > 0;) backward_[i]();
    Updates();
    const bool transient = Chance(40) && UpdateWithinBackward();
    if (!transient && Chance(50)) ClearDiffs();
  }
  MarkKeep();
  return std::move(graph_);
}

Graph RandomGraph(uint64_t seed, int layers) {
  Graph graph = NetBuilder(seed).Build(layers);
  graph.name = "random_" + std::to_string(seed) + "_" + std::to_string(layers);
  return graph;
}

rc::Gen<Graph> ArbitraryGraph() {
  return rc::gen::map(
      rc::gen::pair(rc::gen::noShrink(rc::gen::arbitrary<uint32_t>()), rc::gen::inRange(1, 40)),
      [](const std::pair<uint32_t, int>& made) { return RandomGraph(made.first, made.second); });
}

}  // namespace layrub::testing

namespace layrub::placement {

void showValue(const Graph& graph, std::ostream& out) { out << graph.name; }

}  // namespace layrub::placement
