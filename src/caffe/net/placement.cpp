#include "caffe/placement.hpp"

#include <algorithm>

#include "caffe/placement_check.hpp"
#include "caffe/planned_net.hpp"
#include "dropped_value.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/device/device.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "net_graph.hpp"

namespace caffe {

using layrub::Result;
using layrub::Status;

namespace {

Status ParseBytes(const char* field, const string& text, int64_t* bytes) {
  const Result<int64_t> parsed = layrub::ParseBytes(text);
  if (!parsed.ok()) return Status::Invalid(string(field) + ": " + parsed.status().message);
  *bytes = parsed.value();
  return Status::Ok();
}

}  // namespace

std::shared_ptr<layrub::Backend> MakeBackend(const string& spill_file) {
  if (Caffe::mode() == Caffe::GPU) return Caffe::device().MakeBackend(spill_file);
  return layrub::MakeCpuBackend(spill_file);
}

namespace {

Result<PlacementOptions> ReadPlacement(const PlacementParameter& parameter) {
  PlacementOptions options;
  Status status = Status::Ok();
  if (parameter.has_strategy()) {
    status = layrub::CheckStrategy(parameter.strategy());
    options.strategy = parameter.strategy();
  }
  if (status.ok() && parameter.has_device_memory())
    status = ParseBytes("device_memory", parameter.device_memory(), &options.budget.device);
  if (status.ok() && parameter.has_host_memory())
    status = ParseBytes("host_memory", parameter.host_memory(), &options.budget.host);
  const bool spills = parameter.has_spill_file() || parameter.has_spill_memory();
  if (spills) options.budget.spill = layrub::Budget().device;
  if (status.ok() && parameter.has_spill_memory())
    status = ParseBytes("spill_memory", parameter.spill_memory(), &options.budget.spill);
  if (!status.ok()) return status;
  if (spills && !parameter.has_host_memory()) options.budget.host = 0;
  options.budget.offload_state = parameter.offload_state();
  options.keep_gradients = parameter.keep_gradients();
  options.may_slice = !parameter.has_slices() || parameter.slices();
  options.slicing.rounds = parameter.slices();
  return options;
}

}  // namespace

Status CheckPlacement(const PlacementParameter& parameter) {
  return ReadPlacement(parameter).status();
}

Result<PlacementOptions> ToOptions(const PlacementParameter& parameter) {
  Result<PlacementOptions> read = ReadPlacement(parameter);
  if (!read.ok()) return read;
  PlacementOptions& options = read.value();
  if (parameter.has_device_memory()) {
    if (Caffe::mode() == Caffe::GPU) {
      layrub::Device& device = Caffe::device();
      const layrub::DeviceUsage usage = device.Usage();
      options.budget.device =
          std::min(options.budget.device, device.total_bytes() - usage.others_bytes);
      options.budget.reserved = usage.overhead_bytes();
    }
  } else if (Caffe::mode() == Caffe::GPU) {
    layrub::Device& device = Caffe::device();
    const layrub::DeviceUsage usage = device.Usage();
    const int64_t to_come = usage.overhead_bytes() - usage.context_bytes - usage.library_bytes;
    options.budget.device = std::max<int64_t>(device.free_bytes() - to_come, 0);
  }
  options.deterministic = parameter.deterministic();
  options.spill_file = parameter.spill_file();
  options.keep.assign(parameter.keep().begin(), parameter.keep().end());
  return read;
}

bool IsForGpu(const PlacementOptions& options) {
  return Caffe::mode() == Caffe::GPU || options.machine.capacity > 0;
}

Status CheckSpillFile(const PlacementOptions& options) {
  if (options.budget.spill == 0 || !options.spill_file.empty()) return Status::Ok();
  return Status::Invalid(
      "placement: spill_memory bounds a file that is not named: name a folder for it with "
      "spill_file or --spill_file");
}

Status ApplyOptions(const PlacementOptions& options, layrub::Graph* graph) {
  // On a CPU a batch is in device memory already, so a separate lane would only make its copy
  // slower.
  if (!IsForGpu(options)) {
    for (layrub::Op& op : graph->ops) {
      if (op.kind == layrub::OpKind::kFeed) op.kind = layrub::OpKind::kCompute;
    }
  }
  if (options.algorithm >= 0) layrub::KeepAlgorithm(options.algorithm, graph);
  if (!options.deterministic) return Status::Ok();
  return layrub::KeepDeterministic(graph);
}

template <typename Dtype>
layrub::Graph Net<Dtype>::MemoryGraph(int histories, const vector<string>& keep,
                                      const Optimizations& optimizations, bool transient_gradients,
                                      bool feeds_parameters, const Slicing& slicing) const {
  NetGraphBuilder<Dtype> builder(*this, keep, optimizations, feeds_parameters, slicing);
  return builder.Build(histories, transient_gradients).graph;
}

template <typename Dtype>
Status Net<Dtype>::Place(const PlacementOptions& options, const History& history) {
  for (const string& blob : options.keep) {
    if (!has_blob(blob))
      return Status::Invalid("placement: keep names blob '" + blob + "', which net '" + name_ +
                             "' lacks.");
  }
  CHECK(history.empty() || history.size() == learnable_params_.size())
      << "one history entry for each parameter";
  const int histories = history.empty() ? -1 : static_cast<int>(history[0].size());
  if (Status status = CheckSpillFile(options); !status.ok()) return status;
  Reshape();  // the user may have reshaped inputs
  NetGraphBuilder<Dtype> builder(*this, options.keep, options.optimizations,
                                 options.feeds_parameters, options.slicing);
  NetGraph graph = builder.Build(histories, options.transient_gradients);
  if (Status status = ApplyOptions(options, &graph.graph); !status.ok()) return status;
  Result<layrub::Plan> plan = options.plan
                                  ? Result<layrub::Plan>(*options.plan)
                                  : layrub::MakePlan(graph.graph, options.machine, options.budget,
                                                     options.strategy, options.padding);
  // If no tensor is larger than before, the earlier plan still fits.
  if (plan.status().code == layrub::Code::kDoesNotFit && placement_.plan &&
      layrub::Check(graph.graph, *placement_.plan, options.budget).empty())
    plan = *placement_.plan;
  if (!plan.ok()) return plan.status();
  for (const string& objection : layrub::Check(graph.graph, plan.value(), options.budget)) {
    LOG(FATAL) << "The memory plan of net " << name_ << " (strategy " << plan.value().strategy
               << ") is wrong, please report: " << objection;
  }
  LeavePlan();
  placement_wanted_ = true;
  std::shared_ptr<const layrub::Plan> largest = placement_.plan;
  if (!largest || plan.value().device_bytes >= largest->device_bytes)
    largest = std::make_shared<const layrub::Plan>(plan.value());
  placement_ = options;
  placement_.plan = largest;
  history_ = history;
  planned_.reset(new PlannedNet<Dtype>(this, builder.TakeFlat(), std::move(graph),
                                       std::move(plan.value()), options, history));
  return Status::Ok();
}

template <typename Dtype>
void Net<Dtype>::LeavePlan(bool whole_pass) {
  if (planned_) {
    planned_->CheckAtRest();
    planned_->CheckNoBackwardDue();
    planned_->Release(whole_pass ? LeftValues::kPersistent : LeftValues::kAll);
  }
  planned_.reset();
}

template <typename Dtype>
void Net<Dtype>::Drop(const shared_ptr<SyncedMemory>& memory, const string& message) {
  std::unique_ptr<Resolver>& dropped = dropped_[memory.get()];
  dropped.reset();
  dropped.reset(new DroppedValue(memory, message));
}

template <typename Dtype>
bool Net<Dtype>::HasDropped(const SyncedMemory& memory) const {
  const auto dropped = dropped_.find(&memory);
  return dropped != dropped_.end() && memory.binding() &&
         memory.binding()->resolver == dropped->second.get();
}

#define INSTANTIATE_PLACEMENT(Dtype)                                                               \
  template layrub::Graph Net<Dtype>::MemoryGraph(int, const vector<string>&, const Optimizations&, \
                                                 bool, bool, const Slicing&) const;                \
  template Status Net<Dtype>::Place(const PlacementOptions&, const History&);                      \
  template void Net<Dtype>::LeavePlan(bool);                                                       \
  template bool Net<Dtype>::HasDropped(const SyncedMemory&) const;                                 \
  template void Net<Dtype>::Drop(const shared_ptr<SyncedMemory>&, const string&)
INSTANTIATE_PLACEMENT(float);
INSTANTIATE_PLACEMENT(double);

}  // namespace caffe
