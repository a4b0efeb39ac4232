#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/aliases.hpp"
#include "layrub/placement/lifetimes.hpp"
#include "layrub/placement/schedule.hpp"
#include "layrub/placement/strategies/cut_within.hpp"
#include "layrub/placement/strategies/descent.hpp"
#include "layrub/placement/strategies/draft.hpp"
#include "layrub/placement/strategies/frugal_forms.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/strategies/outcome.hpp"
#include "layrub/placement/strategies/paging.hpp"
#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/strategies/refine.hpp"
#include "layrub/placement/strategies/run_within.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/time_floor.hpp"
#include "layrub/placement/waits.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

/// Room for what is not persistent is tried in so many steps.
constexpr int64_t kRooms = 200;
/// Candidates of one search: fewer for larger graphs, each of which takes longer.
constexpr int64_t kWork = 1'400'000'000;  ///< candidates times squared operations
constexpr int64_t kFewestCandidates = 3;
constexpr int64_t kMostCandidates = 720;
/// A search ends when so many smaller rooms in a row have given nothing faster.
constexpr int kPatience = 10;

/// The smallest budget is looked for from so many floors downward.
constexpr double kNearFloor = 1.05;
constexpr int kStrideForBytes = 8;  ///< in so many times larger steps
constexpr int64_t kTight = 200;     ///< and packed into no more than the peak and such a part of it

constexpr int64_t kLoosely = std::numeric_limits<int64_t>::max();  ///< packed in one go
/// Another strategy's plan is packed as it would do it if it is no slower than the best by more.
constexpr double kNear = 1.02;
constexpr double kRounding = 1e-6;  ///< simulated times are exact to this part

constexpr double kNoSegments = 1e6;
constexpr std::array<Cuts, 6> kCuts{{
    {0, kNoSegments, -1, 0.2},
    {1, 1, 0.66, 0.2},
    {0, 2, 0.33, 0},
    {1, 2, 0.33, 0.2},
    {1, 1, 1, 0.2},
    {0, 1, 0.66, 0.2},
}};

/// How RunWithin uses its room; forms and headroom as in Cuts, the rest as in Thrift.
struct Manner {
  double forms;
  double headroom;
  double price;
  double haste;
  double foresight;
  bool saves_count;
};
constexpr std::array<Manner, 14> kManners{{
    {0, 0, 0.3, 1, 0.03, true},
    {0, 0, 0, 0.5, 0, false},
    {0, 0, 0.1, 1, 0.03, false},
    {0, 0, 1, 0.5, 0, true},
    {0, 0, 0, 1, 0, false},
    {0, 0, 0, 0.5, 0, true},
    {0, 0, 0.1, 1, 0.03, true},
    {1, 0, 0.3, 1, 0.03, true},
    {0, 0, 0.6, 0.5, 0.03, true},
    {0, 0, 0.6, 1, 0, true},
    {1, 0, 0.3, 1, 0, false},
    {0, 0.2, 1, 0.5, 0, false},
    {1, 0, 1, 1, 0, false},
    {0, 0, 3, 0.5, 0, false},
}};
constexpr int kPasses = 2;  ///< the second one knows what the first one needed again

/// A longer program has more to change: descents do at most so many steps for each operation.
constexpr int64_t kStepsPerOp = 2;

class Search {
 public:
  /// `floor`: FloorBytes(graph).
  Search(const Graph& graph, const Machine& machine, const Budget& budget, int64_t floor)
      : graph_(graph),
        machine_(machine),
        budget_(budget),
        available_(budget.device - budget.reserved),
        goal_(available_),
        floor_(floor),
        persistent_(PersistentBytes(graph)),
        quickest_(available_ < floor
                      ? 0
                      : RoughTimeFloor(graph, machine, std::numeric_limits<int64_t>::max())) {}

  Result<Decision> Run() {
    Result<Decision> keep = Keep(graph_, machine_, {});
    if (keep.ok()) {
      Decision fastest = keep.value();
      TakeFastestScratch(graph_, machine_, available_, &fastest);
      if (fastest.runs != keep.value().runs) Consider(std::move(fastest));
    }
    Consider(keep);
    if (fits_) return *best_;
    if (keep.ok()) {
      for (layrub::Run& run : keep.value().runs)
        run.scratch = SmallestScratch(graph_, graph_.ops[run.op].forms[run.form]);
    }
    Consider(std::move(keep));
    for (Result<Decision>& other : OtherDecisions()) {
      ConsiderOther(std::move(other));
      if (fits_ && best_seconds_ <= quickest_) return *best_;
    }
    if (available_ >= floor_) {
      ConsiderRooms(available_ - persistent_, 1);
      Descend();
    }
    if (!fits_) {
      goal_ = static_cast<int64_t>(kNearFloor * static_cast<double>(floor_));
      ConsiderRooms(goal_ - persistent_, kStrideForBytes);
    }
    if (!fits_) PackTightest();
    return *best_;
  }

  bool fits() const { return fits_; }

 private:
  struct Packed {
    int64_t bytes = kLoosely;
    int64_t host_bytes = kLoosely;
    double seconds = std::numeric_limits<double>::infinity();
  };
  /// One way in which RunWithin used a room.
  struct Attempt {
    Thrift thrift;
    int64_t forms = 0;  ///< as InFrugalForms takes it
    const Manner* manner = nullptr;
    std::vector<Need> needs;  ///< that it expected
    Outcome outcome;
  };

  /// Those of all strategies but this one and Keep.
  std::vector<Result<Decision>> OtherDecisions() const {
    std::vector<std::string> names = StrategyNames();
    std::erase_if(names, [](const std::string& name) { return name == "auto" || name == "keep"; });
    std::vector<std::optional<Result<Decision>>> decisions(names.size());
    InParallel(names.size(), [&](size_t i) {
      decisions[i] = FindStrategy(names[i]).value()(graph_, machine_, budget_);
    });
    std::vector<Result<Decision>> others;
    for (std::optional<Result<Decision>>& decision : decisions)
      others.push_back(*std::move(decision));
    return others;
  }

  /// From all that is ever needed down to half of the largest working set (what does not fill the
  /// room beside that is easier to pack); the same for every budget.
  std::vector<int64_t> Rooms() const {
    const auto most = static_cast<double>(PeakLoad(graph_, InSmallestForms(graph_)));
    const double least = static_cast<double>(floor_ - persistent_) / 2;
    std::vector<int64_t> rooms;
    for (int64_t i = 0; i <= kRooms && least > 0; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(kRooms);
      rooms.push_back(static_cast<int64_t>(std::ceil(most * std::pow(least / most, part))));
    }
    return rooms;
  }

  /// Candidates for every `stride`-th of the rooms that are no larger than `most`.
  void ConsiderRooms(int64_t most, int stride) {
    candidates_ = MostCandidates();
    int in_vain = 0, skipped = 0;
    for (const int64_t room : Rooms()) {
      if (room > most || skipped++ % stride != 0) continue;
      const double before = fits_ ? best_seconds_ : std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < std::max(kCuts.size(), kManners.size()); ++i) {
        if (i < kCuts.size() && TakesOneMore()) {
          Consider(
              CutWithin(graph_, machine_, StartIn(PartOf(room, kCuts[i].forms)), room, kCuts[i]));
        }
        if (i < kManners.size()) ConsiderManner(room, kManners[i]);
      }
      if (candidates_ <= 0) return;
      if (!fits_) continue;
      in_vain = best_seconds_ < before ? 0 : in_vain + 1;
      if (in_vain == kPatience ||
          RoughTimeFloor(graph_, machine_, persistent_ + room) >= best_seconds_)
        return;
    }
  }

  /// What needs the fewest bytes may need still fewer in fixed places.
  void PackTightest() {
    Decision decision = *best_;
    const Result<Lifetimes> lives = FindLifetimes(graph_, decision);
    if (lives.ok()) Take(decision, Pack(&decision, lives.value(), 0, false));
  }

  static int64_t PartOf(int64_t all, double part) {
    return static_cast<int64_t>(part * static_cast<double>(all));
  }

  /// What candidates start from whose forms take at most `forms` bytes.
  const Start& StartIn(int64_t forms) {
    const auto [start, is_new] = starts_.try_emplace(forms);
    if (is_new) start->second = InFrugalForms(graph_, forms);
    return start->second;
  }

  bool TakesOneMore() { return candidates_-- > 0; }

  void ConsiderManner(int64_t room, const Manner& manner) {
    Attempt attempt{{room, PartOf(room, manner.headroom), manner.price, manner.haste,
                     manner.foresight, manner.saves_count},
                    PartOf(room, manner.forms),
                    &manner,
                    {},
                    {}};
    for (int pass = 0; pass < kPasses && TakesOneMore(); ++pass) {
      auto found = Run(attempt);
      if (!found) return;
      auto decision =
          Settle(graph_, machine_, DraftOf(graph_, found->decision), persistent_ + room);
      if (!decision) return;
      attempt.outcome = Consider(std::move(*decision));
      attempts_.push_back(attempt);
      attempt.needs = std::move(found->needs);
    }
  }

  std::optional<Frugal> Run(const Attempt& attempt) {
    return RunWithin(graph_, machine_, StartIn(attempt.forms), attempt.thrift, attempt.needs);
  }

  /// Descends from the best so far and the fastest attempt of each manner.
  void Descend() {
    const int64_t steps = std::min(MostWork(), kStepsPerOp * OpCount());
    if (!fits_ || steps < kFewestSteps) return;
    std::vector<Draft> starts;
    const bool some_whole = std::any_of(best_->tensors.begin(), best_->tensors.end(),
                                        [](const TensorDecision& t) { return t.whole; });
    if (!some_whole) starts.push_back(DraftOf(graph_, *best_));
    for (const Attempt& attempt : FastestOfEachManner())
      starts.push_back(DraftOf(graph_, Run(attempt)->decision));
    const auto take = [this](Decision decision) {
      const Result<Lifetimes> lives = FindLifetimes(graph_, decision);
      if (lives.ok()) Take(decision, Pack(&decision, lives.value(), available_));
      return best_seconds_;
    };
    Refine(graph_, machine_, available_, starts, steps, best_seconds_, take);
    ConsiderFaster(Decision(*best_));
  }

  /// The fastest attempt of each manner, the fastest first.
  std::vector<Attempt> FastestOfEachManner() {
    std::erase_if(attempts_, [](const Attempt& a) { return a.outcome.returns.empty(); });
    std::stable_sort(attempts_.begin(), attempts_.end(), [](const Attempt& a, const Attempt& b) {
      return a.outcome.seconds < b.outcome.seconds;
    });
    std::vector<Attempt> fastest;
    for (const Attempt& attempt : attempts_) {
      const bool is_new = std::none_of(fastest.begin(), fastest.end(), [&](const Attempt& other) {
        return other.manner == attempt.manner;
      });
      if (is_new) fastest.push_back(attempt);
    }
    return fastest;
  }

  int64_t OpCount() const { return static_cast<int64_t>(graph_.ops.size()); }
  int64_t MostWork() const { return kWork / ((OpCount() + 1) * (OpCount() + 1)); }
  int64_t MostCandidates() const {
    return std::clamp(MostWork(), kFewestCandidates, kMostCandidates);
  }

  /// Considers what another strategy would do, packed as it would be, too: auto is not to be
  /// slower. Where nothing tells sisters such as vdnn_all and vdnn_all_fast apart, once.
  void ConsiderOther(Result<Decision> decision) {
    if (!decision.ok() || IsSame(decision.value(), other_)) return;
    other_ = decision.value();
    ConsiderFaster(decision.value());
    Try(std::move(decision.value()), true);
  }

  static bool IsSame(const Decision& a, const Decision& b) {
    return a.runs == b.runs && a.piece_bytes == b.piece_bytes &&
           std::equal(
               a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
               [](const auto& x, const auto& y) { return x.whole == y.whole && x.gaps == y.gaps; });
  }

  Outcome Consider(Result<Decision> decision) {
    if (!decision.ok()) return {};
    ConsiderFaster(decision.value());
    return Try(std::move(decision.value()));
  }

  void ConsiderFaster(const Decision& decision) {
    if (std::optional<Decision> faster = FreeWorkspaces(graph_, machine_, decision))
      Try(std::move(*faster));
  }

  /// `as_it_is`: if it is about as fast as the best, packed as tight as possible without Moves,
  /// too.
  Outcome Try(Decision decision, bool as_it_is = false) {
    const Result<Lifetimes> lives = FindLifetimes(graph_, decision);
    if (!lives.ok()) {
      Take(decision, {});
      return {};
    }
    const int64_t peak = LeastBytes(lives.value(), decision.runs.size());
    if (IsTooLarge(peak)) return {};
    const double computed = ComputeSeconds(decision) * (1 - kRounding);
    if (fits_ && computed > best_seconds_) return {};
    Outcome outcome;
    if (peak <= available_)
      outcome = Estimate(graph_, machine_, available_, lives.value(), decision);
    // Packing takes the longest: only what is fast.
    if (!fits_ || outcome.seconds < best_seconds_) {
      const Packed packed = PackToGoal(&decision, lives.value(), peak);
      if (packed.bytes > available_) outcome.seconds = std::numeric_limits<double>::infinity();
      Take(decision, packed);
    }
    if (as_it_is && fits_ && outcome.seconds < kNear * best_seconds_)
      Take(decision, Pack(&decision, lives.value(), 0, false));
    return outcome;
  }

  /// While the smallest budget is looked for, into hardly more than the peak if that can be done.
  Packed PackToGoal(Decision* decision, const Lifetimes& lives, int64_t peak) const {
    if (peak > goal_) return Pack(decision, lives, kLoosely);
    if (goal_ == available_) return Pack(decision, lives, goal_);
    const int64_t tight = peak + (peak - persistent_) / kTight;
    Packed packed = Pack(decision, lives, tight);
    if (packed.bytes <= goal_ || (best_ && best_bytes_ <= goal_)) return packed;
    return Pack(decision, lives, goal_, false);
  }

  /// However it is packed, what takes `peak` bytes somewhere does not fit, nor need fewer bytes
  /// than the best.
  bool IsTooLarge(int64_t peak) const {
    return peak > available_ && best_ && (fits_ || peak >= best_bytes_);
  }

  double ComputeSeconds(const Decision& decision) const {
    double seconds = 0;
    for (const layrub::Run& run : decision.runs)
      seconds += OpSeconds(graph_.ops[run.op], run.form, run.scratch, machine_);
    return seconds;
  }

  Packed Pack(Decision* decision, const Lifetimes& lives, int64_t enough,
              bool may_move = true) const {
    decision->enough_bytes = enough;
    decision->may_move = may_move;
    Plan plan = PackSteps(graph_, *decision, lives);
    Packed packed{plan.device_bytes, plan.host_bytes};
    if (packed.bytes > available_) return packed;  // how fast it is does not matter
    AddWaits(graph_, &plan);
    packed.seconds = Simulate(graph_, plan, machine_).seconds;
    return packed;
  }

  /// Takes the decision if it is faster than the best so far and fits; while none fits, if it
  /// needs fewer bytes.
  void Take(const Decision& decision, const Packed& packed) {
    const bool fits = packed.bytes <= available_ && packed.host_bytes <= budget_.host;
    if (fits && fits_ && packed.seconds >= best_seconds_) return;
    if (!fits && (fits_ || (best_ && packed.bytes >= best_bytes_))) return;
    best_ = decision;
    best_bytes_ = packed.bytes;
    best_seconds_ = packed.seconds;
    fits_ = fits;
  }

  const Graph& graph_;
  const Machine& machine_;
  const Budget budget_;
  const int64_t available_;
  int64_t goal_;  ///< bytes that packing tries to reach
  const int64_t floor_;
  const int64_t persistent_;
  const double quickest_;  ///< with all the room that there is; 0: nothing fits
  std::optional<Decision> best_;
  Decision other_;                   ///< what the last of the other strategies would do
  std::map<int64_t, Start> starts_;  ///< see StartIn
  std::vector<Attempt> attempts_;
  int64_t candidates_ = 0;  ///< that may still be tried
  bool fits_ = false;
  int64_t best_bytes_ = 0;
  double best_seconds_ = 0;
};

}  // namespace

// The least intervention that fits: all stays where it is if the budget allows it. Otherwise the
// fastest candidate that fits: the other strategies' decisions, and those of CutWithin and
// RunWithin with room for so many bytes beside the persistent tensors. The rooms are the same for
// every budget; where the search among them begins and ends is not, so a larger budget may, rarely,
// give a slower plan.
Result<Decision> Auto(const Graph& graph, const Machine& machine, const Budget& budget) {
  const int64_t floor = FloorBytes(graph);
  if (budget.device - budget.reserved >= floor) {
    Search search(graph, machine, budget, floor);
    Result<Decision> found = search.Run();
    if (search.fits()) return found;
  }
  // What is told to be the smallest budget has to do, and that is what is found without any.
  return Search(graph, machine, {.device = 0, .host = budget.host}, floor).Run();
}

}  // namespace layrub
