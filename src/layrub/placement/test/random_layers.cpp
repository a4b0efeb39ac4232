// The kinds of layers that random nets are made of.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "layrub/placement/test/net_builder.hpp"

namespace layrub::testing {

void NetBuilder::Source() {
  const size_t data = NewValue("data", Pick(1, 5000));
  values_[data].trained = false;
  if (Chance(40)) {  // written by the user
    label_ = AddState("label", Pick(1, 300), Role::kUser);
    graph_.tensors[values_[data].data].role = Role::kUser;
    graph_.tensors[values_[data].data].life = Life::kState;
  } else {
    label_ = Add("label", Pick(1, 300), Role::kActivation, blobs_++);
    const bool fed = BytesOf(label_) % 2 == 0;
    AddOp("data/forward", Pass::kForward, fed ? OpKind::kFeed : OpKind::kCompute, false,
          {MakeVariant("default", {}, {values_[data].data, label_})});
  }
  loss_weight_ = AddState("loss.weight", 4, Role::kActivationGradient);
}

/// Weights, perhaps those of another layer; the backward accumulates their gradient and may
/// overwrite x.
void NetBuilder::Linear(const std::string& name) {
  const size_t x = Take(false);
  if (weights_.empty() || Chance(75)) {
    const int64_t bytes = Pick(1, 4000);
    const TensorId data = AddState(name + ".w", bytes, Role::kParameter);
    const TensorId diff = AddState(name + ".w.grad", bytes, Role::kParameterGradient);
    weights_.push_back({data, diff, AddState(name + ".w.history", bytes, Role::kHistory)});
  }
  const Weights w =
      weights_[Chance(70) ? weights_.size() - 1 : Pick(0, static_cast<int>(weights_.size()))];
  const size_t y = NewValue(name, Bytes());
  values_[y].disposable = true;
  Variant variant = MakeVariant("default", {values_[x].data, w.data}, {values_[y].data});
  AddWorkspace(&variant, name + "/forward");
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true, {variant});
  backward_.push_back([=, this] {
    if (!Fill(name, {y})) return;
    Variant variant =
        MakeVariant("default", {values_[x].data, values_[y].diff, w.data, w.diff}, {w.diff});
    if (values_[x].trained) variant.writes.push_back(Diff(x, name));
    AllowAliases(&variant, 60);
    AddWorkspace(&variant, name + "/backward");
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, Chance(50), {variant});
  });
}

/// In place or not, with a choice of variants: from y, from x or from a saved mask.
void NetBuilder::Activation(const std::string& name) {
  const size_t x = Take(true);
  const bool in_place =
      values_[x].trained && values_[x].disposable && values_[x].sole_owner && Chance(70);
  const size_t y = in_place ? NextVersion(x, name) : NewValue(name, BytesOf(values_[x].data));
  const bool with_mask = Chance(60);
  const bool with_y = (in_place && !with_mask) || Chance(60);
  const bool with_x = (!with_y && !with_mask) || Chance(50);
  values_[y].disposable = with_mask || (with_x && !in_place);
  Variant variant = MakeVariant("default", {values_[x].data}, {values_[y].data});
  AllowAliases(&variant, in_place ? 100 : 60);
  const TensorId mask =
      with_mask ? Add(name + ":mask", (BytesOf(values_[x].data) + 31) / 32, Role::kSaved) : kNone;
  if (with_mask) variant.writes.push_back(mask);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, Chance(80), {variant});
  backward_.push_back([=, this] {
    if (!Fill(name, {y})) return;
    const TensorId dy = values_[y].diff;
    Ids writes;
    if (values_[x].trained) writes.push_back(Diff(x, name));
    std::vector<Variant> variants;
    if (with_y) variants.push_back(MakeVariant("y", {values_[y].data, dy}, writes));
    if (with_x) variants.push_back(MakeVariant("x", {values_[x].data, dy}, writes));
    if (with_mask) variants.push_back(MakeVariant("mask", {mask, dy}, writes));
    for (Variant& choice : variants) AllowAliases(&choice, in_place ? 100 : 60);
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, variants);
  });
}

/// Like BatchNorm: updates statistics in place, may be repeatable (without updating them) or not,
/// and saves what its backward needs.
void NetBuilder::Normalize(const std::string& name) {
  const size_t x = Take(true);
  const bool in_place =
      values_[x].trained && values_[x].disposable && values_[x].sole_owner && Chance(70);
  const size_t y = in_place ? NextVersion(x, name) : NewValue(name, BytesOf(values_[x].data));
  const TensorId mean = AddState(name + ".mean", Pick(1, 300), Role::kParameter);
  const TensorId spread = Add(name + ":spread", Pick(1, 300), Role::kSaved);
  const TensorId copy = Add(name + ":copy", BytesOf(values_[x].data), Role::kSaved);
  values_[y].disposable = true;
  Variant variant = MakeVariant("default", {values_[x].data, mean}, {values_[y].data});
  AllowAliases(&variant, in_place ? 100 : 60);
  variant.writes.insert(variant.writes.end(), {mean, spread, copy});
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, Chance(60), {variant});
  backward_.push_back([=, this] {
    if (!Fill(name, {y})) return;
    const TensorId dy = values_[y].diff;
    Ids writes;
    if (values_[x].trained) writes.push_back(Diff(x, name));
    std::vector<Variant> variants{MakeVariant("copy", {copy, spread, dy}, writes),
                                  MakeVariant("x", {values_[x].data, spread, dy}, writes),
                                  MakeVariant("y", {values_[y].data, spread, dy}, writes)};
    for (Variant& choice : variants) AllowAliases(&choice, in_place ? 100 : 60);
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, variants);
  });
}

/// Like Eltwise or Concat: several inputs, one output; the backward may need the inputs or not.
void NetBuilder::Merge(const std::string& name) {
  std::vector<size_t> inputs{Take(true), Take(true)};
  if (Chance(30)) inputs.push_back(Take(true));
  int64_t largest = 0;
  for (size_t x : inputs) largest = std::max(largest, BytesOf(values_[x].data));
  const size_t y = NewValue(name, largest);
  const bool needs_inputs = Chance(40);
  values_[y].disposable = true;
  Ids reads;
  for (size_t x : inputs) reads.push_back(values_[x].data);
  Variant variant = MakeVariant("default", reads, {values_[y].data});
  AllowAliases(&variant, 50);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true, {variant});
  backward_.push_back([=, this] {
    if (!Fill(name, {y})) return;
    Variant variant = MakeVariant("default", {values_[y].diff}, {});
    for (size_t x : inputs) {
      if (needs_inputs) variant.reads.push_back(values_[x].data);
      if (values_[x].trained) variant.writes.push_back(Diff(x, name));
    }
    AllowAliases(&variant, 50);
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, {variant});
  });
}

/// Like Split. Forward: a view. Backward: the sum of the branches' gradients; those that nobody
/// wrote are zeroed or left out.
void NetBuilder::Split(const std::string& name) {
  const size_t x = Take(true);
  std::vector<size_t> branches;
  for (int i = 0, n = Pick(2, 4); i < n; ++i) {
    Value branch = values_[x];
    branch.taken = branch.sole_owner = branch.disposable = false;
    branch.diff = kNone;
    branch.diff_blob = blobs_++;
    branches.push_back(values_.size());
    values_.push_back(branch);
  }
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true, {MakeVariant("view", {}, {})});
  const bool leave_out = Chance(50);
  backward_.push_back([=, this] {
    std::vector<size_t> summed = branches;
    if (leave_out)
      std::erase_if(summed, [this](size_t branch) { return values_[branch].diff == kNone; });
    if (summed.empty() || !values_[x].trained || !Fill(name, summed)) return;
    Ids reads;
    for (size_t branch : summed) reads.push_back(values_[branch].diff);
    Variant variant = MakeVariant("sum", reads, {Diff(x, name)});
    AllowAliases(&variant, 60);
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, {variant});
  });
}

/// One input, several outputs; some may stay unread, so that their gradients are never written.
void NetBuilder::Slice(const std::string& name) {
  const size_t x = Take(true);
  std::vector<size_t> outputs;
  Variant variant = MakeVariant("default", {values_[x].data}, {});
  for (int i = 0, n = Pick(2, 4); i < n; ++i) {
    outputs.push_back(NewValue(name + "." + std::to_string(i), BytesOf(values_[x].data) / n));
    values_[outputs.back()].disposable = true;
    variant.writes.push_back(values_[outputs.back()].data);
  }
  AllowAliases(&variant, 30);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true, {variant});
  backward_.push_back([=, this] {
    if (!values_[x].trained || !Fill(name, outputs)) return;
    Variant variant = MakeVariant("default", {}, {});
    for (size_t y : outputs) variant.reads.push_back(values_[y].diff);
    variant.writes = {Diff(x, name)};
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, {variant});
  });
}

/// Like Flatten: input and output are the same bytes, so neither operation has operands.
void NetBuilder::View(const std::string& name) {
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true, {MakeVariant("view", {}, {})});
  backward_.push_back([=, this] {
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true,
          {MakeVariant("view", {}, {})});
  });
}

/// A layer that declares nothing: reads everything, may change its input, nothing may alias.
void NetBuilder::Untyped(const std::string& name) {
  const size_t x = Take(true);
  const size_t y = NewValue(name, Bytes());
  const bool changes_x = values_[x].sole_owner && values_[x].trained && Chance(50);
  Variant variant = MakeVariant("default", {values_[x].data}, {values_[y].data});
  if (changes_x) variant.writes.push_back(values_[x].data);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, false, {variant});
  const bool changes_dy = Chance(30);
  backward_.push_back([=, this] {
    if (!Fill(name, {y})) return;
    const Value& out = values_[y];
    Variant variant = MakeVariant("default", {values_[x].data, out.data, out.diff}, {});
    if (changes_x) variant.writes.push_back(values_[x].data);
    if (changes_dy) variant.writes.push_back(out.diff);
    if (values_[x].trained) variant.writes.push_back(Diff(x, name));
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, false, {variant});
  });
}

void NetBuilder::Loss(const std::string& name) {
  const size_t x = Take(true);
  const size_t y = NewValue(name, 4);
  values_[y].taken = true;
  graph_.tensors[values_[y].data].keep = true;
  const TensorId saved = Add(name + ":prob", BytesOf(values_[x].data), Role::kSaved);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, true,
        {MakeVariant("default", {values_[x].data, label_}, {values_[y].data, saved})});
  backward_.push_back([=, this] {
    if (!values_[x].trained) return;
    Variant variant = MakeVariant("default", {saved, label_, loss_weight_}, {Diff(x, name)});
    AllowAliases(&variant, 60);
    AddOp(name + "/backward", Pass::kBackward, OpKind::kCompute, true, {variant});
  });
}

/// Takes a value and gives no gradient back.
void NetBuilder::Accuracy(const std::string& name) {
  const size_t x = Take(true);
  const TensorId y = Add(name, 4, Role::kActivation, blobs_++);
  graph_.tensors[y].keep = Chance(70);
  Variant variant = MakeVariant("default", {values_[x].data, label_}, {y});
  AddWorkspace(&variant, name);
  AddOp(name + "/forward", Pass::kForward, OpKind::kCompute, Chance(50), {variant});
}

void NetBuilder::Updates() {
  for (const Weights& w : weights_) {
    AddOp(graph_.tensors[w.data].name + "/update", Pass::kUpdate, OpKind::kUpdate, false,
          {MakeVariant("sgd", {w.data, w.diff, w.history}, {w.data, w.history})});
  }
}

/// Moves updates behind the last operation that touches their weights or gradients. These gradients
/// then live in the backward pass only. Returns false if there are none.
bool NetBuilder::UpdateWithinBackward() {
  const auto has = [](const Ids& tensors, TensorId t) {
    return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
  };
  bool any = false;
  for (const Weights& w : weights_) {
    const auto touches = [&](const Op& op, TensorId t) {
      return op.kind != OpKind::kUpdate &&
             std::any_of(op.variants.begin(), op.variants.end(), [&](const Variant& variant) {
               return has(variant.reads, t) || has(variant.writes, t);
             });
    };
    auto& ops = graph_.ops;
    const auto first =
        std::find_if(ops.begin(), ops.end(), [&](const Op& op) { return touches(op, w.diff); });
    if (first == ops.end() || first->pass != Pass::kBackward) continue;
    for (Variant& variant : first->variants) std::erase(variant.reads, w.diff);
    const auto last = std::find_if(ops.rbegin(), ops.rend(), [&](const Op& op) {
                        return touches(op, w.diff) || touches(op, w.data);
                      }).base();
    const auto update = std::find_if(last, ops.end(), [&](const Op& op) {
      return op.kind == OpKind::kUpdate && has(op.variants[0].reads, w.diff);
    });
    update->pass = Pass::kBackward;
    graph_.tensors[w.diff].life = Life::kIteration;
    graph_.tensors[w.diff].host_access = false;
    std::rotate(last, update, update + 1);
    any = true;
  }
  return any;
}

/// As a solver does: the gradients of the weights start from zero.
void NetBuilder::ClearDiffs() {
  std::vector<Op> clear;
  for (const Weights& w : weights_) {
    const std::string name = graph_.tensors[w.diff].name + "/clear";
    clear.push_back(
        {name, Pass::kForward, OpKind::kFill, true, {MakeVariant("zero", {}, {w.diff})}});
  }
  graph_.ops.insert(graph_.ops.begin(), clear.begin(), clear.end());
}

}  // namespace layrub::testing
