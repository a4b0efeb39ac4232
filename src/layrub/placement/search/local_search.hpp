#ifndef LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_
#define LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "layrub/placement/cost/machine.hpp"
#include "layrub/placement/ir/decision.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/search/estimate.hpp"
#include "layrub/placement/search/residency.hpp"

namespace layrub::placement::search {

/// `residency` lowered to a decision, with copies as early as `room` bytes of the device allow,
/// state tensors and workspaces among them. Of what leaves in part, as much stays as there is
/// room for. Nothing if it asks something impossible. It may need more bytes than that.
std::optional<Decision> LowerInTime(const Graph& graph, const Machine& machine,
                                    const Residency& residency, int64_t room);

/// Makes a decision faster by small changes at random, one after the other, each kept if it makes
/// nothing slower. A tensor whose return takes time is chosen, the rather the more it takes, and
/// one of the stretches that it is away: it stays instead, is copied instead of computed again, or
/// the other way round, with what that needs; or it leaves whole instead of in part, or the other
/// way round, or keeps its bytes before or after others that leave in part. Where that needs more
/// than there is room for, others leave for the time.
/// Every search from the same decision goes the same way.
class LocalSearch {
 public:
  struct Place {
    Residency residency;
    Decision decision;
    Outcome outcome;
  };
  /// What it thinks of a decision that has these lifetimes.
  using Judge = std::function<Outcome(const Lifetimes&, const Decision&)>;

  /// `graph` and `machine` have to live as long. `parts`: tensors may leave in part, and what is
  /// computed again brings with it what that needs and is away.
  LocalSearch(const Graph& graph, const Machine& machine, bool parts, Judge judge)
      : graph_(graph), machine_(machine), parts_(parts), judge_(std::move(judge)) {}

  /// Starts anew from `residency`, from which others leave until it fits `room`. False if that
  /// cannot be done; then nothing else may be called.
  bool Start(Residency residency, int64_t room, uint32_t seed = std::mt19937::default_seed);

  void Go(int64_t steps);

  /// Where it is: nothing that it has come by is faster.
  const Place& at() const { return at_; }
  double seconds() const { return at_.outcome.seconds; }

 private:
  /// A tensor stays from that run until its next use, whatever else leaves.
  struct Pin {
    TensorId tensor = kNone;
    RunId after = kNone;
  };

  Eviction AnotherWay(Eviction away);
  std::optional<Residency> Change(std::vector<Pin>* pins);
  std::optional<Residency> Recompute(TensorId t, size_t stretch) const;
  bool CanRecompute(const Residency& residency, TensorId t, size_t stretch) const;
  TensorId Missing(const Residency& residency, RunId run) const;
  Residency BringOtherwise(RunId recomputation, bool stays, std::vector<Pin>* pins) const;
  bool Fit(Residency* residency, const std::vector<Pin>& pins, int most_leave, Decision* decision,
           Lifetimes* lives);
  bool LetLeave(const std::vector<int64_t>& loads, const std::vector<Pin>& pins,
                Residency* residency);
  bool MayLeaveInPart(size_t t) const;
  double Fraction();
  bool Toss() { return random_() % 2 == 0; }

  const Graph& graph_;
  const Machine& machine_;
  const bool parts_;
  const Judge judge_;
  std::vector<OpId> producers_;  ///< see policies::ProducersOfUnkept; always the same, as forms are
  int64_t room_ = 0;
  std::mt19937 random_;  // NOLINT(cert-msc51-cpp): every search is to go the same way
  Place at_;
};

}  // namespace layrub::placement::search

#endif  // LAYRUB_PLACEMENT_SEARCH_LOCAL_SEARCH_HPP_
