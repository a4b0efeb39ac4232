#include "layrub/placement/search/auto.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "layrub/base/in_parallel.hpp"
#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/cost/floor.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/shared_link.hpp"
#include "layrub/placement/ir/lifetimes.hpp"
#include "layrub/placement/ir/operands.hpp"
#include "layrub/placement/policies/common.hpp"
#include "layrub/placement/policies/policies.hpp"
#include "layrub/placement/search/best_program.hpp"
#include "layrub/placement/search/draft.hpp"
#include "layrub/placement/search/evaluate.hpp"
#include "layrub/placement/search/frugal_variants.hpp"
#include "layrub/placement/search/greedy.hpp"
#include "layrub/placement/search/homes.hpp"
#include "layrub/placement/search/local_search.hpp"
#include "layrub/placement/search/refine.hpp"

namespace layrub::placement::search {
namespace {

using cost::Homes;

/// How many capacities a sweep tries, in equal ratios; more if it looks for the smallest budget. A
/// capacity is the bytes beside the state at home on the device.
constexpr int kCapacities = 50;
constexpr int kCapacitiesForBytes = 100;
/// In a budget below so many floors, plans with state off the device are tried, too, even if all
/// state fits.
constexpr double kTightBudget = 1.3;
/// A sweep ends after so many capacities in a row without a faster candidate.
constexpr int kPatience = 10;
/// If a sweep can afford only a few candidates and none of them fits, it tries so many more
/// capacities, with one candidate each.
constexpr int kMoreCapacities = 8;
/// Bounds of the work: candidates of a sweep, and steps of the local search, times the square of
/// the number of operations. That is about the time that trying them takes. With these values, no
/// plan of `bench/bench_placement.py` takes more than 5 processor seconds.
constexpr int64_t kSweepWork = 280'000'000;
constexpr int64_t kStepWork = 1'600'000'000;
constexpr int64_t kFewestCandidates = 3;
constexpr int64_t kMostCandidates = 720;
/// Steps of the local search for each operation: a longer program has more to change.
constexpr int64_t kStepsPerOp = 6;

/// The search for the smallest budget begins at kNearFloor times the floor.
constexpr double kNearFloor = 1.05;

/// If the program of another strategy is at most this factor slower than the best, it is also
/// packed as that strategy would do it, because auto must not be slower.
constexpr double kNear = 1.02;

/// One way to make candidates.
struct Preset {
  bool any_variant;  ///< backward variants may take all of the capacity if forward then keeps fewer
                     ///< bytes for them
  GreedyPolicy policy;
};
constexpr std::array<Preset, 8> kPresets{{
    {false, {false, 0, 1}},
    {false, {true, 0.3, 1}},
    {false, {true, 1, 0.5}},
    {false, {true, 0, 0.5}},
    {false, {true, 0.1, 1}},
    {true, {true, 0.3, 1}},
    {false, {true, 0.6, 0.5}},
    {false, {true, 0.6, 1}},
}};

/// The preset that is used if SearchOptions::presets is false.
constexpr size_t kOnlyPreset = 1;

class Search {
 public:
  /// State has these homes. `parts`: how many searches share the work of one.
  Search(const Graph& graph, const Machine& machine, const Budget& budget, Homes homes,
         const SearchOptions& options, int64_t parts = 1)
      : graph_(graph),
        machine_(machine),
        budget_(budget),
        options_(options),
        available_(budget.device - budget.reserved),
        floor_(cost::FloorBytes(graph, homes)),
        state_(cost::ResidentBytes(graph, homes)),
        all_resident_(state_ == StateBytes(graph)),
        homes_(std::move(homes)),
        parts_(parts),
        best_(graph, machine, budget, state_) {}

  void Run() {
    Explore();
    Improve();
    if (best_.fits()) return;
    const auto goal = static_cast<int64_t>(kNearFloor * static_cast<double>(floor_));
    best_.AimFor(goal);
    Sweep(goal - state_, kCapacitiesForBytes);
    // Without moves it may take still fewer bytes.
    if (best_.found() && !best_.fits()) best_.ConsiderWithoutMoves(Program(best_.program()));
  }

  /// Tries all candidates but those of the local search.
  void Explore() {
    if (all_resident_ && KeepsAll()) return;
    if (all_resident_ && options_.policies) {
      for (const Result<Program>& other : OtherPrograms()) ConsiderOther(other);
    }
    if (available_ >= floor_) Sweep(available_ - state_, kCapacities);
  }

  void Improve() {
    if (available_ >= floor_ && !keeps_all_) SearchLocally();
  }

  const BestProgram& best() const { return best_; }

 private:
  /// The fastest draft that a preset has made.
  struct Fastest {
    double seconds = kNever;
    Draft draft;
  };

  /// Returns true if `keep` fits, with its own workspaces or faster ones. Otherwise `keep` with the
  /// smallest workspaces becomes a candidate like any other.
  bool KeepsAll() {
    const Result<Program> keep = policies::Keep(graph_, machine_, {});
    if (!keep.ok()) return false;
    Program fastest = keep.value(), smallest = keep.value();
    cost::TakeFastestAlgorithms(graph_, machine_, available_, &fastest);
    if (fastest.runs != keep.value().runs) best_.Consider(std::move(fastest));
    best_.Consider(keep.value());
    keeps_all_ = best_.fits();
    if (keeps_all_) return true;
    for (placement::Run& run : smallest.runs)
      run.algorithm = SmallestAlgorithm(graph_, VariantOf(graph_, run));
    best_.Consider(std::move(smallest));
    return false;
  }

  /// The programs of all policies but Keep, which KeepsAll has tried.
  std::vector<Result<Program>> OtherPrograms() const {
    const std::span<const policies::Policy> all = policies::Policies();
    std::vector<Result<Program>> programs(all.size(), Status::Invalid("keep has been looked at"));
    InParallel(all.size(), [&](size_t i) {
      if (all[i].decide != policies::Keep) programs[i] = all[i].decide(graph_, machine_, budget_);
    });
    return programs;
  }

  /// Similar strategies such as vdnn_all and vdnn_all_fast can return the same program; it is
  /// tried once.
  void ConsiderOther(const Result<Program>& program) {
    if (!program.ok() || program.value() == other_) return;
    other_ = program.value();
    const double seconds = best_.Consider(other_);
    if (!best_.fits() || seconds <= kNear * best_.seconds()) best_.ConsiderWithoutMoves(other_);
  }

  /// Capacities from all that is ever live down to half of the largest working set (a plan that
  /// does not fill its capacity is easier to pack). They are the same for every budget.
  std::vector<int64_t> Capacities(int count) const {
    const Program all_there = policies::InSmallestVariants(graph_);
    const Result<Lifetimes> lives = FindLifetimes(graph_, all_there);
    if (!lives.ok()) return {};
    const auto most =
        static_cast<double>(cost::PeakLiveBytes(lives.value(), all_there.runs.size()) - state_);
    const double least = static_cast<double>(floor_ - state_) / 2;
    std::vector<int64_t> capacities;
    for (int i = 0; i <= count && least > 0; ++i)
      capacities.push_back(static_cast<int64_t>(
          std::ceil(most * std::pow(least / most, static_cast<double>(i) / count))));
    return capacities;
  }

  /// Tries the candidates of all presets for each of Capacities(capacities) that is at most `most`.
  /// If a deep net leaves time for only a few candidates and none of them fits, smaller capacities
  /// follow.
  void Sweep(int64_t most, int capacities) {
    int64_t left = std::clamp(Most(kSweepWork), kFewestCandidates, kMostCandidates);
    left = std::max(left / parts_, kFewestCandidates);
    int in_vain = 0;
    int more_capacities = available_ >= floor_ ? kMoreCapacities : 0;
    bool all_presets = options_.presets;
    for (const int64_t capacity : Capacities(capacities)) {
      if (capacity > most) continue;
      const double before = best_.seconds();
      const int64_t least_before = best_.bytes();
      for (size_t i = 0; i < kPresets.size(); ++i) {
        if ((all_presets || i == kOnlyPreset) && left-- > 0) ConsiderPreset(i, capacity);
      }
      if (left <= 0) {
        if (best_.fits() || more_capacities-- == 0) return;
        all_presets = false;
        left = 1;
        most = LessCapacity(capacity, least_before);
        continue;
      }
      in_vain = !best_.fits() || best_.seconds() < before ? 0 : in_vain + 1;
      if (in_vain == kPatience) return;
    }
  }

  /// The capacity to try next if no candidate for `capacity` fits: smaller by as much as the best
  /// of them exceeds the budget, or half if the greedy search gave up on all of them.
  /// `least_before`: the fewest packed bytes of all candidates before these.
  int64_t LessCapacity(int64_t capacity, int64_t least_before) const {
    if (best_.bytes() >= least_before) return capacity / 2;
    return static_cast<int64_t>(static_cast<double>(capacity) * static_cast<double>(available_) /
                                static_cast<double>(best_.bytes()));
  }

  void ConsiderPreset(size_t preset, int64_t capacity) {
    auto [any_variant, policy] = kPresets[preset];
    policy.rematerialize = policy.rematerialize && options_.rematerialization;
    policy.link_clock = options_.link_clock;
    const Start& start = StartIn(any_variant ? capacity : 0);
    auto evicted = EvictGreedily(graph_, machine_, start, capacity, policy);
    if (!evicted) return;
    Draft draft = MakeDraft(graph_, std::move(*evicted));
    auto timed = LowerInTime(graph_, machine_, draft, state_ + capacity, best_.room().host);
    if (!timed) return;
    const double seconds = best_.Consider(std::move(timed->program));
    Fastest& fastest = fastest_[preset];
    if (seconds < fastest.seconds) fastest = {seconds, std::move(draft)};
  }

  /// The Start of candidates whose variants take at most `variants` bytes.
  const Start& StartIn(int64_t variants) {
    const auto [start, is_new] = starts_.try_emplace(variants);
    if (is_new) {
      start->second = InFrugalVariants(graph_, variants);
      Program& program = start->second.program;
      for (size_t t = 0; t < homes_.size(); ++t) program.tensors[t].home = homes_[t];
    }
    return start->second;
  }

  /// Searches from the best program so far and from the fastest draft of each preset.
  void SearchLocally() {
    const int64_t steps = std::min(Most(kStepWork), kStepsPerOp * OpCount());
    if (!options_.local_search || !best_.fits() || steps < kFewestSteps) return;
    std::vector<Draft> starts;
    const std::vector<TensorProgram>& tensors = best_.program().tensors;
    const bool some_whole =
        std::any_of(tensors.begin(), tensors.end(), [](const TensorProgram& t) { return t.whole; });
    if (!some_whole) starts.push_back(MakeDraft(graph_, best_.program()));
    for (const Fastest& fastest : fastest_) {
      if (std::isfinite(fastest.seconds)) starts.push_back(fastest.draft);
    }
    auto found = Refine(graph_, machine_, best_.room(), starts, steps, best_.seconds(), options_);
    if (found) best_.Take(std::move(*found));
    best_.ConsiderFaster(Program(best_.program()));
  }

  int64_t OpCount() const { return static_cast<int64_t>(graph_.ops.size()); }
  int64_t Most(int64_t work) const { return work / ((OpCount() + 1) * (OpCount() + 1)); }

  const Graph& graph_;
  const Machine& machine_;
  const Budget budget_;
  const SearchOptions options_;
  const int64_t available_;
  const int64_t floor_;
  const int64_t state_;  ///< bytes of state at home on the device
  const bool all_resident_;
  const Homes homes_;
  const int64_t parts_;
  BestProgram best_;
  bool keeps_all_ = false;           ///< everything stays where it is
  Program other_;                    ///< program of the other strategy that was tried last
  std::map<int64_t, Start> starts_;  ///< see StartIn
  std::array<Fastest, kPresets.size()> fastest_;
};

/// Returns the fastest program that fits among those with several choices of the state that is at
/// home off the device; nothing if none fits.
std::optional<schedule::Choice> SearchHomes(const Graph& graph, const Machine& machine,
                                            const Budget& budget, const SearchOptions& options) {
  const std::vector<Homes> choices =
      ChooseHomes(graph, budget.device - budget.reserved, pack::HostBytes(budget));
  std::optional<Search> best;
  for (const Homes& homes : choices) {
    Search search(graph, machine, budget, homes, options, std::ssize(choices));
    search.Explore();
    if (search.best().fits() && (!best || search.best().seconds() < best->best().seconds()))
      best.emplace(std::move(search));
  }
  if (!best) return std::nullopt;
  best->Improve();
  return best->best().choice();
}

}  // namespace

Result<schedule::Choice> Auto(const Graph& graph, const Machine& device, const Budget& budget,
                              const SearchOptions& options) {
  const Machine machine = budget.host == 0 ? OffloadRates(device, budget) : device;
  const int64_t available = budget.device - budget.reserved;
  const Homes on_device = cost::AllOnDevice(graph),
              away = cost::AllAway(graph, pack::HostBytes(budget));
  const int64_t floor = cost::FloorBytes(graph, on_device);
  const bool offload = budget.offload_state && cost::FloorBytes(graph, away) < floor;
  const bool roomy = static_cast<double>(available) >= kTightBudget * static_cast<double>(floor);
  if (offload && !roomy) {
    if (auto found = SearchHomes(graph, machine, budget, options)) return std::move(*found);
  }
  if (available >= floor) {
    Search search(graph, machine, budget, on_device, options);
    search.Run();
    if (search.best().fits()) return search.best().choice();
  }
  if (offload && roomy) {
    if (auto found = SearchHomes(graph, machine, budget, options)) return std::move(*found);
  }
  // A message names the smallest budget, and planning with that budget must then succeed. So look
  // for the plan that needs the fewest bytes without any budget.
  const Budget least{.device = 0, .host = budget.host, .spill = budget.spill};
  if (offload) {
    Search search(graph, machine, least, away, options);
    search.Run();
    if (search.best().bytes() <= floor) return search.best().choice();
  }
  Search search(graph, machine, least, on_device, options);
  search.Run();
  if (!search.best().found()) return Status::DoesNotFit("strategy auto has found no plan");
  return search.best().choice();
}

}  // namespace layrub::placement::search
