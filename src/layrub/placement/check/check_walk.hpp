#ifndef LAYRUB_PLACEMENT_CHECK_CHECK_WALK_HPP_
#define LAYRUB_PLACEMENT_CHECK_CHECK_WALK_HPP_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layrub/placement/check/check_memory.hpp"
#include "layrub/placement/check/check_order.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub::placement::check {

/// Walks over a plan once, in program order, and collects objections; see check.cpp. Graph and plan
/// must outlive it.
class Checker {
 public:
  Checker(const Graph& graph, const Plan& plan, const Budget& budget);
  std::vector<std::string> Run();

 private:
  /// The memory of one tier.
  struct Memory {
    const char* name;
    int64_t bytes;  // size of the arena
    Arena arena;
    AccessLog log;
  };

  /// The first run of an operation: what it found in the tensors that it reads and left in those
  /// that it writes.
  struct FirstRun {
    int32_t variant = kNone;
    int32_t algorithm = kNone;
    std::vector<int32_t> found,
        left;  // versions, in the order of Variant::reads and Variant::writes
  };

  void CheckSizes(const Budget& budget);
  void CheckStep();
  void CheckKeptAfter(const char* pass);
  bool HasValidIds(const Step& step);
  bool HasValidBytes(const Step& step);
  void CheckAlloc(const Step& step);
  void CheckMove(const Step& step);
  void CheckFree(const Step& step);
  void CheckAlias(const Step& step);
  void CheckWait(const Step& step);
  void Queue(const Step& step, Lane lane);
  void CheckCopy(const Step& step);
  void CheckOp(const Step& step);
  void CheckTurn(const Step& step);
  void CheckRecomputation(const Step& step, const Variant& variant);
  void NoteRun(const Step& step, const Variant& variant);
  void CheckAliases(const Variant& variant, const std::vector<TensorId>& outputs);
  void CheckEnd();
  void CheckLeftOver(TensorId tensor);

  int64_t BytesAt(int64_t offset, const Memory& memory, int64_t bytes);
  void TakeHome(const Home& home);
  void Place(Memory& memory, TensorId tensor, int64_t offset, const Span& has, const Range& before);
  bool ReadValue(Memory& memory, TensorId tensor, const Span& span = {});
  void WriteBytes(Memory& memory, TensorId tensor, Value value, const Span& span = {});
  Memory& MemoryOf(Tier tier) {
    return tier == Tier::kDevice ? device_ : tier == Tier::kHost ? host_ : file_;
  }
  /// The bytes of the arena in which `span` of `tensor` lies. A tensor put on a larger range
  /// touches only its own bytes.
  Span PlaceOf(const Range& range, TensorId tensor, const Span& span) const {
    const auto at = [&](int64_t byte) {
      const int64_t all = Aligned(graph_.tensors[tensor].bytes);
      const int64_t place = std::min(byte == Span().end ? all : Aligned(byte), all);
      return range.offset + std::clamp(place - range.has.begin, int64_t{0}, range.bytes);
    };
    return {at(span.begin), at(span.end)};
  }
  /// Whether `range` was allocated for `tensor` but has no place for some of its bytes.
  bool IsPart(const Range& range, TensorId tensor) const {
    return range.first == tensor && range.has != Span{0, Aligned(graph_.tensors[tensor].bytes)};
  }
  /// Whether the home of the tensor is in `tier`; then it may not be given a range there, nor give
  /// it back.
  bool IsHome(TensorId tensor, Tier tier) const { return home_[tensor] == tier; }
  /// Whether an operation uses the tensor in its home in host memory: it can, and the tensor has no
  /// range of the device.
  bool IsInPlace(TensorId tensor) const {
    return !device_.arena.Has(tensor) && graph_.tensors[tensor].host_access &&
           IsHome(tensor, Tier::kHost);
  }
  /// Whether `range`, of the tensor, holds its whole current value.
  bool HasValue(const Range& range, TensorId tensor) const {
    return range.holds == CurrentValue(tensor) && range.of.Covers(Clipped(tensor, {}));
  }
  Value CurrentValue(TensorId tensor) const { return {tensor, version_[tensor]}; }
  /// The bytes of the tensor that are in `span`.
  Span Clipped(TensorId tensor, const Span& span) const {
    return {span.begin, std::min(span.end, graph_.tensors[tensor].bytes)};
  }
  /// "[0, 256)".
  static std::string Text(const Span& span) {
    return "[" + std::to_string(span.begin) + ", " + std::to_string(span.end) + ")";
  }
  const Variant* ChosenVariant(const Step& step) const;
  /// Whether `step` leaves `tensor` alone: it is a recomputation, and `tensor` is state that its
  /// variant writes.
  bool LeftAlone(const Step& step, const Variant& variant, TensorId tensor) const {
    return step.recompute && graph_.tensors[tensor].is_state() &&
           std::find(variant.writes.begin(), variant.writes.end(), tensor) != variant.writes.end();
  }
  bool IsUnread(TensorId tensor) const {
    return graph_.tensors[tensor].role == Role::kSaved && !read_[tensor];
  }

  std::string NameOf(TensorId tensor) const { return graph_.tensors[tensor].name; }
  std::string Describe(int32_t step) const;
  void Object(const std::string& text) { objections_.push_back(Describe(now_) + ": " + text); }

  const Graph& graph_;
  const Plan& plan_;
  std::vector<std::string> objections_;
  LaneOrder order_;
  Memory device_;
  Memory host_;
  Memory file_;
  int32_t now_ = kNone;              // number of the current step; kNone: the homes
  OpId turn_ = 0;                    // the operation that has to run next
  std::vector<int32_t> runs_;        // per operation, how often it has run
  std::vector<FirstRun> first_run_;  // per operation; what its recomputations must repeat
  std::vector<int32_t> version_;     // per tensor, how often it has been written
  std::vector<TensorId>
      lies_on_;  // per tensor, from its Alias step to its writer: the tensor that it lies on
  std::vector<bool> read_;      // per tensor, whether some operation reads it in its chosen variant
  std::vector<bool> readable_;  // per tensor, whether Plan::readable lists it
  std::vector<std::optional<Tier>> home_;  // per tensor, where Plan::homes has its home
};

}  // namespace layrub::placement::check

#endif  // LAYRUB_PLACEMENT_CHECK_CHECK_WALK_HPP_
