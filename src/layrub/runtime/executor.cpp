#include "layrub/runtime/executor.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "layrub/runtime/recorder.hpp"
#include "layrub/runtime/residency.hpp"

namespace layrub {
namespace {

constexpr std::array<const char*, 3> kPassNames{"forward", "backward", "update"};

/// Bytes of a home that are zeroed by one copy.
constexpr int64_t kZeros = 1 << 20;

/// Shows the work that is queued while it exists as a range in a profiler.
class Range {
 public:
  Range(Backend* backend, const char* name) : backend_(backend) { backend_->BeginRange(name); }
  ~Range() { backend_->EndRange(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  Backend* const backend_;
};

}  // namespace

struct Executor::Impl : TransientMemory::User {
  Impl(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options);
  ~Impl() override {
    if (transient) transient->Leave(this);
  }

  void Evict() override;
  TransientMemory* Join(const ExecutorOptions& options);
  void Run(Pass pass, OpRunner* runner);
  bool NeedsFinish(const Step& step) const;
  void RunStep(int32_t index, OpRunner* runner);
  void Copy(const Step& step);
  void Move(int32_t index);
  void Compute(const Step& step, OpRunner* runner);
  void Feed(const Step& step);
  const char* Source(const Step& step) const;
  char* AwayAddress(TensorId tensor) const;
  const void* Fetch(TensorId tensor);
  void DropFetched(TensorId tensor);
  void CopyRewritten();
  void BringHome();
  void ForgetAll();
  void BringStateForUpdate();
  void SetHome(TensorId tensor, const void* value);

  const Graph graph;
  const Plan plan;
  Backend* const backend;
  const std::shared_ptr<TransientMemory> transient;
  Residency residency;
  std::vector<bool> awaited;  ///< per step: whether a Wait names it
  std::vector<Event> events;  ///< per awaited step: its end
  std::vector<Event> loads;   ///< per tensor: its last prefetch or feed
  /// Values of the file that were read into memory, which replaces their ranges of the file.
  std::map<TensorId, std::unique_ptr<char[]>> fetched;
  std::set<TensorId> rewritten;     ///< see Executor::NoteWrite
  std::vector<TensorId> from_away;  ///< state at home off the device
  std::optional<Recorder> recorder;
  int32_t current = kNone;
  bool running = false;
  bool forward_ran = false;  ///< the last pass was a forward pass, and it succeeded
  bool backward_ran = false;
  int64_t offloaded = 0;
  int64_t prefetched = 0;
};

Executor::Impl::Impl(const Graph& g, const Plan& p, Backend* b, ExecutorOptions options)
    : graph(g),
      plan(p),
      backend(b),
      transient(options.transient),
      residency(graph, plan, b, Join(options), options.poison, options.canary),
      awaited(p.steps.size()),
      events(p.steps.size()),
      loads(g.tensors.size()) {
  for (const Step& step : plan.steps) {
    if (step.kind == StepKind::kWait) awaited[step.step] = true;
  }
  for (const Home& home : plan.homes) {
    if (home.tier != Tier::kDevice) from_away.push_back(home.tensor);
  }
  if (options.record) recorder.emplace(plan, backend);
}

/// Returns null if the executor shares no memory.
TransientMemory* Executor::Impl::Join(const ExecutorOptions& options) {
  if (!transient) return nullptr;
  if (transient->backend().get() != backend) {
    throw std::invalid_argument("Executor: the transient memory belongs to another backend");
  }
  transient->Join(this, plan.device_bytes - HomeBytes(graph, plan),
                  options.poison || options.canary);
  return transient.get();
}

void Executor::Impl::Evict() {
  if (running) throw std::logic_error("Executor: two users of one transient memory run at a time");
  ForgetAll();
  forward_ran = backward_ran = false;
}

/// Forgets all values except state.
void Executor::Impl::ForgetAll() {
  BringHome();
  backend->Synchronize();
  fetched.clear();
  rewritten.clear();
  residency.Forget();
}

void Executor::Impl::Run(Pass pass, OpRunner* runner) {
  if (running) throw std::logic_error("Executor::Run: a pass is running already");
  if (pass == Pass::kBackward && !forward_ran) {
    throw std::logic_error("Executor::Run: backward without a forward just before it");
  }
  struct Guard {
    Impl* impl;
    ~Guard() {
      impl->running = false;
      impl->current = kNone;
    }
  } guard{this};
  running = true;
  const bool follows_backward = std::exchange(backward_ran, false);
  forward_ran = false;
  if (pass == Pass::kForward) {
    if (transient) transient->Take(this);
    ForgetAll();
    if (recorder) recorder->Start();
  }
  if (pass == Pass::kUpdate && !follows_backward && !from_away.empty()) BringStateForUpdate();
  if (!rewritten.empty()) BringHome();
  CopyRewritten();
  const size_t number = static_cast<size_t>(pass);
  const Range range(backend, kPassNames[number]);
  const int32_t end = plan.pass_end[number];
  for (current = number == 0 ? 0 : plan.pass_end[number - 1]; current < end; ++current) {
    if (NeedsFinish(plan.steps[current])) runner->Finish();
    if (recorder) recorder->Begin(current);
    RunStep(current, runner);
    if (recorder || awaited[current]) runner->Finish();
    if (recorder) recorder->End(current);
    // After the recorder's event, so that work that waits for the step begins after its recorded
    // end.
    if (awaited[current]) events[current] = backend->Record(*LaneOf(plan.steps[current]));
  }
  runner->Finish();
  forward_ran = pass == Pass::kForward;
  backward_ran = pass == Pass::kBackward;
  if (end != static_cast<int32_t>(plan.steps.size())) return;
  backend->Synchronize();
  if (recorder) recorder->Finish();
}

/// Whether the runner must finish deferred work before `step`. That is so for steps that access
/// values but are no operations of the runner, which it would see itself.
bool Executor::Impl::NeedsFinish(const Step& step) const {
  switch (step.kind) {
    case StepKind::kRun: {
      const OpKind kind = graph.ops[step.op].kind;
      return kind == OpKind::kFill || kind == OpKind::kFeed;
    }
    case StepKind::kAlias:
      return false;
    case StepKind::kAlloc:
    case StepKind::kFree:
      return residency.poisons();  // poisoning reads and writes bytes
    default:
      return true;
  }
}

void Executor::Impl::RunStep(int32_t index, OpRunner* runner) {
  const Step& step = plan.steps[index];
  switch (step.kind) {
    case StepKind::kAlloc:
      residency.Alloc(index);
      break;
    case StepKind::kFree:
      if (step.tier == Tier::kFile) DropFetched(step.tensor);
      residency.Free(index);
      break;
    case StepKind::kAlias:
      residency.Alias(step.tensor, step.on);
      break;
    case StepKind::kCopy:
      IsMove(step) ? Move(index) : Copy(step);
      break;
    case StepKind::kRun:
      Compute(step, runner);
      if (graph.ops[step.op].kind == OpKind::kFeed) Feed(step);
      break;
    case StepKind::kWait:
      backend->Wait(step.lane, events[step.step]);
      break;
  }
}

void Executor::Impl::Move(int32_t index) {
  const Step& step = plan.steps[index];
  const Residency::Way way = residency.Move(index);
  backend->Copy(Lane::kCompute, way.to, way.from, step.end - step.begin);
  residency.Moved(step.tensor, way);
}

void Executor::Impl::Copy(const Step& step) {
  const TensorId tensor = step.tensor;
  const int64_t bytes = step.end - step.begin;
  if (IsOffload(step)) DropFetched(tensor);
  backend->Copy(step.lane, residency.AddressOf(tensor, step.tier, step.begin), Source(step), bytes);
  residency.Copied(step);
  (IsOffload(step) ? offloaded : prefetched) += bytes;
  if (IsPrefetch(step)) loads[tensor] = backend->Record(step.lane);
}

/// Returns the address from which a Copy step copies.
const char* Executor::Impl::Source(const Step& step) const {
  const auto found = step.from == Tier::kFile ? fetched.find(step.tensor) : fetched.end();
  return found != fetched.end() ? found->second.get() + step.begin
                                : residency.AddressOf(step.tensor, step.from, step.begin);
}

char* Executor::Impl::AwayAddress(TensorId tensor) const {
  return residency.At(tensor, residency.Away(tensor)).address;
}

const void* Executor::Impl::Fetch(TensorId tensor) {
  std::unique_ptr<char[]>& value = fetched[tensor];
  if (value == nullptr) {
    const int64_t bytes = graph.tensors[tensor].bytes;
    value = std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes));
    backend->Copy(Lane::kFetch, value.get(), residency.At(tensor, Tier::kFile).address, bytes);
    backend->Synchronize();
  }
  return value.get();
}

void Executor::Impl::DropFetched(TensorId tensor) {
  const auto found = fetched.find(tensor);
  if (found == fetched.end()) return;
  backend->Synchronize();  // a copy from it to the device may be queued
  fetched.erase(found);
}

/// Copies state to its home off the device. An iteration that ended before its plan, or a later
/// write of the user, may have left the value elsewhere. State at home on the device never leaves.
void Executor::Impl::BringHome() {
  if (from_away.empty()) return;
  backend->Synchronize();
  for (const TensorId tensor : from_away) {
    const Place& on_device = residency.At(tensor, Tier::kDevice);
    const Place& home = residency.At(tensor, residency.Away(tensor));
    const auto read = fetched.find(tensor);
    const bool is_rewritten = rewritten.count(tensor) > 0;
    const void* value = nullptr;
    if (on_device.valid && (!home.valid || is_rewritten)) {
      value = on_device.address;
    } else if (is_rewritten && read != fetched.end()) {
      value = read->second.get();
    }
    if (value != nullptr) SetHome(tensor, value);
  }
  backend->Synchronize();
}

/// For an update without a backward pass before it: brings state to where the update expects it.
void Executor::Impl::BringStateForUpdate() {
  ForgetAll();
  const std::set<TensorId> state(from_away.begin(), from_away.end());
  for (int32_t i = 0; i < plan.pass_end[1]; ++i) {
    const Step& step = plan.steps[i];
    if (step.tier != Tier::kDevice || state.count(step.tensor) == 0) continue;
    if (step.kind == StepKind::kAlloc) residency.Alloc(i);
    if (step.kind == StepKind::kFree) residency.Free(i);
    if (IsMove(step)) residency.Moved(step.tensor, residency.Move(i));
  }
  for (const TensorId tensor : from_away) {
    void* const address = residency.At(tensor, Tier::kDevice).address;
    if (address == nullptr) continue;
    const int64_t bytes = graph.tensors[tensor].bytes;
    backend->Copy(PrefetchLane(residency.Away(tensor)), address, AwayAddress(tensor), bytes);
    residency.Copied({.tensor = tensor, .end = bytes});
  }
  backend->Synchronize();
}

void Executor::Impl::SetHome(TensorId tensor, const void* value) {
  const int64_t bytes = graph.tensors[tensor].bytes;
  const Lane lane = OffloadLane(residency.Away(tensor));
  char* const home = AwayAddress(tensor);
  if (value != nullptr) {
    backend->Copy(lane, home, value, bytes);
  } else {
    const std::vector<char> zeros(static_cast<size_t>(std::min(bytes, kZeros)));
    for (int64_t at = 0; at < bytes; at += kZeros)
      backend->Copy(lane, home + at, zeros.data(), std::min(bytes - at, kZeros));
    backend->Synchronize();
  }
  residency.MarkHomeValid(tensor);
}

/// Copies values that were written on the device since the last pass to their places off the
/// device.
void Executor::Impl::CopyRewritten() {
  if (rewritten.empty()) return;
  for (const TensorId tensor : rewritten) {
    if (!residency.At(tensor, Tier::kDevice).valid) continue;  // copies find it in `fetched`
    DropFetched(tensor);
    backend->Copy(OffloadLane(residency.Away(tensor)), AwayAddress(tensor),
                  residency.At(tensor, Tier::kDevice).address, graph.tensors[tensor].bytes);
  }
  backend->Synchronize();
  rewritten.clear();
}

void Executor::Impl::Compute(const Step& step, OpRunner* runner) {
  const Op& op = graph.ops[step.op];
  const Variant& variant = op.variants[step.variant];
  const Range range(backend, op.name.c_str());
  if (op.kind == OpKind::kFill) {
    const TensorId tensor = variant.writes[0];
    backend->Zero(residency.InUse(tensor).address, graph.tensors[tensor].bytes);
  } else {
    runner->Run(step);
  }
  for (const TensorId tensor : variant.writes) {
    if (!step.recompute || TouchedByRecomputation(graph, variant, tensor))
      residency.Written(tensor, step.recompute);
  }
}

void Executor::Impl::Feed(const Step& step) {
  const Event fed = backend->Record(Lane::kLoad);
  for (const TensorId tensor : graph.ops[step.op].variants[0].writes) loads[tensor] = fed;
  prefetched += CopiedBytes(graph, step);
}

Executor::Executor(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options)
    : impl_(std::make_unique<Impl>(graph, plan, backend, options)) {}

Executor::~Executor() {
  try {
    impl_->backend->Synchronize();
  } catch (...) {
    // A wait has already thrown this error. The lanes are idle.
  }
}

void Executor::Run(Pass pass, OpRunner* runner) { impl_->Run(pass, runner); }

void* Executor::Address(TensorId tensor) const {
  return impl_->residency.At(tensor, Tier::kDevice).address;
}

void* Executor::AddressInUse(TensorId tensor) const {
  return impl_->residency.InUse(tensor).address;
}

const void* Executor::Find(TensorId tensor) {
  const Place& on_device = impl_->residency.At(tensor, Tier::kDevice);
  if (on_device.valid) {
    AwaitLoad(tensor);
    return on_device.address;
  }
  const Tier tier = impl_->residency.Away(tensor);
  const Place& away = impl_->residency.At(tensor, tier);
  if (!away.valid) return nullptr;
  impl_->backend->Synchronize();
  return tier == Tier::kHost ? away.address : impl_->Fetch(tensor);
}

void Executor::SetHome(TensorId tensor, const void* value) {
  impl_->DropFetched(tensor);
  impl_->SetHome(tensor, value);
  impl_->backend->Synchronize();
}

bool Executor::MayWrite(TensorId tensor) const {
  if (!impl_->running || !impl_->graph.tensors[tensor].is_state()) return true;
  const Tier tier = impl_->residency.Away(tensor);
  const Place& home = impl_->residency.At(tensor, tier);
  if (home.address == nullptr || !home.valid) return true;
  return !impl_->residency.At(tensor, Tier::kDevice).valid && tier == Tier::kHost;
}

void Executor::NoteWrite(TensorId tensor) {
  if (impl_->running) return;
  const bool is_read = impl_->fetched.count(tensor) > 0;
  if (!is_read && !impl_->residency.At(tensor, Tier::kDevice).valid) return;
  if (impl_->AwayAddress(tensor) == nullptr) return;
  impl_->backend->Synchronize();  // its copy may be under way
  impl_->rewritten.insert(tensor);
}

void Executor::AwaitLoad(TensorId tensor) {
  const int32_t current = impl_->current;
  // `loads` has the copies of a feed only after its operation, so during it wait for the whole
  // lane.
  const bool feeds =
      current != kNone && IsRun(impl_->graph, impl_->plan.steps[current], OpKind::kFeed);
  Backend* const lanes = impl_->backend;
  lanes->Wait(Lane::kCompute, feeds ? lanes->Record(Lane::kLoad) : impl_->loads[tensor]);
}

bool Executor::ready_for_backward() const { return impl_->forward_ran; }
bool Executor::running() const { return impl_->running; }
int32_t Executor::current_step() const { return impl_->current; }
const Graph& Executor::graph() const { return impl_->graph; }
const Plan& Executor::plan() const { return impl_->plan; }
Backend* Executor::backend() const { return impl_->backend; }

const Timeline& Executor::timeline() const {
  static const Timeline nothing;
  return impl_->recorder ? impl_->recorder->timeline() : nothing;
}

int64_t Executor::TouchedBytes() const { return impl_->residency.TouchedBytes(); }
bool Executor::SentinelsIntact() const { return impl_->residency.SentinelsIntact(); }
int64_t Executor::bytes_offloaded() const { return impl_->offloaded; }
int64_t Executor::bytes_prefetched() const { return impl_->prefetched; }

}  // namespace layrub
