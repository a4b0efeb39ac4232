#ifndef LAYRUB_RUNTIME_RESIDENCY_HPP_
#define LAYRUB_RUNTIME_RESIDENCY_HPP_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "layrub/device/backend.hpp"
#include "layrub/device/memory.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"

namespace layrub {

/// A tensor's range in one tier.
struct Place {
  /// nullptr if not resident, if an alias has overwritten the value, and for a part (see Step).
  char* address = nullptr;
  int32_t range = kNone;  ///< number of the Alloc or move step that gave the bytes, shared by
                          ///< aliases; kNone for a home
  /// Bytes [first, last) of the value have been written there, or copies that write them are
  /// queued.
  int64_t first = 0, last = 0;
  bool valid = false;  ///< whether these are all bytes of the value
};

/// Keeps track of where each tensor of a plan is: the memory of all tiers, and which tensor is
/// bound to which range. Runs the steps that take no time. The device bytes above those of the
/// state tensors (HomeBytes) may be shared with others. Allocates memory in the constructor only.
/// Not thread safe. `graph` and `plan` must outlive it.
class Residency {
 public:
  /// Binds the state tensors. The plan's bytes above them are in `transient`, which must have been
  /// joined with as many bytes, or in memory of its own if that is null. Throws std::bad_alloc when
  /// the backend has not enough memory. Throws std::invalid_argument when a range is not within the
  /// plan's bytes, or when the bytes of a step are not within its tensor or not aligned. For
  /// `poison` and `canary` see ExecutorOptions.
  Residency(const Graph& graph, const Plan& plan, Backend* backend, TransientMemory* transient,
            bool poison, bool canary);

  const Place& At(TensorId tensor, Tier tier) const;

  /// Whether operations use `tensor` in its home in host memory: they can, and it has no range of
  /// the device.
  bool IsInPlace(TensorId tensor) const;
  /// Returns the place where operations use `tensor`, on the device or in place.
  const Place& InUse(TensorId tensor) const;

  /// Returns the tier off the device that holds the value of `tensor`, or, if none does, the one
  /// where it has a range.
  Tier Away(TensorId tensor) const;

  /// Returns the address of byte `begin` of `tensor`, which must have a range in `tier`.
  char* AddressOf(TensorId tensor, Tier tier, int64_t begin) const;

  /// Runs Alloc step number `index`.
  void Alloc(int32_t index);
  /// Runs Free step number `index`.
  void Free(int32_t index);
  /// The copy of a Move step.
  struct Way {
    const char* from = nullptr;
    char* to = nullptr;
    int32_t left = kNone;  ///< the range that the tensor leaves
  };
  /// Runs Move step number `index` except for the copy, which it returns.
  Way Move(int32_t index);
  /// Says that the copy that Move returned for `tensor` is queued. Frees the range that it left.
  void Moved(TensorId tensor, const Way& way);
  void Alias(TensorId tensor, TensorId on);
  /// Says that the bytes of `step`, a Copy between tiers, have been copied, or that the copy is
  /// queued.
  void Copied(const Step& step);
  /// Says that an operation wrote `tensor`. Its copies off the device become stale, unless `again`:
  /// then a recomputation wrote the same value. If `tensor` was aliased on another one, that value
  /// is gone.
  void Written(TensorId tensor, bool again);
  /// Unbinds everything except homes.
  void Forget();
  /// Says that the home of `tensor`, off the device, has its value.
  void MarkHomeValid(TensorId tensor);

  /// Whether freed ranges are filled with poison at once.
  bool poisons() const { return poison_; }
  /// See Executor.
  int64_t TouchedBytes() const;
  bool SentinelsIntact() const;

 private:
  Place& PlaceOf(TensorId tensor, Tier tier);
  void SetValid(TensorId tensor, Tier tier, int64_t first, int64_t last);
  const Memory& MemoryOf(Tier tier) const {
    return tier == Tier::kDevice ? device_ : tier == Tier::kHost ? host_ : *file_;
  }
  Memory& MemoryOf(Tier tier) { return const_cast<Memory&>(std::as_const(*this).MemoryOf(tier)); }
  /// Bytes [begin, end) of a tier.
  struct Bytes {
    int64_t begin = 0;
    int64_t end = 0;
  };

  bool HasTier(Tier tier) const { return tier != Tier::kFile || file_.has_value(); }
  void CheckStep(int32_t index) const;
  void Release(TensorId tensor, Tier tier);
  void Bind(int32_t index, const Bytes& more);
  void GiveBack(int32_t range, const Bytes& kept);
  void CheckIntact(const Step& step, const Bytes& had);
  static Bytes BytesOf(const Step& step);
  bool IsPart(int32_t range) const;
  static std::array<Bytes, 2> Outside(const Bytes& all, const Bytes& some);
  bool RestIntact(Tier tier) const;

  const Graph& graph_;
  const Plan& plan_;
  const bool poison_;
  Memory device_;
  Memory host_;
  std::optional<Memory> file_;                     ///< empty if the plan uses no file
  std::vector<std::array<Place, kTiers>> places_;  ///< per tensor and tier
  std::vector<std::optional<Tier>> home_;          ///< per tensor
  std::vector<TensorId> overwrites_;  ///< per tensor: whose value is lost when it is written
  /// Per Alloc and Move step: how many tensors are bound to its range, and which bytes of it are in
  /// use.
  std::vector<int32_t> users_;
  std::vector<Bytes> live_;
  int64_t touched_ = 0;  ///< the highest end of changes in ranges that have been poisoned again
  bool intact_ = true;
};

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_RESIDENCY_HPP_
