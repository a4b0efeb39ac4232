#include "caffe/planned_net.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "planned_captures.hpp"
#include "planned_exit.hpp"
#include "planned_runner.hpp"

namespace caffe {

using layrub::kNone;

template <typename Dtype>
PlannedNet<Dtype>::PlannedNet(Net<Dtype>* net, FlatNet<Dtype> flat, NetGraph graph,
                              layrub::Plan plan, const PlacementOptions& options,
                              const typename Net<Dtype>::History& history)
    : net_(net),
      graph_(new PlannedGraph<Dtype>(*net, std::move(flat), std::move(graph), plan)),
      values_(new PlannedValues<Dtype>(net, *graph_, plan, options, history, this)),
      runner_(new PlannedRunner<Dtype>(net, *graph_, values_.get(), options)) {}

template <typename Dtype>
PlannedNet<Dtype>::~PlannedNet() {
  ReleaseAtEnd();
}

template <typename Dtype>
const layrub::Graph& PlannedNet<Dtype>::graph() const {
  return graph_->net.graph;
}

template <typename Dtype>
const layrub::Plan& PlannedNet<Dtype>::plan() const {
  return values_->plan();
}

template <typename Dtype>
layrub::Executor& PlannedNet<Dtype>::executor() {
  return values_->executor();
}

template <typename Dtype>
const layrub::Executor& PlannedNet<Dtype>::executor() const {
  return values_->executor();
}

template <typename Dtype>
bool PlannedNet<Dtype>::Holds(const SyncedMemory& memory) const {
  return values_->Holds(memory);
}

template <typename Dtype>
int PlannedNet<Dtype>::values_in_blocks() const {
  return values_->values_in_blocks();
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::fed_ahead() const {
  return runner_->feeds().taken();
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::repeated_operations() const {
  return runner_->captures().repeated();
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::newest() const {
  return runner_->captures().newest();
}

template <typename Dtype>
Resolver::Place PlannedNet<Dtype>::Resolve(int tensor, bool write) {
  return values_->Resolve(tensor, write);
}

template <typename Dtype>
void PlannedNet<Dtype>::Copied(int tensor, bool on_device) {
  values_->Copied(tensor, on_device);
}

template <typename Dtype>
bool PlannedNet<Dtype>::offloads_state() const {
  const std::vector<layrub::Home>& homes = plan().homes;
  return std::any_of(homes.begin(), homes.end(),
                     [](const layrub::Home& home) { return home.tier != layrub::Tier::kDevice; });
}

template <typename Dtype>
int PlannedNet<Dtype>::slices() const {
  return graph_->flat.slices;
}

template <typename Dtype>
bool PlannedNet<Dtype>::IsUpToDate() const {
  CHECK(dead_.empty()) << dead_;
  const auto& layers = graph_->flat.layers;
  if (!Unwatched(*net_) && std::any_of(layers.begin(), layers.end(),
                                       [](const auto& layer) { return layer.own != nullptr; }))
    return false;
  for (size_t i = 0; i < graph_->net.versions.size(); ++i) {
    const NetGraph::Version& version = graph_->net.versions[i];
    if (graph_->net.graph.tensors[version.data].role != layrub::Role::kUser) continue;
    if (graph_->flat.blobs[version.blob].blob->shape() != values_->shape(static_cast<int>(i)))
      return false;
  }
  return true;
}

template <typename Dtype>
void PlannedNet<Dtype>::CheckAtRest() const {
  CHECK(!values_->executor().running())
      << "Net " << net_->name_
      << ": its callbacks and layers can neither run nor place the net itself while it runs under "
         "a memory plan: do that when the pass is over.";
}

template <typename Dtype>
int PlannedNet<Dtype>::Forward(PendingReads* reads, Dtype* loss) {
  CheckAtRest();
  CheckNoBackwardDue();
  updated_ = false;
  Net<Dtype>* const net = net_;
  try {
    runner_->Forward(reads, loss);
  } catch (const typename PlannedRunner<Dtype>::ShapeChange& change) {
    // Continues with public blobs after the layer whose tops have other shapes than planned.
    const int owner = graph_->flat.layers[change.layer].owner;
    LeaveInPass(change.layer, change.layer + 1);
    for (size_t i = 0; i < change.shapes.size(); ++i) {
      Blob<Dtype>* blob = net->top_vecs_[owner][i];
      blob->Reshape(change.shapes[i]);
      std::copy(change.tops[i].begin(), change.tops[i].end(), blob->mutable_cpu_data());
    }
    if (net->debug_info_) net->ForwardDebugInfo(owner);
    for (auto* callback : net->after_forward_) callback->run(owner);
    return owner + 1;
  } catch (...) {
    LeaveAfterError();
    throw;
  }
  return static_cast<int>(net->layers_.size());
}

template <typename Dtype>
void PlannedNet<Dtype>::Backward() {
  CheckAtRest();
  CHECK(dead_.empty()) << dead_;
  CHECK(net_->phase_ == TRAIN)
      << "Net " << net_->name_
      << ": the memory plan of a net in the TEST phase has no backward. Run the forward in parts "
         "before, which leaves the plan: ForwardFromTo (Python: net.forward(start=FIRST, "
         "end=LAST)); or make the net in the TRAIN phase.";
  CHECK(values_->executor().ready_for_backward())
      << "Net " << net_->name_
      << ": Backward() under a memory plan needs a Forward() just before it: the first Backward() "
         "after that, and a net that shares its memory, have given the values up.";
  CheckNoBackwardDue();
  if (UpdatesWithinBackward()) {
    backward_due_ = true;
    return;
  }
  try {
    runner_->Backward(nullptr);
  } catch (...) {
    LeaveAfterError();
    throw;
  }
}

template <typename Dtype>
bool PlannedNet<Dtype>::UpdatesWithinBackward() const {
  return !graph_->net.transient_gradients.empty();
}

template <typename Dtype>
void PlannedNet<Dtype>::CheckNoBackwardDue() const {
  CHECK(!backward_due_)
      << "Net " << net_->name_
      << ": its memory plan updates each parameter within the backward pass, so each Backward() "
         "needs an ApplyUpdate() of its solver before the next pass. To add up the gradients of "
         "several passes, set placement { keep_gradients: true } in the solver prototxt.";
}

template <typename Dtype>
void PlannedNet<Dtype>::Update(const std::function<void(int)>& update) {
  CheckAtRest();
  CHECK(dead_.empty()) << dead_;
  CHECK(backward_due_ || !UpdatesWithinBackward())
      << "Net " << net_->name_
      << ": its memory plan updates each parameter within the backward pass, so an update needs a "
         "Backward() before it. To update without one, set placement { keep_gradients: true } in "
         "the solver prototxt.";
  try {
    updated_ = true;
    if (std::exchange(backward_due_, false)) runner_->Backward(&update);
    runner_->Update(update);
  } catch (...) {
    LeaveAfterError();
    throw;
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::LeaveInPass(int complete, int ran) {
  Net<Dtype>* const net = net_;
  std::vector<int> again;
  try {
    again = LayersToRecompute(*net, *graph_, *values_, complete);
    HandOver(*graph_, *values_, ran);
    net->LeavePlan();
  } catch (...) {
    LeaveAfterError();
    throw;
  }
  RecomputeLayers(*net, again);
}

template <typename Dtype>
void PlannedNet<Dtype>::LeaveForBackward() {
  CheckAtRest();
  CheckNoBackwardDue();
  CHECK(dead_.empty()) << dead_;
  CHECK(graph_->keeps_all && net_->phase_ == TRAIN)
      << "Net " << net_->name_
      << ": a partial backward can follow a forward that ran under a memory plan only where the "
         "plan keeps every blob (--placement=keep); run the forward with ForwardFromTo (Python: "
         "net.forward(start=FIRST, end=LAST)), or the whole Backward().";
  CHECK(!updated_)
      << "Net " << net_->name_
      << ": a backward under a memory plan needs a forward just before it: the parameters have "
         "changed since the last one.";
  const int layers = static_cast<int>(graph_->flat.layers.size());
  const Net<Dtype>& net = *net_;
  LeaveInPass(layers, layers);
  ShareWithInnerNets(net);
}

template <typename Dtype>
bool PlannedNet<Dtype>::UserHasWrittenDerivatives() const {
  if (!graph_->keeps_all || !values_->executor().ready_for_backward()) return false;
  const NetGraph& graph = graph_->net;
  return std::any_of(graph.versions.begin(), graph.versions.end(), [&](const auto& version) {
    if (version.diff == kNone || graph.outside.count(version.diff)) return false;
    const SyncedMemory& diff = *graph_->flat.blobs[version.blob].blob->diff();
    return !diff.binding() && diff.head() != SyncedMemory::UNINITIALIZED;
  });
}

template <typename Dtype>
void PlannedNet<Dtype>::LeaveAfterError() noexcept {
  runner_->Abandon();
  try {
    net_->LeavePlan(true);
  } catch (const std::exception& error) {
    dead_ =
        "Net " + net_->name_ + " is dead: an error has ended a pass under its memory plan, and " +
        "the values of its parameters were lost with it (" + error.what() + "): make a new net.";
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::Release(LeftValues wanted) {
  CHECK(dead_.empty()) << dead_;
  values_->Release(wanted);
}

template <typename Dtype>
void PlannedNet<Dtype>::ReleaseAtEnd() noexcept {
  if (dead_.empty()) {
    values_->ReleaseAtEnd();
  } else {
    values_->Release(LeftValues::kNone);
  }
}

template class PlannedNet<float>;
template class PlannedNet<double>;

}  // namespace caffe
