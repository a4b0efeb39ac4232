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
  /// nullptr also when the value was overwritten by an alias, and of a part (see Step).
  char* address = nullptr;
  int32_t range = kNone;  ///< number of the Alloc or Copy step that gave the bytes; shared by
                          ///< aliases; kNone of a home
  /// Bytes [first, last) of the value have been written there, or the copies that do it are queued.
  int64_t first = 0, last = 0;
  bool valid = false;  ///< and they are all
};

/// Where each tensor of a plan is: the memory of all tiers and who is bound to which range. The
/// device bytes above those of the state tensors (HomeBytes) may be shared with others.
/// Takes the steps that take no time. Allocates memory in the constructor only. Not thread safe.
/// `graph` and `plan` must outlive it.
class Residency {
 public:
  /// Binds the state tensors. What the plan needs above them lies in `transient`, which has
  /// been joined with as many bytes, or, where that is null, in memory of its own. Throws
  /// std::bad_alloc when the backend has not enough memory, and std::invalid_argument when a range
  /// does not lie within the plan's bytes, what is copied not within its tensor, or when
  /// what is to stay of a tensor is no part of it.
  /// `poison`, `canary`: see ExecutorOptions.
  Residency(const Graph& graph, const Plan& plan, Backend* backend, TransientMemory* transient,
            bool poison, bool canary);

  const Place& At(TensorId tensor, Tier tier) const;

  /// The tier off the device where `tensor` is, or, if it is in none, has a place.
  Tier Away(TensorId tensor) const;

  /// Where byte `begin` of `tensor` is, which has a place in `tier`.
  char* AddressOf(TensorId tensor, Tier tier, int64_t begin) const;

  /// Runs Alloc step number `index`.
  void Alloc(int32_t index);
  /// Runs Free step number `index`.
  void Free(int32_t index);
  /// What a Move copies.
  struct Way {
    const char* from = nullptr;
    char* to = nullptr;
    int32_t left = kNone;  ///< the range that it leaves
  };
  /// Runs Move step number `index`, but for the copy.
  Way Move(int32_t index);
  /// The bytes of `tensor` have gone the way that Move has given. What they have left is free.
  void Moved(TensorId tensor, const Way& way);
  void Alias(TensorId tensor, TensorId on);
  /// What `step`, a Copy between tiers, copies is there, or will be when the lane gets there.
  void Copied(const Step& step);
  /// An operation wrote `tensor`: host copies are stale, and the value it was laid on is gone.
  /// `again`: it wrote the value once more that the tensor has, so that they are not.
  void Written(TensorId tensor, bool again);
  /// Unbinds all but homes.
  void Forget();
  /// The home of `tensor`, off the device, has its value.
  void HasComeHome(TensorId tensor);

  /// Freed ranges are filled at once.
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
  std::optional<Memory> file_;                     ///< nothing where the plan takes none
  std::vector<std::array<Place, kTiers>> places_;  ///< per tensor and tier
  std::vector<std::optional<Tier>> home_;          ///< per tensor
  std::vector<TensorId> overwrites_;  ///< per tensor: whose value goes when it is written
  /// Per Alloc and Move step: how many tensors are bound to its range, and its bytes in use.
  std::vector<int32_t> users_;
  std::vector<Bytes> live_;
  int64_t touched_ = 0;  ///< of ranges that have been poisoned again
  bool intact_ = true;
};

}  // namespace layrub

#endif  // LAYRUB_RUNTIME_RESIDENCY_HPP_
