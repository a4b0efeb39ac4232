// Solver: memory plans for the nets it works with.
#include <algorithm>

#include "caffe/planned_net.hpp"
#include "caffe/solver.hpp"
#include "layrub/bytes.hpp"

namespace caffe {

using layrub::Budget;
using layrub::Plan;
using layrub::Result;
using layrub::Status;

namespace {

/// A plan, and its device bytes: those that hold something between passes, and the others.
struct SizedPlan {
  std::shared_ptr<const Plan> plan;
  int64_t resident = 0;
  int64_t transient = 0;
};

Result<SizedPlan> MakeSizedPlan(layrub::Graph graph, const PlacementOptions& options) {
  if (options.deterministic) {
    if (Status status = layrub::KeepDeterministic(&graph); !status.ok()) return status;
  }
  Result<Plan> plan =
      layrub::MakePlan(graph, options.machine, options.budget, options.strategy, options.padding);
  if (!plan.ok()) return plan.status();
  const int64_t resident = layrub::ResidentBytes(graph, plan.value());
  const int64_t transient = plan.value().device_bytes - resident;
  return SizedPlan{std::make_shared<Plan>(std::move(plan.value())), resident, transient};
}

/// Plans for nets that are only run forward, whatever they take.
template <typename Dtype>
Result<std::vector<SizedPlan>> PlanTests(const vector<shared_ptr<Net<Dtype>>>& nets,
                                         PlacementOptions options, const string& strategy) {
  options.strategy = strategy;
  options.budget = {};
  std::vector<SizedPlan> plans;
  for (const auto& net : nets) {
    const Result<SizedPlan> plan = MakeSizedPlan(net->MemoryGraph(-1), options);
    if (!plan.ok()) return plan.status();
    plans.push_back(plan.value());
  }
  return plans;
}

/// Device bytes of several nets when each has its own, and when those that hold nothing between
/// passes are shared.
struct Total {
  explicit Total(const SizedPlan& train) { Add(train); }
  Total(const SizedPlan& train, const std::vector<SizedPlan>& tests) : Total(train) {
    for (const SizedPlan& test : tests) Add(test);
  }
  void Add(const SizedPlan& plan) {
    resident += plan.resident;
    largest_transient = std::max(largest_transient, plan.transient);
    apart += plan.plan->device_bytes;
  }
  int64_t together() const { return resident + largest_transient; }
  int64_t resident = 0;
  int64_t largest_transient = 0;
  int64_t apart = 0;
};

}  // namespace

template <typename Dtype>
Result<PlacementOptions> Solver<Dtype>::WantedPlacement() const {
  PlacementParameter wanted = net_placement_;
  wanted.MergeFrom(param_.placement());
  Result<PlacementOptions> options = ToOptions(wanted);
  if (!options.ok()) return options;
  options.value().machine = placement_extra_.machine;
  options.value().padding = placement_extra_.padding;
  options.value().executor = placement_extra_.executor;
  options.value().measure = placement_extra_.measure || layrub::UsesCosts(options.value().strategy);
  return options;
}

template <typename Dtype>
Status Solver<Dtype>::Place() {
  Result<PlacementOptions> options = WantedPlacement();
  if (!options.ok()) return options.status();
  measuring_ = options.value().measure && !options.value().deterministic && !measured_;
  recorded_.clear();
  options.value().executor.record |= measuring_;
  const Status status = PlaceNets(options.value());
  placed_ = status.ok();
  if (placed_ && Caffe::root_solver()) LogPlacement();
  return status;
}

template <typename Dtype>
Status Solver<Dtype>::PlaceNets(PlacementOptions options) {
  for (const auto& net : test_nets_) net->ShareTrainedLayersWith(net_.get());
  Result<std::vector<SizedPlan>> tests = PlanTests(test_nets_, options, "liveness");
  if (!tests.ok()) return tests.status();
  for (const SizedPlan& test : tests.value()) options.budget.reserved += test.resident;
  const typename Net<Dtype>::History history = ParameterHistory();
  const int histories = history.empty() ? -1 : static_cast<int>(history[0].size());
  const Result<SizedPlan> train =
      MakeSizedPlan(net_->MemoryGraph(histories, options.keep), options);
  if (!train.ok()) return train.status();

  const int64_t budget = options.budget.device;
  if (options.strategy == "keep") {  // all blobs of all nets readable, as in Caffe
    const Result<std::vector<SizedPlan>> whole = PlanTests(test_nets_, options, "keep");
    if (whole.ok() && Total(train.value(), whole.value()).apart <= budget) tests = whole;
  }
  const Total total(train.value(), tests.value());
  share_memory_ = total.apart > budget;
  planned_device_bytes_ = share_memory_ ? total.together() : total.apart;
  if (planned_device_bytes_ > budget) {
    return Status::DoesNotFit("a test net needs " + layrub::FormatBytes(total.largest_transient) +
                              " beside the " + layrub::FormatBytes(total.resident) +
                              " that training keeps, the budget is " + layrub::FormatBytes(budget) +
                              "; give --device_memory=" + std::to_string(planned_device_bytes_) +
                              " or a smaller batch in the TEST phase");
  }
  if (share_memory_) {
    options.executor.transient = std::make_shared<layrub::TransientMemory>(
        std::shared_ptr<layrub::Backend>(layrub::MakeCpuBackend(options.spill_file)));
  }
  const auto place = [&](Net<Dtype>* net, const SizedPlan& plan, const auto& net_history) {
    options.plan = plan.plan;
    options.strategy = plan.plan->strategy;
    // What the others leave to it, should its shapes change.
    const int64_t own = plan.resident + (share_memory_ ? total.largest_transient : plan.transient);
    options.budget.reserved = planned_device_bytes_ - own;
    return net->Place(options, net_history);
  };
  if (Status status = place(net_.get(), train.value(), history); !status.ok()) return status;
  options.keep.clear();
  for (size_t i = 0; i < test_nets_.size(); ++i) {
    const Status status =
        place(test_nets_[i].get(), tests.value()[i], typename Net<Dtype>::History());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

template <typename Dtype>
void Solver<Dtype>::EnsurePlaced() {
  if (placed_) return;
  const Status status = Place();
  CHECK(status.ok()) << status.message;
}

template <typename Dtype>
void Solver<Dtype>::LogPlacement() const {
  const PlannedNet<Dtype>* planned = net_->planned();
  if (planned == nullptr) return;
  const Plan& plan = planned->plan();
  const auto keep = layrub::MakePlan(planned->graph(), placement_extra_.machine, {}, "keep");
  ostringstream yardsticks;
  if (keep.ok()) yardsticks << "keep " << layrub::FormatBytes(keep.value().device_bytes) << ", ";
  yardsticks << "floor " << layrub::FormatBytes(layrub::FloorBytes(planned->graph()));
  LOG(INFO) << "Placement: " << plan.strategy << ", device "
            << layrub::FormatBytes(plan.device_bytes) << " (" << yardsticks.str() << "), host "
            << layrub::FormatBytes(plan.host_bytes);
  if (test_nets_.empty()) return;
  const int64_t more = planned_device_bytes_ - plan.device_bytes;
  LOG(INFO) << "Placement of test nets: " << test_nets_[0]->planned()->plan().strategy << ", "
            << layrub::FormatBytes(more) << " more"
            << (share_memory_ ? ", otherwise in the memory of the training net" : "");
}

template <typename Dtype>
int64_t Solver<Dtype>::measured_device_bytes() const {
  int64_t apart = 0, resident = 0, transient = 0;
  const auto add = [&](const Net<Dtype>& net) {
    const PlannedNet<Dtype>* planned = net.planned();
    if (!planned) return;
    const int64_t touched = planned->executor().TouchedBytes();
    const int64_t own = layrub::ResidentBytes(planned->graph(), planned->plan());
    apart += touched;
    resident += own;
    transient = std::max(transient, touched - own);
  };
  add(*net_);
  for (const auto& net : test_nets_) add(*net);
  return share_memory_ ? resident + transient : apart;
}

template <typename Dtype>
int Solver<Dtype>::histories() const {
  const typename Net<Dtype>::History history = ParameterHistory();
  return history.empty() ? 0 : static_cast<int>(history.front().size());
}

#define INSTANTIATE_PLACEMENT(Dtype)                                        \
  template Result<PlacementOptions> Solver<Dtype>::WantedPlacement() const; \
  template Status Solver<Dtype>::Place();                                   \
  template Status Solver<Dtype>::PlaceNets(PlacementOptions);               \
  template void Solver<Dtype>::EnsurePlaced();                              \
  template void Solver<Dtype>::LogPlacement() const;                        \
  template int64_t Solver<Dtype>::measured_device_bytes() const;            \
  template int Solver<Dtype>::histories() const
INSTANTIATE_PLACEMENT(float);
INSTANTIATE_PLACEMENT(double);

}  // namespace caffe
