#include "solver_placement.hpp"

#include <algorithm>
#include <iterator>

#include "caffe/planned_net.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/placement/cost/profile.hpp"
#include "layrub/runtime/measure.hpp"

namespace caffe {

using layrub::Plan;
using layrub::Result;
using layrub::Status;
using layrub::Timeline;

namespace {

constexpr size_t kWarmUp = 2;                  ///< iterations that use memory for the first time
constexpr size_t kMeasured = 3;                ///< iterations
constexpr int64_t kCopied = int64_t{4} << 20;  ///< bytes of each of the four buffers copied

double MedianMilliseconds(const std::vector<Timeline>& iterations) {
  std::vector<double> seconds;
  for (const Timeline& timeline : iterations) seconds.push_back(timeline.seconds);
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return 1000 * seconds[seconds.size() / 2];
}

/// Whether the plan moves or recomputes anything. Otherwise costs have no influence.
bool Intervenes(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const layrub::Step& step) {
    return layrub::IsOffload(step) || step.recompute;
  });
}

/// Returns those of `blobs` that the net has.
template <typename Dtype>
vector<string> KeptIn(const Net<Dtype>& net, const vector<string>& blobs) {
  vector<string> kept;
  std::copy_if(blobs.begin(), blobs.end(), std::back_inserter(kept),
               [&net](const string& blob) { return net.has_blob(blob); });
  return kept;
}

/// Why the gradients of `net` must stay readable until all updates run; empty if nothing needs
/// that.
template <typename Dtype>
string WhyGradientsStay(const Net<Dtype>& net, const SolverParameter& solver,
                        const PlacementOptions& options) {
  if (options.keep_gradients) return "keep_gradients is set";
  if (solver.clip_gradients() >= 0) return "clip_gradients needs all of them at once";
  if (solver.iter_size() > 1) return "iter_size adds up those of several passes";
  if (solver.debug_info()) return "debug_info reports them";
  if (Caffe::solver_count() > 1) return "several solvers add up theirs";
  for (const auto& layer : net.layers()) {
    for (const ParamSpec& param : layer->layer_param().param()) {
      if (param.has_layout()) return "the net is divided among devices";
    }
  }
  return "";
}

/// Whether a layer of a test net writes parameters of the train net.
bool WritesParameters(const layrub::Graph& test) {
  const auto is_parameter = [&](layrub::TensorId tensor) {
    return test.tensors[tensor].role == layrub::Role::kParameter;
  };
  return std::any_of(test.ops.begin(), test.ops.end(), [&](const layrub::Op& op) {
    const std::vector<layrub::TensorId>& writes = op.variants[0].writes;
    return op.kind != layrub::OpKind::kFeed &&
           std::any_of(writes.begin(), writes.end(), is_parameter);
  });
}

/// Returns kInvalid if one of the blobs is in no net.
template <typename Dtype>
Status CheckKept(const Net<Dtype>& train, const vector<shared_ptr<Net<Dtype>>>& tests,
                 const vector<string>& blobs) {
  if (!Caffe::root_solver() && tests.empty()) return Status::Ok();  // the root checks
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
Result<PlacementOptions> SolverPlacement<Dtype>::Wanted() const {
  PlacementParameter wanted = net_placement_;
  wanted.MergeFrom(solver_->param().placement());
  Result<PlacementOptions> options = ToOptions(wanted);
  if (!options.ok()) return options;
  // The device's free memory does not include the bytes of this solver's plans, which the new ones
  // replace.
  if (Caffe::mode() == Caffe::GPU && placed_ && !wanted.has_device_memory())
    options.value().budget.device += planned_device_bytes_;
  layrub::Budget& budget = options.value().budget;
  budget.device = budget.reserved + std::min(budget.device - budget.reserved, agreed_);
  options.value().machine = extra_.machine;
  options.value().optimizations = extra_.optimizations;
  options.value().padding = extra_.padding;
  options.value().algorithm = extra_.algorithm;
  options.value().executor = extra_.executor;
  options.value().measure = extra_.measure;
  return options;
}

template <typename Dtype>
Status SolverPlacement<Dtype>::Place() {
  agreed_ = layrub::Budget().device;
  Result<PlacementOptions> options = Wanted();
  if (!options.ok()) return options.status();
  if (extra_.agree_on_bytes) {
    const layrub::Budget& budget = options.value().budget;
    agreed_ = extra_.agree_on_bytes(budget.device - budget.reserved);
    options = Wanted();
  }
  measuring_ = !options.value().deterministic && !measured_;
  recorded_.clear();
  const Status status = PlaceNets(options.value());
  placed_ = status.ok();
  if (placed_ && Caffe::root_solver()) Log();
  return status;
}

template <typename Dtype>
Result<SolverGraphs> SolverPlacement<Dtype>::Graphs(const PlacementOptions& options) {
  if (const Status status = CheckKept(train_net(), solver_->test_nets(), options.keep);
      !status.ok())
    return status;
  const typename Net<Dtype>::History history = solver_->ParameterHistory();
  const int histories = history.empty() ? -1 : static_cast<int>(history[0].size());
  train_net().Reshape();  // the user may have given inputs other shapes
  SolverGraphs graphs{
      train_net().MemoryGraph(histories, KeptIn(train_net(), options.keep), options.optimizations),
      {}};
  graphs.why_gradients_stay = WhyGradientsStay(train_net(), solver_->param(), options);
  if (histories >= 0 && graphs.why_gradients_stay.empty()) {
    graphs.updating = train_net().MemoryGraph(histories, KeptIn(train_net(), options.keep),
                                              options.optimizations, true);
  }
  const bool slices = histories >= 0 && options.may_slice && !solver_->param().debug_info();
  // On a GPU plans choose among algorithms that round differently anyway.
  const bool rounds = options.slicing.rounds || (IsForGpu(options) && !options.deterministic);
  if (slices) {
    const vector<string> keep = KeptIn(train_net(), options.keep);
    int64_t least = layrub::StateFloorBytes(graphs.updating ? *graphs.updating : graphs.train);
    for (const Slicing& slicing : train_net().Slicings(keep, rounds)) {
      SlicedGraph sliced{slicing,
                         train_net().MemoryGraph(histories, keep, options.optimizations,
                                                 graphs.updating.has_value(), false, slicing)};
      const int64_t floor = layrub::StateFloorBytes(sliced.train);
      if (floor > least - least / 10) continue;  // too little gained
      least = floor;
      graphs.sliced.push_back(std::move(sliced));
    }
  }
  for (const auto& net : solver_->test_nets()) {
    net->ShareTrainedLayersWith(&train_net());
    net->Reshape();
    const vector<string> keep = KeptIn(*net, options.keep);
    const auto graph = [&](bool feeds_parameters, const Slicing& slicing = {}) {
      return net->MemoryGraph(-1, keep, options.optimizations, false, feeds_parameters, slicing);
    };
    graphs.tests.push_back(graph(false));
    if (IsForGpu(options)) graphs.feeding_tests.push_back(graph(true));
    if (!slices) continue;
    graphs.sliced_tests.emplace_back();
    const vector<Slicing> slicings = net->Slicings(keep, rounds);
    if (slicings.empty()) continue;
    SlicedTest sliced{slicings.back(), graph(false, slicings.back())};
    if (IsForGpu(options)) sliced.feeding = graph(true, slicings.back());
    graphs.sliced_tests.back() = std::move(sliced);
  }
  if (std::any_of(graphs.feeding_tests.begin(), graphs.feeding_tests.end(), WritesParameters))
    graphs.feeding_tests.clear();
  if (const Status status = ApplyOptions(options, &graphs); !status.ok()) return status;
  return graphs;
}

template <typename Dtype>
Status SolverPlacement<Dtype>::PlaceNets(PlacementOptions options) {
  if (Status status = CheckSpillFile(options); !status.ok()) return status;  // before the search
  const int64_t budget = options.budget.device;
  options.may_slice = MaySlice(options) && budget != layrub::Budget().device;
  Result<SolverGraphs> graphs = Graphs(options);
  if (!graphs.ok()) return graphs.status();
  if (const int parts = options.slicing.parts; parts > 1) {
    std::erase_if(graphs.value().sliced,
                  [&](const SlicedGraph& sliced) { return sliced.slicing.parts != parts; });
  }
  if (layrub::UsesCosts(options.strategy) && budget != layrub::Budget().device) {
    LOG_IF(INFO, Caffe::root_solver()) << "Looking for plans of " << graphs.value().train.ops.size()
                                       << " operations within " << layrub::FormatBytes(budget);
  }
  const Result<SolverPlans> planned = PlanNets(graphs.value(), options);
  if (!planned.ok()) return planned.status();
  const SolverPlans& plans = planned.value();
  share_memory_ = plans.share_memory;
  const auto keep_plan = layrub::MakePlan(graphs.value().train, extra_.machine, {}, "keep");
  keep_bytes_ = keep_plan.ok() ? keep_plan.value().device_bytes : 0;
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
    options.transient_gradients = plan.transient_gradients;
    options.feeds_parameters = plan.feeds_parameters;
    options.slicing = plan.slicing;
    // The bytes that the other nets leave to this one, in case its shapes change.
    const int64_t own = plan.resident + (share_memory_ ? plans.largest_transient : plan.transient);
    options.budget.reserved = overhead + planned_device_bytes_ - own;
    options.shared_excess = share_memory_ ? plans.largest_transient - plan.transient : 0;
    options.keep = KeptIn(*net, keep);
    return net->Place(options, history);
  };
  if (Status status = place(&train_net(), plans.train, solver_->ParameterHistory()); !status.ok())
    return status;
  for (size_t i = 0; i < solver_->test_nets().size(); ++i) {
    const Status status =
        place(solver_->test_nets()[i].get(), plans.tests[i], typename Net<Dtype>::History());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

template <typename Dtype>
void SolverPlacement<Dtype>::EnsurePlaced() {
  if (placed_) return;
  const Status status = Place();
  CHECK(status.ok()) << status.message;
}

template <typename Dtype>
void SolverPlacement<Dtype>::Log() const {
  const PlannedNet<Dtype>* planned = train_net().planned();
  if (planned == nullptr) return;
  const Plan& plan = planned->plan();
  ostringstream yardsticks;
  if (keep_bytes_ > 0) yardsticks << "keep " << layrub::FormatBytes(keep_bytes_) << ", ";
  yardsticks << "floor " << layrub::FormatBytes(layrub::FloorBytes(planned->graph()));
  if (planned->offloads_state())
    yardsticks << ", state floor "
               << layrub::FormatBytes(layrub::StateFloorBytes(planned->graph()));
  LOG(INFO) << "Placement: " << plan.strategy << ", device "
            << layrub::FormatBytes(plan.device_bytes) << " (" << yardsticks.str() << "), host "
            << layrub::FormatBytes(plan.host_bytes)
            << (plan.spill_bytes > 0 ? ", file " + layrub::FormatBytes(plan.spill_bytes) : "");
  LOG_IF(INFO, train_net().updates_within_backward())
      << "Placement: updates each parameter within the backward pass and keeps no gradients "
         "(placement { keep_gradients: true } keeps them)";
  if (const int slices = planned->slices(); slices > 1) {
    LOG(INFO)
        << "Placement: layers whose memory for a whole batch does not fit run for a part of it "
           "at a time, in "
        << slices << " slices (placement { slices: false } forbids it)";
  }
  if (solver_->test_nets().empty()) return;
  const int64_t more = planned_device_bytes_ - plan.device_bytes;
  const PlannedNet<Dtype>& test = *solver_->test_nets()[0]->planned();
  LOG(INFO) << "Placement of test nets: " << test.plan().strategy << ", "
            << layrub::FormatBytes(more) << " more"
            << (share_memory_ ? ", otherwise in the memory of the training net" : "")
            << (test.slices() > 1 ? ", in " + std::to_string(test.slices()) + " slices" : "");
}

template <typename Dtype>
int64_t SolverPlacement<Dtype>::measured_device_bytes() const {
  int64_t apart = 0, resident = 0, transient = 0;
  const auto add = [&](const Net<Dtype>& net) {
    const PlannedNet<Dtype>* planned = net.planned();
    if (!planned) return;
    const int64_t touched = planned->executor().TouchedBytes();
    const int64_t own = layrub::HomeBytes(planned->graph(), planned->plan());
    apart += touched;
    resident += own;
    transient = std::max(transient, touched - own);
  };
  add(train_net());
  for (const auto& net : solver_->test_nets()) add(*net);
  return share_memory_ ? resident + transient : apart;
}

/// Records an iteration. Restarts if shapes, and so the plan, have changed.
template <typename Dtype>
void SolverPlacement<Dtype>::RecordIteration() {
  PlannedNet<Dtype>* planned = train_net().planned();
  if (planned == nullptr || planned->executor().timeline().spans.empty()) return;
  const bool same = recorded_graph_ == planned->graph() && recorded_plan_ == planned->plan();
  if (recorded_.empty() || !same) {
    recorded_.clear();
    recorded_graph_ = planned->graph();
    recorded_plan_ = planned->plan();
  }
  recorded_.push_back(planned->executor().timeline());
  if (recorded_.size() == kWarmUp + kMeasured) PlanAgain();
}

template <typename Dtype>
void SolverPlacement<Dtype>::PlanAgain() {
  measuring_ = false;
  measured_ = true;
  recorded_.erase(recorded_.begin(), recorded_.begin() + kWarmUp);
  layrub::Machine& machine = extra_.machine;
  const layrub::Machine unmeasured = machine;
  layrub::MeasureCopies(train_net().planned()->executor().backend(), kCopied, &machine);
  layrub::LearnOperations(recorded_graph_, recorded_plan_, recorded_, &machine);
  layrub::LearnInterference(recorded_graph_, recorded_plan_, recorded_, &machine);

  layrub::Result<PlacementOptions> options = Wanted();
  CHECK(options.ok()) << options.status().message;
  // What was measured are the operations of these slices.
  options.value().slicing.parts = train_net().planned()->slices();
  layrub::Status status = PlaceNets(options.value());
  if (!status.ok()) {
    // Plans differ with other costs. With a tight budget, only those for the first costs may fit.
    options.value().machine = unmeasured;
    status = PlaceNets(options.value());
  }
  // Libraries may have taken more memory than was reserved for them.
  LOG_IF(WARNING, !status.ok()) << "Placement: stays as it is: " << status.message;
  const layrub::Plan& plan = train_net().planned()->plan();
  LOG_IF(INFO, Caffe::root_solver())
      << "Placement: measured " << MedianMilliseconds(recorded_)
      << " ms an iteration, planned again: " << plan.strategy << ", device "
      << layrub::FormatBytes(plan.device_bytes) << ", "
      << (plan == recorded_plan_ ? "the same plan" : "another plan") << ", predicted "
      << 1000 * layrub::Simulate(train_net().planned()->graph(), plan, machine).seconds << " ms";
  recorded_ = {};
  recorded_graph_ = {};
  recorded_plan_ = {};
}

template class SolverPlacement<float>;
template class SolverPlacement<double>;

}  // namespace caffe
