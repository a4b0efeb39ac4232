#ifndef LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_
#define LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_

#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/program.hpp"
#include "layrub/placement/search/draft.hpp"
#include "layrub/placement/search/evaluate.hpp"

namespace layrub::placement::search {

/// Makes a program faster by small random changes, one after the other. A change is kept if the
/// predicted time does not grow. A change picks a tensor whose return takes time, with a
/// probability that grows with that time, and one of its evictions. Then one of these is done:
///
///   - The tensor stays.
///   - It is copied instead of recomputed, or recomputed instead of copied, with what that needs.
///   - It is evicted partly instead of wholly, or wholly instead of partly, or keeps its bytes
///     before or after other partly evicted tensors.
///
/// If that needs more bytes than there are, other tensors are evicted for that time. Two searches
/// from the same program with the same seed go the same way.
class LocalSearch {
 public:
  struct Place {
    Draft draft;
    Timed timed;  ///< LowerInTime of the draft
  };

  /// `graph` and `machine` must outlive the search. `parts`: tensors may be evicted partly, and a
  /// recomputation may recompute missing operands, too. Lifetimes are those within `host_bytes`.
  LocalSearch(const Graph& graph, const Machine& machine, bool parts, int64_t host_bytes)
      : graph_(graph), machine_(machine), parts_(parts), host_bytes_(host_bytes) {}

  /// Starts anew from `draft`, evicting further tensors until it fits `capacity`. Returns false
  /// if that fails; then no other function may be called.
  bool Start(Draft draft, int64_t capacity, uint32_t seed = std::mt19937::default_seed);

  void Go(int64_t steps);

  /// The fastest place so far.
  const Place& at() const { return at_; }
  double seconds() const { return at_.timed.outcome.seconds; }

 private:
  /// The tensor must stay from run `after` until its next use, whatever else is evicted.
  struct Pin {
    TensorId tensor = kNone;
    RunId after = kNone;
  };

  Leaves AnotherWay(Leaves leaves);
  std::optional<Draft> Change(std::vector<Pin>* pins);
  std::optional<Draft> Recompute(TensorId t, const Eviction& eviction) const;
  bool CanRecompute(TensorId t, const Eviction& eviction) const;
  TensorId Missing(const Program& program, RunId run) const;
  Draft RemoveRecomputation(RunId recomputation, bool stays, std::vector<Pin>* pins) const;
  std::optional<Timed> Fit(const std::vector<Pin>& pins, int most_leave, Draft* draft);
  bool EvictOneTensor(const std::vector<int64_t>& loads, const std::vector<Pin>& pins,
                      Draft* draft);
  bool MayLeaveInPart(TensorId t) const;
  double Fraction();
  bool Toss() { return random_() % 2 == 0; }

  const Graph& graph_;
  const Machine& machine_;
  const bool parts_;
  const int64_t host_bytes_;
  std::vector<OpId> producers_;  ///< see policies::ProducersOfUnkept; fixed, because variants are
  int64_t capacity_ = 0;
  std::mt19937 random_;  // NOLINT(cert-msc51-cpp): searches must be reproducible
  Place at_;
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_
