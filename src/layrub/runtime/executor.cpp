#include "layrub/executor.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include "layrub/device/arena.hpp"

namespace layrub {
namespace {

constexpr size_t kTiers = 2;

/// A tensor's range in one tier.
struct Place {
  char* address = nullptr;
  int32_t range = kNone;  ///< number of the Alloc step that the bytes come from; shared by aliases
  bool valid = false;     ///< the value has been written there, or its copy is queued
};

struct Resident {
  Place place[kTiers];
  TensorId overwrites = kNone;  ///< the tensor whose value goes when this one is written
  Event prefetch;               ///< the last one
};

bool IsTimed(StepKind kind) {
  return kind != StepKind::kAlloc && kind != StepKind::kFree && kind != StepKind::kAlias &&
         kind != StepKind::kWait;
}

Lane LaneOf(const Step& step) {
  if (step.kind == StepKind::kOffload) return Lane::kSave;
  if (step.kind == StepKind::kPrefetch) return Lane::kLoad;
  return Lane::kCompute;
}

}  // namespace

struct Executor::Impl {
  Impl(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options);

  void Run(Pass pass, OpRunner* runner);
  void RunStep(int32_t index, OpRunner* runner);
  void Alloc(int32_t index);
  void Release(TensorId tensor, Tier tier);
  void Bind(TensorId tensor, TensorId on);
  void Copy(const Step& step, Tier from, Tier to);
  void Compute(const Step& step, OpRunner* runner);
  void Written(TensorId tensor);
  void Forget();
  void Resolve();
  bool RangesIntact() const;

  Place& PlaceOf(TensorId tensor, Tier tier) {
    return residents[tensor].place[static_cast<size_t>(tier)];
  }
  Arena& ArenaOf(Tier tier) { return tier == Tier::kDevice ? device : host; }

  const Graph graph;
  const Plan plan;
  Backend* const backend;
  const ExecutorOptions options;
  Arena device;
  Arena host;
  std::vector<Resident> residents;  ///< per tensor
  std::vector<int32_t> users;       ///< per step: how many tensors are bound to the range of this Alloc
  std::vector<bool> awaited;        ///< per step: a Wait names it
  std::vector<Event> begins, ends;  ///< per step; `begins` and those of Waits only when recording
  Event start;                      ///< of the iteration
  Timeline timeline;
  int32_t current = kNone;
  bool running = false;
  Pass last_pass = Pass::kUpdate;
  int64_t copied[kTiers] = {0, 0};  ///< bytes, by the tier they came from
  int64_t touched = 0;              ///< what EndOfChanges said of ranges that were restored since
  bool intact = true;
};

Executor::Impl::Impl(const Graph& g, const Plan& p, Backend* b, ExecutorOptions o)
    : graph(g),
      plan(p),
      backend(b),
      options(o),
      device(b, Tier::kDevice, p.device_bytes, o.poison || o.canary),
      host(b, Tier::kHost, p.host_bytes, o.poison),
      residents(g.tensors.size()),
      users(p.steps.size()),
      awaited(p.steps.size()),
      begins(p.steps.size()),
      ends(p.steps.size()) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind == StepKind::kWait) awaited[step.step] = true;
    if (step.kind != StepKind::kAlloc) continue;
    const Tensor& tensor = graph.tensors[step.tensor];
    if (step.offset < 0 || tensor.bytes > ArenaOf(step.tier).bytes() - step.offset) {
      throw std::invalid_argument("Executor: step " + std::to_string(i) + " places " + tensor.name +
                                  " outside the arena");
    }
    if (!tensor.persistent) continue;
    Alloc(static_cast<int32_t>(i));
    PlaceOf(step.tensor, step.tier).valid = true;
  }
  if (options.record) timeline.spans.reserve(plan.steps.size());
}

void Executor::Impl::Run(Pass pass, OpRunner* runner) {
  if (running) throw std::logic_error("Executor::Run: a pass is running already");
  if (pass == Pass::kBackward && last_pass != Pass::kForward) {
    throw std::logic_error("Executor::Run: a backward pass without a forward pass before it");
  }
  struct Guard {
    Impl* impl;
    ~Guard() {
      impl->running = false;
      impl->current = kNone;
    }
  } guard{this};
  running = true;
  // A pass that throws leaves an iteration that only a forward pass can follow.
  last_pass = Pass::kUpdate;
  if (pass == Pass::kForward) Forget();
  const size_t number = static_cast<size_t>(pass);
  const int32_t end = plan.pass_end[number];
  for (current = number == 0 ? 0 : plan.pass_end[number - 1]; current < end; ++current) {
    RunStep(current, runner);
  }
  last_pass = pass;
  if (end != static_cast<int32_t>(plan.steps.size())) return;
  backend->Synchronize();
  if (options.record) Resolve();
}

void Executor::Impl::RunStep(int32_t index, OpRunner* runner) {
  const Step& step = plan.steps[index];
  const bool stalls = step.kind == StepKind::kWait && step.lane == Lane::kCompute;
  const bool recorded = options.record && (IsTimed(step.kind) || stalls);
  const Lane lane = LaneOf(step);
  if (recorded) begins[index] = backend->Record(lane);
  switch (step.kind) {
    case StepKind::kAlloc:
      if (!graph.tensors[step.tensor].persistent) Alloc(index);
      break;
    case StepKind::kFree:
      Release(step.tensor, step.tier);
      break;
    case StepKind::kAlias:
      Bind(step.tensor, step.on);
      break;
    case StepKind::kWait:
      backend->Wait(step.lane, ends[step.step]);
      break;
    case StepKind::kOffload:
      Copy(step, Tier::kDevice, Tier::kHost);
      break;
    case StepKind::kPrefetch:
      Copy(step, Tier::kHost, Tier::kDevice);
      break;
    case StepKind::kFill:
    case StepKind::kCompute:
    case StepKind::kUpdate:
      Compute(step, runner);
      break;
  }
  if (recorded || awaited[index]) ends[index] = backend->Record(lane);
}

void Executor::Impl::Alloc(int32_t index) {
  const Step& step = plan.steps[index];
  const int64_t end = step.offset + graph.tensors[step.tensor].bytes;
  Arena& arena = ArenaOf(step.tier);
  if (options.poison && arena.EndOfChanges(step.offset, end) != step.offset) intact = false;
  PlaceOf(step.tensor, step.tier) = {arena.at(step.offset), index, false};
  users[index] = 1;
}

void Executor::Impl::Release(TensorId tensor, Tier tier) {
  Place& place = PlaceOf(tensor, tier);
  if (place.range == kNone) return;
  if (--users[place.range] == 0 && options.poison) {
    const Step& alloc = plan.steps[place.range];
    const int64_t end = alloc.offset + graph.tensors[alloc.tensor].bytes;
    if (tier == Tier::kDevice) touched = std::max(touched, device.EndOfChanges(alloc.offset, end));
    ArenaOf(tier).Restore(alloc.offset, end);
  }
  place = {};
  if (tier == Tier::kDevice) residents[tensor].overwrites = kNone;
}

void Executor::Impl::Bind(TensorId tensor, TensorId on) {
  Place place = PlaceOf(on, Tier::kDevice);
  place.valid = false;
  PlaceOf(tensor, Tier::kDevice) = place;
  ++users[place.range];
  residents[tensor].overwrites = on;
}

void Executor::Impl::Copy(const Step& step, Tier from, Tier to) {
  const int64_t bytes = graph.tensors[step.tensor].bytes;
  const Lane lane = LaneOf(step);
  backend->Copy(lane, PlaceOf(step.tensor, to).address, PlaceOf(step.tensor, from).address, bytes);
  PlaceOf(step.tensor, to).valid = true;
  if (lane == Lane::kLoad) residents[step.tensor].prefetch = backend->Record(lane);
  copied[static_cast<size_t>(from)] += bytes;
}

void Executor::Impl::Compute(const Step& step, OpRunner* runner) {
  const Form& form = graph.ops[step.op].forms[step.form];
  if (step.kind == StepKind::kFill) {
    const TensorId tensor = form.writes[0];
    backend->Zero(PlaceOf(tensor, Tier::kDevice).address, graph.tensors[tensor].bytes);
  } else {
    runner->Run(step);
  }
  for (const TensorId tensor : form.writes) Written(tensor);
}

void Executor::Impl::Written(TensorId tensor) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  place.valid = place.address != nullptr;
  PlaceOf(tensor, Tier::kHost).valid = false;
  TensorId& overwritten = residents[tensor].overwrites;
  if (overwritten == kNone) return;
  // The range stays bound until its Free step, but the value is gone.
  PlaceOf(overwritten, Tier::kDevice).address = nullptr;
  PlaceOf(overwritten, Tier::kDevice).valid = false;
  overwritten = kNone;
}

void Executor::Impl::Forget() {
  backend->Synchronize();
  for (size_t i = 0; i < residents.size(); ++i) {
    if (graph.tensors[i].persistent) continue;
    Release(static_cast<TensorId>(i), Tier::kDevice);
    Release(static_cast<TensorId>(i), Tier::kHost);
  }
  if (options.record) start = backend->Record(Lane::kCompute);
}

void Executor::Impl::Resolve() {
  const double origin = backend->SecondsOf(start);
  timeline.spans.clear();
  timeline.stalled = 0;
  double first = 0, last = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(plan.steps.size()); ++i) {
    const Step& step = plan.steps[i];
    const bool stalls = step.kind == StepKind::kWait && step.lane == Lane::kCompute;
    if (!IsTimed(step.kind) && !stalls) continue;
    const double begin = backend->SecondsOf(begins[i]) - origin;
    const double end = backend->SecondsOf(ends[i]) - origin;
    if (stalls) {
      timeline.stalled += end - begin;
      continue;
    }
    first = timeline.spans.empty() ? begin : std::min(first, begin);
    last = std::max(last, end);
    timeline.spans.push_back({i, LaneOf(step), begin, end});
  }
  timeline.seconds = last - first;
}

bool Executor::Impl::RangesIntact() const {
  // [begin, end) of what is bound now, in each tier; the rest must hold the pattern.
  for (const Tier tier : {Tier::kDevice, Tier::kHost}) {
    const Arena& arena = tier == Tier::kDevice ? device : host;
    std::vector<std::pair<int64_t, int64_t>> live;
    for (const Resident& resident : residents) {
      const int32_t range = resident.place[static_cast<size_t>(tier)].range;
      if (range == kNone) continue;
      const Step& alloc = plan.steps[range];
      live.emplace_back(alloc.offset, alloc.offset + graph.tensors[alloc.tensor].bytes);
    }
    live.emplace_back(arena.bytes(), arena.bytes());
    std::sort(live.begin(), live.end());
    int64_t begin = 0;
    for (const auto& [offset, end] : live) {
      if (offset > begin && arena.EndOfChanges(begin, offset) != begin) return false;
      begin = std::max(begin, end);
    }
  }
  return true;
}

Executor::Executor(const Graph& graph, const Plan& plan, Backend* backend, ExecutorOptions options)
    : impl_(std::make_unique<Impl>(graph, plan, backend, options)) {}

Executor::~Executor() { impl_->backend->Synchronize(); }

void Executor::Run(Pass pass, OpRunner* runner) { impl_->Run(pass, runner); }

void* Executor::Address(TensorId tensor) const {
  return impl_->PlaceOf(tensor, Tier::kDevice).address;
}

const void* Executor::Find(TensorId tensor) {
  const Place& on_device = impl_->PlaceOf(tensor, Tier::kDevice);
  const Place& on_host = impl_->PlaceOf(tensor, Tier::kHost);
  if (on_device.valid) {
    impl_->backend->Wait(Lane::kCompute, impl_->residents[tensor].prefetch);
    return on_device.address;
  }
  if (!on_host.valid) return nullptr;
  impl_->backend->Synchronize();
  return on_host.address;
}

bool Executor::running() const { return impl_->running; }
int32_t Executor::current_step() const { return impl_->current; }
const Graph& Executor::graph() const { return impl_->graph; }
const Plan& Executor::plan() const { return impl_->plan; }
Backend* Executor::backend() const { return impl_->backend; }
const Timeline& Executor::timeline() const { return impl_->timeline; }

int64_t Executor::TouchedBytes() const {
  return std::max(impl_->touched, impl_->device.EndOfChanges(0, impl_->device.bytes()));
}

bool Executor::SentinelsIntact() const { return impl_->intact && impl_->RangesIntact(); }

int64_t Executor::bytes_offloaded() const { return impl_->copied[static_cast<size_t>(Tier::kDevice)]; }
int64_t Executor::bytes_prefetched() const { return impl_->copied[static_cast<size_t>(Tier::kHost)]; }

}  // namespace layrub
