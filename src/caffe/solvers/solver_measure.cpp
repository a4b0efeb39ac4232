// Solver: planning again from what the first iterations were measured to take.
#include <algorithm>

#include "caffe/planned_net.hpp"
#include "caffe/solver.hpp"
#include "layrub/base/bytes.hpp"
#include "layrub/placement/cost/profile.hpp"
#include "layrub/runtime/measure.hpp"

namespace caffe {

using layrub::Timeline;

namespace {

constexpr size_t kWarmUp = 2;    ///< iterations that touch their memory for the first time
constexpr size_t kMeasured = 3;  ///< iterations
constexpr int64_t kCopied = int64_t{4} << 20;  ///< bytes of each of the four buffers copied

double MedianMilliseconds(const std::vector<Timeline>& iterations) {
  std::vector<double> seconds;
  for (const Timeline& timeline : iterations) seconds.push_back(timeline.seconds);
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  return 1000 * seconds[seconds.size() / 2];
}

}  // namespace

/// An iteration has ended. Those of other shapes, and so under another plan, do not count.
template <typename Dtype>
void Solver<Dtype>::RecordIteration() {
  PlannedNet<Dtype>* planned = net_->planned();
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
void Solver<Dtype>::PlanAgain() {
  measuring_ = false;
  measured_ = true;
  recorded_.erase(recorded_.begin(), recorded_.begin() + kWarmUp);
  layrub::Machine& machine = placement_extra_.machine;
  const layrub::Machine unmeasured = machine;
  layrub::MeasureCopies(net_->planned()->executor().backend(), kCopied, &machine);
  layrub::LearnOperations(recorded_graph_, recorded_plan_, recorded_, &machine);
  layrub::LearnInterference(recorded_graph_, recorded_plan_, recorded_, &machine);

  layrub::Result<PlacementOptions> options = WantedPlacement();
  CHECK(options.ok()) << options.status().message;
  layrub::Status status = PlaceNets(options.value());
  if (!status.ok()) {
    // Other costs, other plans: at a budget so tight, what was found for the first ones it is.
    options.value().machine = unmeasured;
    status = PlaceNets(options.value());
  }
  // Libraries may have taken more than was left to them.
  LOG_IF(WARNING, !status.ok()) << "Placement: stays as it is: " << status.message;
  const layrub::Plan& plan = net_->planned()->plan();
  LOG_IF(INFO, Caffe::root_solver())
      << "Placement: measured " << MedianMilliseconds(recorded_)
      << " ms an iteration, planned again: " << plan.strategy << ", device "
      << layrub::FormatBytes(plan.device_bytes) << ", "
      << (plan == recorded_plan_ ? "the same plan" : "another plan") << ", predicted "
      << 1000 * layrub::Simulate(recorded_graph_, plan, machine).seconds << " ms";
  recorded_ = {};
  recorded_graph_ = {};
  recorded_plan_ = {};
}

#define INSTANTIATE_MEASURE(Dtype)                \
  template void Solver<Dtype>::RecordIteration(); \
  template void Solver<Dtype>::PlanAgain()
INSTANTIATE_MEASURE(float);
INSTANTIATE_MEASURE(double);

}  // namespace caffe
