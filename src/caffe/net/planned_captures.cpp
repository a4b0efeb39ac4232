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
PlannedNet<Dtype>::Captures::Captures(PlannedNet* net, const PlacementOptions& options)
    : net_(net), shared_(options.executor.transient), device_(net->backend_->device()) {
  if (device_ != nullptr && !(options.optimizations.cuda_graphs && device_->LaunchesKernels()))
    device_ = nullptr;
  if (device_ == nullptr) return;
  for (const Step& step : net->plan().steps) capturable_.push_back(IsCapturable(step));
  FindCallbackLayers();
}

/// A backward is also called with the callbacks of the layers without a backward, from the previous
/// backward on.
template <typename Dtype>
void PlannedNet<Dtype>::Captures::FindCallbackLayers() {
  const Memory& memory = *net_->memory_;
  int at = static_cast<int>(net_->net().layers().size());
  for (const Step& step : net_->plan().steps) {
    Called& called = called_.emplace_back();
    if (!IsRun(memory.net.graph, step, OpKind::kCompute)) continue;
    const layrub::Op& op = memory.net.graph.ops[step.op];
    if (op.kind == OpKind::kUpdate) continue;
    const auto& layer = memory.flat.layers[memory.net.op_owner[step.op]];
    called = {layer.owner, layer.last_owner + 1, op.pass == layrub::Pass::kBackward};
    if (!called.backward) continue;
    called.end = std::max(called.end, at);
    at = layer.owner;
  }
}

template <typename Dtype>
bool PlannedNet<Dtype>::Captures::IsWatched(const Called& called) const {
  const Net<Dtype>& net = net_->net();
  if (!Unwatched(net)) return true;
  const auto acts = [&](const typename Net<Dtype>::Callback* callback) {
    const auto& parameter = static_cast<const ParameterCallback<Dtype>&>(*callback);
    for (int layer = called.begin; layer < called.end; ++layer) {
      if (parameter.Acts(layer)) return true;
    }
    return false;
  };
  const auto& before = called.backward ? net.before_backward() : net.before_forward();
  const auto& after = called.backward ? net.after_backward() : net.after_forward();
  return std::any_of(before.begin(), before.end(), acts) ||
         std::any_of(after.begin(), after.end(), acts);
}

template <typename Dtype>
std::vector<typename Net<Dtype>::Callback*> PlannedNet<Dtype>::Captures::Callbacks() const {
  const Net<Dtype>& net = net_->net();
  std::vector<typename Net<Dtype>::Callback*> all;
  for (const auto* callbacks :
       {&net.before_forward(), &net.after_forward(), &net.before_backward(), &net.after_backward()})
    all.insert(all.end(), callbacks->begin(), callbacks->end());
  return all;
}

template <typename Dtype>
bool PlannedNet<Dtype>::Captures::IsCapturable(const Step& step) const {
  if (step.kind != StepKind::kRun) return false;
  const Memory& memory = *net_->memory_;
  const layrub::Op& op = memory.net.graph.ops[step.op];
  if (op.kind != OpKind::kCompute) return false;
  const int owner = memory.net.op_owner[step.op];
  if (!memory.net.layers[owner].capturable) return false;
  const Layer<Dtype>& layer = *memory.flat.layers[owner].layer;
  for (size_t i = 0; i < memory.net.layers[owner].top.size(); ++i) {
    if (layer.loss(static_cast<int>(i)) != Dtype(0)) return false;  // the host reads it
  }
  const layrub::Variant& variant = op.variants[step.variant];
  const auto outside = [&](TensorId tensor) { return memory.net.outside.count(tensor) > 0; };
  return std::none_of(variant.reads.begin(), variant.reads.end(), outside) &&
         std::none_of(variant.writes.begin(), variant.writes.end(), outside);
}

template <typename Dtype>
bool PlannedNet<Dtype>::Captures::Begin(const Step& step) {
  const auto at = static_cast<size_t>(net_->executor_->current_step());
  if (device_ == nullptr || !capturable_[at] || IsWatched(called_[at])) {
    End();
    return false;
  }
  if (doing_ == Doing::kNothing) BeginRun();
  ++done_;
  if (doing_ == Doing::kLookingAround) {
    const layrub::Variant& variant = net_->memory_->net.graph.ops[step.op].variants[step.variant];
    const auto& all = net_->memory_->net.param_diff;
    auto& gradients = run_->gradients;
    for (const TensorId tensor : variant.writes) {
      if (std::count(all.begin(), all.end(), tensor) == 0 ||
          std::count(gradients.begin(), gradients.end(), tensor) > 0)
        continue;
      gradients.push_back(tensor);
      capture_->before.zero.push_back(net_->memory_->bindings[tensor].zero);
    }
  }
  return doing_ == Doing::kRepeating;
}

template <typename Dtype>
void PlannedNet<Dtype>::Captures::BeginRun() {
  // Both may queue work that must not be captured.
  net_->DropCopies();
  DeferredWork::FinishCurrent();
  done_ = 0;
  auto callbacks = Callbacks();
  if (callbacks != callbacks_) runs_.clear();  // runs end where callbacks act
  callbacks_ = std::move(callbacks);
  const auto [run, is_new] = runs_.try_emplace(net_->executor_->current_step());
  run_ = &run->second;
  doing_ = is_new ? Doing::kLookingAround : Doing::kBodies;
  if (is_new) net_->newest_ = NextNumber();
  if (!is_new && run_->operations < kMinOperations) return;
  State before{shared_ ? shared_->arena().at(0) : nullptr, ZeroGradients()};
  auto& captures = run_->captures;
  const auto found = std::find_if(captures.begin(), captures.end(),
                                  [&](const Capture& one) { return one.before == before; });
  if (found == captures.end()) {
    if (captures.size() == kMaxCaptures) return;
    net_->newest_ = NextNumber();
    capture_ = &captures.emplace_back(Capture{std::move(before), ThisThread()});
    return;
  }
  capture_ = &*found;
  if (capture_->work) {
    doing_ = Doing::kRepeating;
  } else if (std::exchange(capture_->thread, ThisThread()) == ThisThread() &&
             device_->BeginCapture()) {
    doing_ = Doing::kCapturing;
    net_->newest_ = NextNumber();
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::Captures::End() {
  const Doing did = std::exchange(doing_, Doing::kNothing);
  if (did == Doing::kLookingAround) {
    run_->operations = done_;
  } else if (did == Doing::kCapturing) {
    std::unique_ptr<layrub::CapturedWork> work = device_->EndCapture();
    CHECK(work) << "Net " << net_->net().name() << ": " << done_
                << " operations of its plan could not be captured as a CUDA graph. "
                << "Give --debug=no_cuda_graphs to run without graphs.";
    work->Queue();
    capture_->zero_after = ZeroGradients();
    capture_->work = std::move(work);
  } else if (did == Doing::kRepeating) {
    CHECK_EQ(done_, run_->operations)
        << "Net " << net_->net().name() << ": a pass ended within operations that are replayed.";
    capture_->work->Queue();
    for (size_t i = 0; i < run_->gradients.size(); ++i)
      net_->memory_->bindings[run_->gradients[i]].zero = capture_->zero_after[i];
    repeated_ += static_cast<int64_t>(done_);
  }
}

template <typename Dtype>
void PlannedNet<Dtype>::Captures::Abandon() noexcept {
  if (std::exchange(doing_, Doing::kNothing) != Doing::kCapturing) return;
  try {
    device_->EndCapture();
  } catch (const std::exception&) {
    // The error has been reported already.
  }
}

template <typename Dtype>
std::vector<bool> PlannedNet<Dtype>::Captures::ZeroGradients() const {
  std::vector<bool> zero;
  for (const TensorId tensor : run_->gradients)
    zero.push_back(net_->memory_->bindings[tensor].zero);
  return zero;
}

/// Does deferred work: operations that are captured or replayed, and the updates that the solver
/// has gathered.
template <typename Dtype>
void PlannedNet<Dtype>::Finish() {
  captures_->End();
  DeferredWork::FinishCurrent();
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::repeated_operations() const {
  return captures_->repeated();
}

#define INSTANTIATE_CAPTURES(Dtype)                                                     \
  template PlannedNet<Dtype>::Captures::Captures(PlannedNet*, const PlacementOptions&); \
  template bool PlannedNet<Dtype>::Captures::Begin(const Step&);                        \
  template void PlannedNet<Dtype>::Captures::End();                                     \
  template void PlannedNet<Dtype>::Captures::Abandon() noexcept;                        \
  template void PlannedNet<Dtype>::Finish();                                            \
  template int64_t PlannedNet<Dtype>::repeated_operations() const
INSTANTIATE_CAPTURES(float);
INSTANTIATE_CAPTURES(double);

}  // namespace caffe
