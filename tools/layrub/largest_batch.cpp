#include "layrub/largest_batch.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "layrub/activity.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/plan_report.hpp"
#include "layrub/planned_nets.hpp"
#include "layrub/strategy_plans.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using caffe::SolverGraphs;

namespace {

/// For a strategy that searches, the largest batch is found to 1/kSearchedPart of it, because each
/// step takes a search.
constexpr int kSearchedPart = 100;
/// Seconds after which the search is given up, unless --largest_batch is set.
constexpr unsigned kPatience = 60;

/// The result of planning a batch.
struct Tried {
  bool fits = false;
  /// Device bytes of its plans that fit, or else of the smallest plans that were found.
  int64_t bytes = 0;
  bool by_itself = true;  ///< the plans are the strategy's own, not another's
};

bool HostLimited(const PlacementOptions& options) {
  return options.budget.host != layrub::Budget().host;
}

/// Tries the plan with the fewest device bytes. If the host is limited, also tries a plan within
/// the budget, which may take less of the host.
Tried TryStrategyAlone(const SolverGraphs& graphs, const PlacementOptions& options) {
  Tried tried{false, std::numeric_limits<int64_t>::max()};
  if (const auto smallest = SmallestPlans(graphs, options); smallest.ok())
    tried = {Within(options.budget, smallest.value()), smallest.value().device_bytes};
  if (!tried.fits && HostLimited(options) && layrub::UsesBudget(options.strategy)) {
    if (const auto plans = PlanNets(graphs, options); plans.ok())
      tried = {true, plans.value().device_bytes};
  }
  return tried;
}

/// A strategy that searches also tries all others. So the others are tried first, as they are fast,
/// and the search only if none of them fits and the lower bound does not rule it out.
Tried Try(const SolverGraphs& graphs, const PlacementOptions& options) {
  const int64_t least = LeastBytes(graphs, options);
  if (least > options.budget.device) return {false, least};
  if (layrub::UsesCosts(options.strategy)) {
    PlacementOptions others = options;
    for (const std::string& strategy : layrub::StrategyNames()) {
      if (layrub::UsesCosts(strategy)) continue;
      others.strategy = strategy;
      Tried tried = TryStrategyAlone(graphs, others);
      tried.by_itself = false;
      if (tried.fits) return tried;
    }
  }
  return TryStrategyAlone(graphs, options);
}

/// Whether the strategy finds a plan when it knows its budget. One that searches may find such a
/// plan even if its smallest plan does not fit.
bool FitsWithKnownBudget(const SolverGraphs& graphs, const PlacementOptions& options) {
  return layrub::UsesCosts(options.strategy) && !HostLimited(options) &&
         LeastBytes(graphs, options) <= options.budget.device && PlanNets(graphs, options).ok();
}

/// The number of values of the largest blob that may grow with the batch.
int64_t LargestBlob(const layrub::Graph& graph) {
  int64_t largest = 1;
  for (const layrub::Tensor& tensor : graph.tensors) {
    const bool of_a_batch = tensor.blob != layrub::kNone && !tensor.is_state();
    if (of_a_batch) largest = std::max(largest, tensor.bytes / int64_t{sizeof(float)});
  }
  return largest;
}

/// What a search has found so far: a batch that fits (0: none), and a larger one that does not (0:
/// none). If both are equal, the search has ended with this largest batch.
struct Found {
  int64_t fits = 0;
  int64_t too_large = 0;
};
using ReportFound = std::function<void(const Found&)>;

/// Finds the largest batch from 1 to `limit_` that fits, assuming that all smaller ones fit, too.
/// Each step tries the batch that the last result predicts to be the largest. It moves at least a
/// stride that doubles each time, so that wrong predictions cost few steps.
class BatchSearch {
 public:
  BatchSearch(const PlacementOptions& options, const SolverGraphs& graphs,
              std::optional<int64_t> bytes, const ReportFound& tell)
      : options_(options),
        graphs_(graphs),
        bytes_(bytes),
        tell_(tell),
        least_(LeastBytes(graphs, options)),
        state_(least_ < layrub::FloorBytes(SmallestGraph(graphs, options))
                   ? 0
                   : layrub::StateBytes(SmallestGraph(graphs, options))) {
    const SolverGraphs one_item = GraphsWithBatch(1);
    int64_t largest = LargestBlob(one_item.train);
    items_ = static_cast<double>(LargestBlob(graphs.train)) / static_cast<double>(largest);
    for (const layrub::Graph& test : one_item.tests) largest = std::max(largest, LargestBlob(test));
    limit_ = std::numeric_limits<int>::max() / largest;  // most values of a blob
  }

  /// Returns the largest batch. If `part` is not 0, the result may be up to 1 / `part` too small,
  /// and a batch that fits is returned if its bytes predict that the next one would not fit.
  int Find(int part) {
    int64_t below = 0, above = limit_ + 1, stride = 1;
    double about = Items(items_, bytes_.value_or(least_));
    int64_t next = Between(1, limit_, about);
    while (true) {
      const Tried tried = TryBatch(static_cast<int>(next));
      about = Items(static_cast<double>(next), tried.bytes);
      (tried.fits ? below : above) = next;
      tell_({below, above > limit_ ? 0 : above});
      const int64_t width = part > 0 ? std::max<int64_t>(below / part, 1) : 1;
      const bool guessed =
          part > 0 && tried.fits && tried.by_itself && about < static_cast<double>(below + width);
      if (above - below <= width || guessed) return static_cast<int>(below);
      stride = std::min(stride, (above - below) / 2);
      next = tried.fits ? Between(below + stride, above - 1, about)
                        : Between(below + 1, above - stride, about);
      stride *= 2;
    }
  }

  /// Starting at `batch`, which fits, returns the last batch before the first for which there is no
  /// plan within the budget.
  int FindWithKnownBudget(int batch) {
    while (batch < limit_ && FitsWithKnownBudget(GraphsWithBatch(batch + 1), options_))
      tell_({++batch, 0});
    return batch;
  }

 private:
  static int64_t Between(int64_t least, int64_t most, double number) {
    return static_cast<int64_t>(
        std::clamp(number, static_cast<double>(least), static_cast<double>(most)));
  }

  SolverGraphs GraphsWithBatch(int batch) const {
    FLAGS_batch = batch;
    return BuildGraphs(NetsOfFlags("plan"), options_).value();
  }

  Tried TryBatch(int batch) const {
    const SolverGraphs graphs = GraphsWithBatch(batch);
    const bool known = bytes_ && graphs.train == graphs_.train && graphs.tests == graphs_.tests;
    return known ? Tried{*bytes_ <= options_.budget.device, *bytes_} : Try(graphs, options_);
  }

  /// The number of items that would fill the budget, if `items` items take `bytes` bytes.
  double Items(double items, int64_t bytes) const {
    const int64_t left = std::max<int64_t>(options_.budget.device - state_, 0);
    return items * static_cast<double>(left) /
           static_cast<double>(std::max<int64_t>(bytes - state_, 1));
  }

  const PlacementOptions& options_;
  const SolverGraphs& graphs_;
  const std::optional<int64_t> bytes_;
  const ReportFound& tell_;
  const int64_t least_;
  const int64_t state_;  ///< bytes that are on the device whatever the batch is
  double items_ = 0;     ///< of `graphs_`
  int64_t limit_ = 0;
};

std::string Sentence(const Found& found) {
  std::string sentence = "looking for the largest batch";
  if (found.fits > 0) sentence += ": " + std::to_string(found.fits) + " fits";
  if (found.too_large > 0) {
    sentence += found.fits > 0 ? ", " : ": ";
    sentence += std::to_string(found.too_large) + " does not";
  }
  return sentence;
}

/// Runs `find` in a silent child process for at most `patience` seconds (0: no limit) and shows its
/// progress. Returns its result, or none if the child ends in another way than by returning.
LargestBatch InChild(unsigned patience, const std::function<int(const ReportFound&)>& find) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    alarm(patience);
    if (!std::freopen("/dev/null", "w", stderr)) _exit(kFailure);
    bool written = false;
    const ReportFound tell = [&](const Found& found) {
      written = write(ends[1], &found, sizeof(found)) == sizeof(found);
    };
    const int64_t batch = find(tell);
    tell({batch, batch});
    _exit(written ? kSuccess : kFailure);
  }
  close(ends[1]);
  Activity activity(Sentence({}));
  Found found;
  bool told = false;
  while (child > 0 && !told && read(ends[0], &found, sizeof(found)) == sizeof(found)) {
    told = found.fits == found.too_large;
    activity.Tell(Sentence(found));
  }
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  if (told) return {static_cast<int>(found.fits)};
  return {{}, WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM};
}

}  // namespace

LargestBatch FindLargestBatch(const PlacementOptions& options, const SolverGraphs& graphs,
                              std::optional<int64_t> bytes, bool try_harder) {
  return InChild(FLAGS_largest_batch ? 0 : kPatience, [&](const ReportFound& tell) {
    BatchSearch search(options, graphs, bytes, tell);
    const bool searches = layrub::UsesCosts(options.strategy);
    const int batch = search.Find(searches && !try_harder ? kSearchedPart : 0);
    return try_harder ? search.FindWithKnownBudget(batch) : batch;
  });
}

}  // namespace layrub_tool
