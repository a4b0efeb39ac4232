#include "layrub/partition_comparison.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "layrub/base/in_parallel.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/partitioned_nets.hpp"
#include "shared/progress.hpp"

namespace layrub_tool {

using caffe::PlacementOptions;
using layrub::Result;
using layrub::Status;
using layrub::partition::Partition;

namespace {

/// Budgets that are tried, as multiples of a partition's smallest one.
constexpr double kRungs[] = {1, 1.5, 2.5, 5};

/// What one device runs, under one partition.
struct Candidate {
  Candidate(caffe::SolverGraphs made, const PlacementOptions& wanted)
      : options(wanted), graphs(std::move(made)), plans(graphs, options) {}
  Candidate(const Candidate&) = delete;

  const PlacementOptions options;
  const caffe::SolverGraphs graphs;
  StrategyPlans plans;
};

/// A row of the comparison for each budget. `candidates` are numbers; the best of them is taken.
struct NamedPartition {
  std::string name;
  std::vector<size_t> candidates;
  std::vector<int64_t> budgets;
};

std::vector<std::string> WantedNames() {
  std::vector<std::string> names;
  for (const std::string& name : SplitList(FLAGS_partition)) {
    if (name.empty()) Fail("--partition=" + FLAGS_partition + ": a name in the list is empty.");
    CheckPartitionName(name);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names.empty() ? PartitionNames() : names;
}

/// Makes a comparison; its functions are the steps, in their order.
class PartitionComparer {
 public:
  PartitionComparer(const WantedNets& nets, const PlacementOptions& options,
                    const layrub::Machine& alone)
      : nets_(nets), options_(options), alone_(alone) {}

  Status Divide() {
    const std::vector<std::string> names = WantedNames();
    const NetDivider divider(nets_, options_.machine);
    tools::Progress progress("partitions", static_cast<int64_t>(names.size()) + 1);
    std::vector<Partition> partitions;  // of the candidates
    for (const std::string& name : names) {
      named_.push_back({name, {}, {}});
      for (const Partition& partition : divider.Candidates(name)) {
        const auto known = std::find(partitions.begin(), partitions.end(), partition);
        named_.back().candidates.push_back(known - partitions.begin());
        if (known != partitions.end()) continue;
        partitions.push_back(partition);
        if (const Status status = Add(divider.Local(partition), options_.machine); !status.ok())
          return status;
      }
      progress.Add();
    }
    named_.push_back({kOneDevice, {candidates_.size()}, {}});
    return Add(nets_, alone_);
  }

  /// Makes the smallest plans, which MakeComparedPlan needs.
  void FindSmallest() {
    tools::Progress progress("smallest budgets", static_cast<int64_t>(candidates_.size()));
    layrub::InParallel(candidates_.size(), [&](size_t i) {
      candidates_[i]->plans.Smallest(options_.strategy);
      candidates_[i]->plans.Smallest("keep");
      progress.Add();
    });
  }

  void ChooseBudgets(const std::vector<int64_t>& budgets) {
    for (NamedPartition& partition : named_)
      partition.budgets = budgets.empty() ? Ladder(partition) : budgets;
  }

  std::vector<DividedPlan> MakePlans() {
    std::set<std::pair<size_t, int64_t>> wanted;  // of a candidate within a budget
    for (const NamedPartition& partition : named_) {
      for (const int64_t budget : partition.budgets) {
        for (const size_t candidate : partition.candidates) wanted.emplace(candidate, budget);
      }
    }
    const std::vector<std::pair<size_t, int64_t>> jobs(wanted.begin(), wanted.end());
    std::vector<ComparedPlan> made(jobs.size());
    tools::Progress progress("plans", static_cast<int64_t>(jobs.size()));
    layrub::InParallel(jobs.size(), [&](size_t i) {
      Candidate& candidate = *candidates_[jobs[i].first];
      made[i].strategy = options_.strategy;
      made[i].budget_bytes = LimitOf(jobs[i].second);
      MakeComparedPlan(candidate.graphs, candidate.options, &candidate.plans, &made[i]);
      progress.Add();
    });
    std::map<std::pair<size_t, int64_t>, const ComparedPlan*> plans;
    for (size_t i = 0; i < jobs.size(); ++i) plans[jobs[i]] = &made[i];

    std::vector<DividedPlan> rows;
    for (const NamedPartition& partition : named_) {
      for (const int64_t budget : partition.budgets) {
        const ComparedPlan* best = nullptr;
        for (const size_t candidate : partition.candidates) {
          const ComparedPlan* plan = plans.at({candidate, budget});
          if (!best || Better(*plan, *best)) best = plan;
        }
        rows.push_back({partition.name, *best});
      }
    }
    return rows;
  }

 private:
  Status Add(const WantedNets& nets, const layrub::Machine& machine) {
    PlacementOptions options = options_;
    options.machine = machine;
    Result<caffe::SolverGraphs> graphs = BuildGraphs(nets, options);
    if (!graphs.ok()) return graphs.status();
    candidates_.push_back(std::make_unique<Candidate>(std::move(graphs.value()), options));
    return Status::Ok();
  }

  static bool Better(const ComparedPlan& a, const ComparedPlan& b) {
    if (a.fits != b.fits) return a.fits;
    if (a.fits) return a.seconds < b.seconds;
    return a.smallest_bytes && (!b.smallest_bytes || *a.smallest_bytes < *b.smallest_bytes);
  }

  /// Budgets from the smallest that fits up to what it takes to keep everything, but at most the
  /// budget of the options. Only that one if none fits.
  std::vector<int64_t> Ladder(const NamedPartition& partition) {
    const int64_t limit = options_.budget.device;
    std::optional<int64_t> least;
    int64_t most = 0;
    for (const size_t i : partition.candidates) {
      StrategyPlans& plans = candidates_[i]->plans;
      const std::optional<int64_t> bytes = plans.SmallestBytes(options_.strategy);
      if (bytes && (!least || *bytes < *least)) least = bytes;
      const auto& keep = plans.Smallest("keep");
      if (keep.ok()) most = std::max(most, keep.value().device_bytes);
    }
    if (!least || *least > limit) return {limit};
    if (!layrub::UsesBudget(options_.strategy)) return {*least};
    most = std::min(std::max(most, *least), limit);
    std::vector<int64_t> budgets;
    for (const double rung : kRungs) {
      const auto budget = static_cast<int64_t>(rung * static_cast<double>(*least));
      if (budget < most) budgets.push_back(budget);
    }
    budgets.push_back(most);
    return budgets;
  }

  const WantedNets& nets_;
  const PlacementOptions& options_;
  const layrub::Machine& alone_;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  std::vector<NamedPartition> named_;
};

/// Removes the rows in which a larger budget gives the same plan.
void DropRepeated(std::vector<DividedPlan>* plans) {
  const auto key = [](const DividedPlan& row) {
    return std::tie(row.partition, row.plan.fits, row.plan.device_bytes, row.plan.host_bytes,
                    row.plan.seconds);
  };
  const auto same = [&](const DividedPlan& a, const DividedPlan& b) {
    return a.plan.fits && key(a) == key(b);
  };
  plans->erase(std::unique(plans->begin(), plans->end(), same), plans->end());
}

}  // namespace

bool PartitionComparison::anything_fits() const {
  return std::any_of(plans.begin(), plans.end(),
                     [](const DividedPlan& row) { return row.plan.fits; });
}

Result<PartitionComparison> ComparePartitions(const WantedNets& nets,
                                              const PlacementOptions& options,
                                              const layrub::Machine& alone,
                                              const std::vector<int64_t>& budgets) {
  PartitionComparison made;
  made.net = NetName(nets.net);
  made.machine = options.machine.name;
  made.devices = FLAGS_devices;
  PartitionComparer comparer(nets, options, alone);
  if (const Status status = comparer.Divide(); !status.ok()) return status;
  made.whole_seconds = WholeSeconds(nets, options, alone);
  comparer.FindSmallest();
  comparer.ChooseBudgets(budgets);
  if (budgets.empty()) made.limit_bytes = LimitOf(options.budget.device);
  made.plans = comparer.MakePlans();
  if (budgets.empty()) DropRepeated(&made.plans);
  return made;
}

}  // namespace layrub_tool
