#ifndef LAYRUB_PLACEMENT_TEST_NET_BUILDER_HPP_
#define LAYRUB_PLACEMENT_TEST_NET_BUILDER_HPP_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"

namespace layrub::testing {

using Ids = std::vector<TensorId>;

/// One version of a blob, or one branch of a Split: an input or output of a layer.
struct Value {
  TensorId data = kNone;
  TensorId diff = kNone;  // created by the backward that writes it
  int32_t diff_blob = kNone;
  bool trained = true;      // a gradient is wanted
  bool taken = false;       // some layer has taken it
  bool sole_owner = true;   // false for the branches of a Split
  bool disposable = false;  // its maker's backward has a variant that does not read it
  bool overwritten = false;
  bool in_place = false;  // a later version of its input's blob
};

/// Makes up a net layer by layer. A layer adds its forward operation at once, and leaves a function
/// that adds its backward later. See RandomGraph.
class NetBuilder {
 public:
  explicit NetBuilder(uint64_t seed) : random_(seed) {}
  Graph Build(int layers);

 private:
  // Chance.
  int Pick(int begin, int end) {
    return std::uniform_int_distribution<int>(begin, end - 1)(random_);
  }
  bool Chance(int percent) { return Pick(0, 100) < percent; }
  int64_t Bytes() { return Chance(4) ? 0 : Pick(1, 5000); }

  // Parts of the graph.
  TensorId Add(const std::string& name, int64_t bytes, Role role, int32_t blob = kNone);
  TensorId AddState(const std::string& name, int64_t bytes, Role role);
  int64_t BytesOf(TensorId id) const { return graph_.tensors[id].bytes; }
  size_t NewValue(const std::string& name, int64_t bytes);
  size_t NextVersion(size_t input, const std::string& name);
  TensorId Diff(size_t value, const std::string& layer);
  Variant MakeVariant(const std::string& name, Ids reads, Ids writes);
  void AllowAliases(Variant* variant, int percent);
  void AddWorkspace(Variant* variant, const std::string& layer);
  void AddOp(const std::string& name, Pass pass, OpKind kind, bool repeatable,
             std::vector<Variant> variants);
  bool Fill(const std::string& layer, const std::vector<size_t>& outputs);

  // Layers.
  size_t Take(bool trained);
  void Source();
  void ClearDiffs();
  void Linear(const std::string& name);
  void Activation(const std::string& name);
  void Normalize(const std::string& name);
  void Merge(const std::string& name);
  void Split(const std::string& name);
  void Slice(const std::string& name);
  void View(const std::string& name);
  void Untyped(const std::string& name);
  void Loss(const std::string& name);
  void Accuracy(const std::string& name);
  void Updates();
  bool UpdateWithinBackward();
  void MarkKeep();

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<Value> values_;
  std::vector<std::function<void()>> backward_;  // one per layer, run in reverse
  struct Weights {
    TensorId data, diff, history;
  };
  std::vector<Weights> weights_;
  TensorId label_ = kNone;
  TensorId loss_weight_ = kNone;
  int32_t blobs_ = 0;
};

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_NET_BUILDER_HPP_
