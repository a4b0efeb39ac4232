// Solver: memory plans for the nets it works with.
#include <algorithm>
#include <iterator>

#include "caffe/planned_net.hpp"
#include "caffe/solver.hpp"
#include "layrub/base/bytes.hpp"

namespace caffe {

using layrub::Plan;
using layrub::Result;
using layrub::Status;

namespace {

/// Costs decide nothing where all stays in its place.
bool Intervenes(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const layrub::Step& step) {
    return step.kind == layrub::StepKind::kOffload || step.kind == layrub::StepKind::kRecompute;
  });
}

/// Those of the blobs that the net has.
template <typename Dtype>
vector<string> KeptIn(const Net<Dtype>& net, const vector<string>& blobs) {
  vector<string> kept;
  std::copy_if(blobs.begin(), blobs.end(), std::back_inserter(kept),
               [&net](const string& blob) { return net.has_blob(blob); });
  return kept;
}

/// kInvalid where one of the blobs is in no net.
template <typename Dtype>
Status CheckKept(const Net<Dtype>& train, const vector<shared_ptr<Net<Dtype>>>& tests,
                 const vector<string>& blobs) {
  if (!Caffe::root_solver()) return Status::Ok();  // the test nets are the root's
  string nets = "train net '" + train.name() + "'";
  for (const auto& net : tests) nets += ", test net '" + net->name() + "'";
  for (const string& blob : blobs) {
    bool found = train.has_blob(blob);
    for (const auto& net : tests) found |= net->has_blob(blob);
    if (found) continue;
    return Status::Invalid("placement: keep names blob '" + blob +
                           "', which none of the solver's nets has: " + nets + ".");
  }
  return Status::Ok();
}

}  // namespace

template <typename Dtype>
Result<PlacementOptions> Solver<Dtype>::WantedPlacement() const {
  PlacementParameter wanted = net_placement_;
  wanted.MergeFrom(param_.placement());
  Result<PlacementOptions> options = ToOptions(wanted);
  if (!options.ok()) return options;
  // What the device has left is without the bytes of this solver's plans, which new ones replace.
  if (Caffe::mode() == Caffe::GPU && placed_ && !wanted.has_device_memory())
    options.value().budget.device += planned_device_bytes_;
  options.value().machine = placement_extra_.machine;
  options.value().padding = placement_extra_.padding;
  options.value().workspace = placement_extra_.workspace;
  options.value().executor = placement_extra_.executor;
  options.value().measure = placement_extra_.measure;
  return options;
}

template <typename Dtype>
Status Solver<Dtype>::Place() {
  Result<PlacementOptions> options = WantedPlacement();
  if (!options.ok()) return options.status();
  measuring_ = !options.value().deterministic && !measured_;
  recorded_.clear();
  const Status status = PlaceNets(options.value());
  placed_ = status.ok();
  if (placed_ && Caffe::root_solver()) LogPlacement();
  return status;
}

template <typename Dtype>
Result<SolverGraphs> Solver<Dtype>::MemoryGraphs(const PlacementOptions& options) {
  if (const Status status = CheckKept(*net_, test_nets_, options.keep); !status.ok()) return status;
  const typename Net<Dtype>::History history = ParameterHistory();
  const int histories = history.empty() ? -1 : static_cast<int>(history[0].size());
  net_->Reshape();  // the user may have given inputs other shapes
  SolverGraphs graphs{net_->MemoryGraph(histories, KeptIn(*net_, options.keep)), {}};
  for (const auto& net : test_nets_) {
    net->ShareTrainedLayersWith(net_.get());
    net->Reshape();
    graphs.tests.push_back(net->MemoryGraph(-1, KeptIn(*net, options.keep)));
  }
  if (const Status status = MeetOptions(options, &graphs); !status.ok()) return status;
  return graphs;
}

template <typename Dtype>
Status Solver<Dtype>::PlaceNets(PlacementOptions options) {
  const Result<SolverGraphs> graphs = MemoryGraphs(options);
  if (!graphs.ok()) return graphs.status();
  const int64_t budget = options.budget.device;
  if (layrub::UsesCosts(options.strategy) && budget != layrub::Budget().device) {
    LOG(INFO) << "Looking for plans of " << graphs.value().train.ops.size() << " operations within "
              << layrub::FormatBytes(budget);
  }
  const Result<SolverPlans> planned = PlanNets(graphs.value(), options);
  if (!planned.ok()) return planned.status();
  const SolverPlans& plans = planned.value();
  share_memory_ = plans.share_memory;
  planned_device_bytes_ = plans.device_bytes;
  measuring_ =
      measuring_ &&
      (options.measure || (layrub::UsesCosts(options.strategy) && Intervenes(*plans.train.plan)));
  options.executor.record |= measuring_;
  if (share_memory_) {
    options.executor.transient =
        std::make_shared<layrub::TransientMemory>(MakeBackend(options.spill_file));
  }
  const int64_t overhead = options.budget.reserved;
  const vector<string> keep = options.keep;
  const auto place = [&](Net<Dtype>* net, const SizedPlan& plan, const auto& history) {
    options.plan = plan.plan;
    options.strategy = plan.plan->strategy;
    // What the others leave to it, should its shapes change.
    const int64_t own = plan.resident + (share_memory_ ? plans.largest_transient : plan.transient);
    options.budget.reserved = overhead + planned_device_bytes_ - own;
    options.keep = KeptIn(*net, keep);
    return net->Place(options, history);
  };
  if (Status status = place(net_.get(), plans.train, ParameterHistory()); !status.ok())
    return status;
  for (size_t i = 0; i < test_nets_.size(); ++i) {
    const Status status =
        place(test_nets_[i].get(), plans.tests[i], typename Net<Dtype>::History());
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

#define INSTANTIATE_PLACEMENT(Dtype)                                                  \
  template Result<PlacementOptions> Solver<Dtype>::WantedPlacement() const;           \
  template Status Solver<Dtype>::Place();                                             \
  template Result<SolverGraphs> Solver<Dtype>::MemoryGraphs(const PlacementOptions&); \
  template Status Solver<Dtype>::PlaceNets(PlacementOptions);                         \
  template void Solver<Dtype>::EnsurePlaced();                                        \
  template void Solver<Dtype>::LogPlacement() const;                                  \
  template int64_t Solver<Dtype>::measured_device_bytes() const;                      \
  template int Solver<Dtype>::histories() const
INSTANTIATE_PLACEMENT(float);
INSTANTIATE_PLACEMENT(double);

}  // namespace caffe
