#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/aliases.hpp"
#include "layrub/placement/strategies/loads.hpp"
#include "layrub/placement/strategies/paging.hpp"
#include "layrub/placement/strategies/pieces.hpp"
#include "layrub/placement/strategies/recompute.hpp"
#include "layrub/placement/strategies/strategies.hpp"
#include "layrub/placement/uses.hpp"
#include "layrub/timeline.hpp"

namespace layrub {
namespace {

/// Room for what is not persistent is tried in so many steps.
constexpr int64_t kRooms = 100;
/// Operations in all candidates of one search: large graphs get fewer candidates.
constexpr int64_t kWork = 120'000;
constexpr int64_t kFewestCandidates = 4;
constexpr int64_t kMostCandidates = 150;
/// A search ends when so many smaller rooms in a row have given nothing faster.
constexpr int kPatience = 3;

/// How a candidate uses its room.
struct Recipe {
  double forms;     ///< forms that take more than this part of the room give way to smaller ones
  double segment;   ///< forward is cut into segments of so many rooms; what leaves one is not
                    ///< computed again
  double again;     ///< of the stashes beyond those that are best computed again, this part too;
                    ///< negative: nothing is computed again
  double headroom;  ///< part of the room for copies back that come early
};
constexpr double kNoSegments = 1e6;
constexpr std::array<Recipe, 24> kRecipes{{
    {0, kNoSegments, -1, 0.2},
    {1, 1, 0.66, 0.2},
    {0, 2, 0.33, 0},
    {1, 1, 1, 0.2},
    {0, 2, 1, 0},
    {1, 2, 0.33, 0.2},
    {1, 1, 0.33, 0},
    {0, 1, 0.66, 0.2},
    {1, kNoSegments, -1, 0.2},
    {0, 2, 0, 0},
    {1, 2, 0, 0.2},
    {0, 1, 1, 0.2},
    {0, kNoSegments, -1, 0},
    {1, 2, 0.66, 0.2},
    {0, 2, 0.66, 0},
    {1, 2, 1, 0},
    {1, kNoSegments, -1, 0},
    {1, 1, 0.66, 0},
    {0, 1, 0.33, 0},
    {1, 0.5, 0.66, 0.2},
    {0, 0.5, 0.66, 0.2},
    {1, 0.5, 1, 0.2},
    {0, 0.5, 1, 0.2},
    {1, 2, 0, 0},
}};

/// A forward operation whose outputs backward needs: their bytes, and what making them again takes.
struct Stash {
  OpId op = kNone;
  double bytes = 0;
  double seconds = 0;
};

/// Each operation in the form that makes forward keep the fewest more bytes for backward, among
/// those that take at most `most` bytes themselves; where none does, in the smallest.
Decision InFrugalForms(const Graph& graph, int64_t most) {
  Decision decision = DefaultDecision(graph);
  std::vector<bool> made(graph.tensors.size()), needed(graph.tensors.size());
  for (const Op& op : graph.ops) {
    if (op.pass == Pass::kForward) {
      for (const TensorId t : op.forms.front().writes) made[t] = !graph.tensors[t].persistent;
    } else if (op.forms.size() == 1) {
      for (const TensorId t : op.forms.front().reads) needed[t] = true;
    }
  }
  for (OpId o = 0; o < static_cast<OpId>(graph.ops.size()); ++o) {
    const std::vector<Form>& forms = graph.ops[o].forms;
    if (forms.size() == 1) continue;
    const auto cost = [&](const Form& form) {
      int64_t more = 0;
      for (const TensorId t : form.reads) {
        if (made[t] && !needed[t]) more += Aligned(graph.tensors[t].bytes);
      }
      const int64_t all =
          OperandBytes(graph, form) + ScratchBytes(graph, form, SmallestScratch(graph, form));
      return all <= most ? std::pair(int64_t{0}, std::pair(more, all))
                         : std::pair(all, std::pair(more, all));
    };
    const auto best =
        std::min_element(forms.begin(), forms.end(),
                         [&](const Form& a, const Form& b) { return cost(a) < cost(b); });
    decision.runs[o].form = static_cast<int32_t>(best - forms.begin());
    decision.runs[o].scratch = SmallestScratch(graph, *best);
    for (const TensorId t : best->reads) needed[t] = true;
  }
  return decision;
}

/// Everything about a graph in chosen forms that does not depend on what is computed again.
class Family {
 public:
  Family(const Graph& graph, const Machine& machine, int64_t room, const Recipe& recipe)
      : graph_(graph),
        machine_(machine),
        room_(room),
        recipe_(recipe),
        base_(InFrugalForms(graph, static_cast<int64_t>(recipe.forms * static_cast<double>(room)))),
        producers_(Producers(graph, base_.runs)),
        needed_(graph.tensors.size()) {
    for (const Run& run : base_.runs) {
      if (graph.ops[run.op].pass != Pass::kBackward) continue;
      for (const TensorId t : FormOf(run).reads) needed_[t] = true;
    }
    FindCrossing();
    FindStashes();
  }

  Decision Build() const {
    std::vector<bool> dropped(graph_.tensors.size());
    for (size_t t = 0; t < dropped.size(); ++t) dropped[t] = !needed_[t] && CanDrop(t);
    for (size_t i = 0; i < Count(); ++i) {
      for (const TensorId t : FormOf(base_.runs[stashes_[i].op]).writes) dropped[t] = CanDrop(t);
    }
    Decision decision = base_;
    RecomputeOnce(graph_, dropped, &decision);
    RunInPlace(graph_, InPlace::kAnyRole, &decision);
    const auto headroom = static_cast<int64_t>(recipe_.headroom * static_cast<double>(room_));
    PageWithin(graph_, machine_, room_, headroom, &decision);
    return decision;
  }

 private:
  const Form& FormOf(const Run& run) const { return graph_.ops[run.op].forms[run.form]; }
  bool CanDrop(TensorId t) const {
    return producers_[t] != kNone && !crossing_[t] && !graph_.tensors[t].keep;
  }

  /// How many stashes, the cheapest first, are computed again.
  size_t Count() const {
    if (recipe_.again < 0) return 0;
    const size_t best = BestCount();
    const auto rest = static_cast<double>(stashes_.size() - best);
    return best + static_cast<size_t>(recipe_.again * rest);
  }

  /// The best number if all else that the room does not hold moves, and nothing but the link and
  /// the operations takes time.
  size_t BestCount() const {
    size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    double excess = held_ - static_cast<double>(room_);
    double again = 0;
    for (size_t count = 0;; ++count) {
      const double moved = std::max(excess, 0.0);
      const double seconds = std::max(forward_, moved / machine_.link_down) +
                             std::max(backward_ + again, moved / machine_.link_up);
      if (seconds < least) {
        least = seconds;
        best = count;
      }
      if (count == stashes_.size() || excess <= 0) return best;
      excess -= stashes_[count].bytes;
      again += stashes_[count].seconds;
    }
  }

  /// Marks the tensors that are read in a later segment than the one that makes them.
  void FindCrossing() {
    const UseLists uses = FindUses(graph_, base_.runs);
    const OpId end = FirstOp(graph_, Pass::kBackward);
    std::vector<OpId> last(uses.size(), kNone);             // by tensor: its last use in forward
    std::vector<int64_t> made(end + 1), crossing(end + 1);  // bytes by forward operation
    for (size_t t = 0; t < uses.size(); ++t) {
      if (graph_.tensors[t].persistent || !Materialised(graph_.tensors[t], uses[t])) continue;
      for (const Use& use : uses[t]) {
        if (use.run < end) last[t] = use.run;
      }
      if (last[t] == kNone) continue;
      made[uses[t].front().run] += graph_.tensors[t].bytes;
      crossing[uses[t].front().run] += graph_.tensors[t].bytes;
      crossing[last[t]] -= graph_.tensors[t].bytes;
    }
    std::partial_sum(crossing.begin(), crossing.end(), crossing.begin());
    const std::vector<int32_t> segment = Segments(made, crossing);
    crossing_.assign(uses.size(), false);
    for (size_t t = 0; t < uses.size(); ++t) {
      crossing_[t] = last[t] != kNone && segment[uses[t].front().run] != segment[last[t]];
    }
  }

  /// By forward operation, the number of its segment: one ends in the second half of the bytes that
  /// the recipe gives it, where the fewest bytes cross to the next.
  std::vector<int32_t> Segments(const std::vector<int64_t>& made,
                                const std::vector<int64_t>& crossing) const {
    const double most = recipe_.segment * static_cast<double>(room_);
    std::vector<int32_t> segments(made.size());
    double bytes = 0;
    size_t from = 0;
    for (size_t o = 0; o < made.size(); ++o) {
      bytes += static_cast<double>(made[o]);
      if (bytes < most || o == from) continue;
      size_t cut = o;
      for (size_t c = from + (o - from) / 2; c <= o; ++c) {
        if (crossing[c] <= crossing[cut]) cut = c;
      }
      if (cut + 1 < segments.size()) ++segments[cut + 1];
      from = cut + 1;
      bytes = 0;
      for (size_t c = from; c <= o; ++c) bytes += static_cast<double>(made[c]);
    }
    std::partial_sum(segments.begin(), segments.end(), segments.begin());
    return segments;
  }

  void FindStashes() {
    std::vector<double> chain(graph_.ops.size());  // seconds of an operation and of all it needs
    std::vector<bool> counted(graph_.tensors.size());
    for (const Run& run : base_.runs) {
      const Op& op = graph_.ops[run.op];
      const double seconds = OpSeconds(op, run.form, run.scratch, machine_);
      if (op.pass != Pass::kForward) {
        if (op.pass == Pass::kBackward) backward_ += seconds;
        continue;
      }
      forward_ += seconds;
      Stash stash{run.op, 0, seconds};
      for (const TensorId t : FormOf(run).reads) {
        if (!needed_[t] && producers_[t] != kNone) stash.seconds += chain[producers_[t]];
      }
      chain[run.op] = stash.seconds;
      bool again = false;
      for (const TensorId t : FormOf(run).writes) {
        if (!needed_[t] || counted[t] || graph_.tensors[t].persistent) continue;
        counted[t] = true;
        again = again || (producers_[t] == run.op && CanDrop(t));
        stash.bytes += static_cast<double>(graph_.tensors[t].bytes);
      }
      held_ += stash.bytes;
      if (again && stash.bytes > 0) stashes_.push_back(stash);
    }
    std::stable_sort(stashes_.begin(), stashes_.end(), [](const Stash& a, const Stash& b) {
      return a.seconds * b.bytes < b.seconds * a.bytes;
    });
  }

  const Graph& graph_;
  const Machine& machine_;
  const int64_t room_;
  const Recipe& recipe_;
  const Decision base_;
  const std::vector<OpId> producers_;
  std::vector<bool> needed_;    ///< by backward
  std::vector<bool> crossing_;  ///< tensors that leave their segment
  std::vector<Stash> stashes_;
  double held_ = 0;  ///< bytes that backward needs of forward
  double forward_ = 0;
  double backward_ = 0;
};

class Search {
 public:
  Search(const Graph& graph, const Machine& machine, const Budget& budget)
      : graph_(graph),
        machine_(machine),
        budget_(budget),
        available_(budget.device - budget.reserved),
        persistent_(PersistentBytes(graph)),
        quickest_(TimeFloor(graph, machine, std::numeric_limits<int64_t>::max())) {}

  Result<Decision> Run() {
    Result<Decision> keep = Keep(graph_, machine_, {});
    if (keep.ok()) {
      Decision fastest = keep.value();
      TakeFastestScratch(graph_, machine_, available_, &fastest);
      Consider(std::move(fastest));
    }
    Consider(keep);
    if (fits_) return *best_;
    if (keep.ok()) {
      for (layrub::Run& run : keep.value().runs)
        run.scratch = SmallestScratch(graph_, graph_.ops[run.op].forms[run.form]);
    }
    Consider(std::move(keep));
    for (const std::string& name : StrategyNames()) {
      const Strategy strategy = FindStrategy(name).value();
      if (strategy != Auto && strategy != Keep) Consider(strategy(graph_, machine_, budget_));
      if (fits_ && best_seconds_ <= quickest_) return *best_;
    }
    const int64_t floor = FloorBytes(graph_) - persistent_;
    ConsiderRooms(available_ - persistent_);
    // What was found without a budget is found again.
    if (!fits_) ConsiderRooms(floor);
    if (!fits_) best_->enough_bytes = 0;
    return *best_;
  }

 private:
  /// From all that is ever needed down to half of the largest working set (what does not fill the
  /// room beside that is easier to pack); the same for every budget.
  std::vector<int64_t> Rooms() const {
    const auto most = static_cast<double>(PeakLoad(graph_, InSmallestForms(graph_)));
    const double least = static_cast<double>(FloorBytes(graph_) - persistent_) / 2;
    std::vector<int64_t> rooms;
    for (int64_t i = 0; i <= kRooms && least > 0; ++i) {
      const double part = static_cast<double>(i) / static_cast<double>(kRooms);
      rooms.push_back(static_cast<int64_t>(std::ceil(most * std::pow(least / most, part))));
    }
    return rooms;
  }

  void ConsiderRooms(int64_t most) {
    const auto ops = static_cast<int64_t>(graph_.ops.size()) + 1;
    int64_t candidates = std::clamp(kWork / ops, kFewestCandidates, kMostCandidates);
    int in_vain = 0;
    for (const int64_t room : Rooms()) {
      if (room > most) continue;
      const double before = fits_ ? best_seconds_ : std::numeric_limits<double>::infinity();
      for (const Recipe& recipe : kRecipes) {
        if (candidates-- <= 0) return;
        Consider(Family(graph_, machine_, room, recipe).Build());
      }
      if (!fits_) continue;
      in_vain = best_seconds_ < before ? 0 : in_vain + 1;
      if (in_vain == kPatience || TimeFloor(graph_, machine_, persistent_ + room) >= best_seconds_)
        return;
    }
  }

  void Consider(Result<Decision> decision) {
    if (!decision.ok()) return;
    if (std::optional<Decision> faster = FreeWorkspaces(graph_, machine_, decision.value()))
      Try(std::move(*faster));
    Try(std::move(decision.value()));
  }

  /// Takes the decision if it is faster than the best so far and fits; while none fits, if it
  /// needs fewer bytes.
  void Try(Decision decision) {
    // Packing takes the longest: in one go first, and well only what is fast and not hopeless.
    decision.enough_bytes = std::numeric_limits<int64_t>::max();
    Result<Plan> plan = Schedule(graph_, decision);
    if (!plan.ok()) return;
    double seconds = Simulate(graph_, plan.value(), machine_).seconds;
    if (fits_ && seconds >= best_seconds_) return;
    if (!Fits(plan.value()) && FindPeak(graph_, plan.value()).bytes <= available_) {
      decision.enough_bytes = available_;
      plan = Schedule(graph_, decision);
      seconds = Simulate(graph_, plan.value(), machine_).seconds;
      if (fits_ && seconds >= best_seconds_) return;
    }
    const int64_t bytes = plan.value().device_bytes;
    const bool fits = Fits(plan.value());
    if (!fits && (fits_ || (best_ && bytes >= best_bytes_))) return;
    best_ = std::move(decision);
    best_bytes_ = bytes;
    best_seconds_ = seconds;
    fits_ = fits;
  }

  bool Fits(const Plan& plan) const {
    return plan.device_bytes <= available_ && plan.host_bytes <= budget_.host;
  }

  const Graph& graph_;
  const Machine& machine_;
  const Budget budget_;
  const int64_t available_;
  const int64_t persistent_;
  const double quickest_;
  std::optional<Decision> best_;
  bool fits_ = false;
  int64_t best_bytes_ = 0;
  double best_seconds_ = 0;
};

}  // namespace

// The least intervention that fits: all stays where it is if the budget allows it. Otherwise the
// fastest of a list of candidates that does not depend on the budget, so that more memory is never
// slower. A candidate has room for so many bytes beside the persistent tensors; what is cheap to
// compute for its bytes is computed again, the rest moves where the room is short.
Result<Decision> Auto(const Graph& graph, const Machine& machine, const Budget& budget) {
  return Search(graph, machine, budget).Run();
}

}  // namespace layrub
