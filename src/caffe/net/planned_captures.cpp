#include "planned_captures.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "caffe/parameter_callback.hpp"
#include "caffe/util/deferred_work.hpp"
#include "flat_net.hpp"
#include "layrub/device/arena.hpp"

namespace caffe {

using layrub::OpKind;
using layrub::Step;
using layrub::StepKind;
using layrub::TensorId;

namespace {

/// Queueing a graph costs the host about as much as queueing a few kernels.
constexpr size_t kMinOperations = 3;
/// Captures of one run: the first pass of an iteration finds the gradients cleared, later passes do
/// not.
constexpr size_t kMaxCaptures = 4;

/// Returns the number of the calling thread.
int64_t ThisThread() {
  static thread_local const int64_t number = NextNumber();
  return number;
}

}  // namespace

int64_t NextNumber() {
  static std::atomic<int64_t> numbers = 0;
  return ++numbers;
}

template <typename Dtype>
PlannedCaptures<Dtype>::PlannedCaptures(const Net<Dtype>& net, const PlannedGraph<Dtype>& graph,
                                        PlannedValues<Dtype>* values,
                                        const PlacementOptions& options)
    : net_(net),
      graph_(graph),
      values_(values),
      shared_(options.executor.transient),
      device_(values->backend().device()) {
  if (device_ != nullptr && !(options.optimizations.cuda_graphs && device_->LaunchesKernels()))
    device_ = nullptr;
  if (device_ == nullptr) return;
  for (const Step& step : values->plan().steps) capturable_.push_back(IsCapturable(step));
  FindCallbackLayers();
}

/// A backward is also called with the callbacks of the layers without a backward, from the previous
/// backward on.
template <typename Dtype>
void PlannedCaptures<Dtype>::FindCallbackLayers() {
  int at = static_cast<int>(net_.layers().size());
  for (const Step& step : values_->plan().steps) {
    Called& called = called_.emplace_back();
    if (!IsRun(graph_.net.graph, step, OpKind::kCompute)) continue;
    const layrub::Op& op = graph_.net.graph.ops[step.op];
    if (op.kind == OpKind::kUpdate) continue;
    const auto& layer = graph_.flat.layers[graph_.net.op_owner[step.op]];
    called = {layer.owner, layer.last_owner + 1, op.pass == layrub::Pass::kBackward};
    if (!called.backward) continue;
    called.end = std::max(called.end, at);
    at = layer.owner;
  }
}

template <typename Dtype>
bool PlannedCaptures<Dtype>::IsWatched(const Called& called) const {
  if (!Unwatched(net_)) return true;
  const auto acts = [&](const typename Net<Dtype>::Callback* callback) {
    const auto& parameter = static_cast<const ParameterCallback<Dtype>&>(*callback);
    for (int layer = called.begin; layer < called.end; ++layer) {
      if (parameter.Acts(layer)) return true;
    }
    return false;
  };
  const auto& before = called.backward ? net_.before_backward() : net_.before_forward();
  const auto& after = called.backward ? net_.after_backward() : net_.after_forward();
  return std::any_of(before.begin(), before.end(), acts) ||
         std::any_of(after.begin(), after.end(), acts);
}

template <typename Dtype>
std::vector<typename Net<Dtype>::Callback*> PlannedCaptures<Dtype>::Callbacks() const {
  std::vector<typename Net<Dtype>::Callback*> all;
  for (const auto* callbacks : {&net_.before_forward(), &net_.after_forward(),
                                &net_.before_backward(), &net_.after_backward()})
    all.insert(all.end(), callbacks->begin(), callbacks->end());
  return all;
}

template <typename Dtype>
bool PlannedCaptures<Dtype>::IsCapturable(const Step& step) const {
  if (step.kind != StepKind::kRun) return false;
  const layrub::Op& op = graph_.net.graph.ops[step.op];
  if (op.kind != OpKind::kCompute) return false;
  const int owner = graph_.net.op_owner[step.op];
  if (!graph_.net.layers[owner].capturable) return false;
  const Layer<Dtype>& layer = *graph_.flat.layers[owner].layer;
  for (size_t i = 0; i < graph_.net.layers[owner].top.size(); ++i) {
    if (layer.loss(static_cast<int>(i)) != Dtype(0)) return false;  // the host reads it
  }
  const layrub::Variant& variant = op.variants[step.variant];
  const auto outside = [&](TensorId tensor) { return graph_.net.outside.count(tensor) > 0; };
  return std::none_of(variant.reads.begin(), variant.reads.end(), outside) &&
         std::none_of(variant.writes.begin(), variant.writes.end(), outside);
}

template <typename Dtype>
bool PlannedCaptures<Dtype>::Begin(const Step& step) {
  const auto at = static_cast<size_t>(values_->executor().current_step());
  if (device_ == nullptr || !capturable_[at] || IsWatched(called_[at])) {
    End();
    return false;
  }
  if (doing_ == Doing::kNothing) BeginRun();
  ++done_;
  if (doing_ == Doing::kLookingAround) {
    const layrub::Variant& variant = graph_.net.graph.ops[step.op].variants[step.variant];
    const auto& all = graph_.net.param_diff;
    auto& gradients = run_->gradients;
    for (const TensorId tensor : variant.writes) {
      if (std::count(all.begin(), all.end(), tensor) == 0 ||
          std::count(gradients.begin(), gradients.end(), tensor) > 0)
        continue;
      gradients.push_back(tensor);
      capture_->before.zero.push_back(values_->binding(tensor).zero);
    }
  }
  return doing_ == Doing::kRepeating;
}

template <typename Dtype>
void PlannedCaptures<Dtype>::BeginRun() {
  // Both may queue work that must not be captured.
  values_->DropCopies();
  DeferredWork::FinishCurrent();
  done_ = 0;
  auto callbacks = Callbacks();
  if (callbacks != callbacks_) runs_.clear();  // runs end where callbacks act
  callbacks_ = std::move(callbacks);
  const auto [run, is_new] = runs_.try_emplace(values_->executor().current_step());
  run_ = &run->second;
  doing_ = is_new ? Doing::kLookingAround : Doing::kBodies;
  if (is_new) newest_ = NextNumber();
  if (!is_new && run_->operations < kMinOperations) return;
  State before{shared_ ? shared_->arena().at(0) : nullptr, ZeroGradients()};
  auto& captures = run_->captures;
  const auto found = std::find_if(captures.begin(), captures.end(),
                                  [&](const Capture& one) { return one.before == before; });
  if (found == captures.end()) {
    if (captures.size() == kMaxCaptures) return;
    newest_ = NextNumber();
    capture_ = &captures.emplace_back(Capture{std::move(before), ThisThread()});
    return;
  }
  capture_ = &*found;
  if (capture_->work) {
    doing_ = Doing::kRepeating;
  } else if (std::exchange(capture_->thread, ThisThread()) == ThisThread() &&
             device_->BeginCapture()) {
    doing_ = Doing::kCapturing;
    newest_ = NextNumber();
  }
}

template <typename Dtype>
void PlannedCaptures<Dtype>::End() {
  const Doing did = std::exchange(doing_, Doing::kNothing);
  if (did == Doing::kLookingAround) {
    run_->operations = done_;
  } else if (did == Doing::kCapturing) {
    std::unique_ptr<layrub::CapturedWork> work = device_->EndCapture();
    CHECK(work) << "Net " << net_.name() << ": " << done_
                << " operations of its plan could not be captured as a CUDA graph. "
                << "Give --debug=no_cuda_graphs to run without graphs.";
    work->Queue();
    capture_->zero_after = ZeroGradients();
    capture_->work = std::move(work);
  } else if (did == Doing::kRepeating) {
    CHECK_EQ(done_, run_->operations)
        << "Net " << net_.name() << ": a pass ended within operations that are replayed.";
    capture_->work->Queue();
    for (size_t i = 0; i < run_->gradients.size(); ++i)
      values_->binding(run_->gradients[i]).zero = capture_->zero_after[i];
    repeated_ += static_cast<int64_t>(done_);
  }
}

template <typename Dtype>
void PlannedCaptures<Dtype>::Abandon() noexcept {
  if (std::exchange(doing_, Doing::kNothing) != Doing::kCapturing) return;
  try {
    device_->EndCapture();
  } catch (const std::exception&) {
    // The error has been reported already.
  }
}

template <typename Dtype>
std::vector<bool> PlannedCaptures<Dtype>::ZeroGradients() const {
  std::vector<bool> zero;
  for (const TensorId tensor : run_->gradients) zero.push_back(values_->binding(tensor).zero);
  return zero;
}

template class PlannedCaptures<float>;
template class PlannedCaptures<double>;

}  // namespace caffe
