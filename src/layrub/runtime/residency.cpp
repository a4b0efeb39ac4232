#include "layrub/runtime/residency.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace layrub {
namespace {

bool IsCopy(const Step& step) {
  return step.kind == StepKind::kOffload || step.kind == StepKind::kPrefetch;
}

}  // namespace

Residency::Residency(const Graph& graph, const Plan& plan, Backend* backend,
                     TransientMemory* transient, bool poison, bool canary)
    : graph_(graph),
      plan_(plan),
      poison_(poison),
      device_(backend, Tier::kDevice, transient ? HomeBytes(graph, plan) : plan.device_bytes,
              plan.device_bytes, poison || canary, transient),
      host_(backend, Tier::kHost, plan.host_bytes, plan.host_bytes, poison, nullptr),
      places_(graph.tensors.size()),
      overwrites_(graph.tensors.size(), kNone),
      users_(plan.steps.size()),
      live_(plan.steps.size()) {
  for (const Home& home : plan.homes) {
    const Tensor& tensor = graph.tensors[home.tensor];
    if (home.tier != Tier::kDevice || !device_.Contains(home.offset, tensor.bytes))
      throw std::invalid_argument("the home of tensor " + tensor.name + " lies outside the arena");
    PlaceOf(home.tensor, Tier::kDevice) = {device_.at(home.offset), kNone, true};
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.bytes != 0 || (IsCopy(step) && step.offset != 0)) CheckBytes(static_cast<int32_t>(i));
    if (step.kind != StepKind::kAlloc && step.kind != StepKind::kMove) continue;
    if (!MemoryOf(step.tier).Contains(step.offset, MovedBytes(graph_, step))) {
      throw std::invalid_argument("step " + std::to_string(i) + " of the plan places tensor " +
                                  graph.tensors[step.tensor].name + " outside the arena");
    }
    if (step.tier == Tier::kDevice && graph.tensors[step.tensor].is_state()) {
      throw std::invalid_argument("step " + std::to_string(i) + " of the plan places tensor " +
                                  graph.tensors[step.tensor].name + ", which has a home");
    }
  }
}

/// Step number `index`, which gives a number of bytes or copies in part, takes what Check allows.
void Residency::CheckBytes(int32_t index) const {
  const Step& step = plan_.steps[index];
  const bool frees = step.kind == StepKind::kFree;
  const auto objection = [&]() -> std::string {
    if (!IsCopy(step) && !frees && step.kind != StepKind::kMove)
      return "has a number of bytes, which its kind does not take";
    const Tensor& tensor = graph_.tensors[step.tensor];
    if (IsCopy(step)) {
      if (step.offset >= 0 && step.offset % kAlignment == 0 && step.offset < tensor.bytes &&
          step.bytes == tensor.bytes - step.offset)
        return "";
      return "copies " + std::to_string(step.bytes) + " bytes from byte " +
             std::to_string(step.offset) + " on, not from an aligned one to the end of tensor " +
             tensor.name;
    }
    if (step.tier != Tier::kDevice)
      return "keeps a part of tensor " + tensor.name + " in the host tier";
    if (step.bytes > 0 && step.bytes % kAlignment == 0 && step.bytes < tensor.bytes) return "";
    return (frees ? "keeps " : "moves ") + std::to_string(step.bytes) + " bytes of tensor " +
           tensor.name + ", which is no part of its " + std::to_string(tensor.bytes);
  }();
  if (objection.empty()) return;
  throw std::invalid_argument("step " + std::to_string(index) + " of the plan " + objection);
}

const Place& Residency::At(TensorId tensor, Tier tier) const {
  return places_[tensor][Index(tier)];
}

Place& Residency::PlaceOf(TensorId tensor, Tier tier) { return places_[tensor][Index(tier)]; }

/// Those that `step`, an Alloc or Move, is to give.
Residency::Bytes Residency::BytesOf(const Step& step) const {
  return {step.offset, step.offset + MovedBytes(graph_, step)};
}

/// Those in use of the range that step number `range` gave.
Residency::Bytes Residency::BytesOf(int32_t range) const {
  const int64_t begin = plan_.steps[range].offset;
  return {begin, begin + live_[range]};
}

bool Residency::IsPart(int32_t range) const {
  return live_[range] < graph_.tensors[plan_.steps[range].tensor].bytes;
}

/// The bytes of `all` below and above `some`; either may be none.
std::array<Residency::Bytes, 2> Residency::Outside(const Bytes& all, const Bytes& some) {
  return {Bytes{all.begin, std::clamp(some.begin, all.begin, all.end)},
          Bytes{std::clamp(some.end, all.begin, all.end), all.end}};
}

void Residency::Bind(int32_t index) {
  const Step& step = plan_.steps[index];
  users_[index] = 1;
  live_[index] = BytesOf(step).end - step.offset;
  char* const address = IsPart(index) ? nullptr : MemoryOf(step.tier).at(step.offset);
  PlaceOf(step.tensor, step.tier) = {address, index, false};
}

void Residency::Alloc(int32_t index) {
  const Step& step = plan_.steps[index];
  const int32_t part = At(step.tensor, step.tier).range;
  CheckIntact(step, part == kNone || !IsPart(part) ? Bytes() : BytesOf(part));
  Bind(index);
}

/// What `step` takes and nobody had until now, but for its tensor at `had`, is as it was left.
void Residency::CheckIntact(const Step& step, const Bytes& had) {
  if (!poison_) return;
  for (const auto& [begin, end] : Outside(BytesOf(step), had)) {
    if (begin < end && MemoryOf(step.tier).EndOfChanges(begin, end) != begin) intact_ = false;
  }
}

Residency::Way Residency::Move(int32_t index) {
  const Step& step = plan_.steps[index];
  const Place from = PlaceOf(step.tensor, Tier::kDevice);
  CheckIntact(step, BytesOf(from.range));
  Bind(index);
  PlaceOf(step.tensor, Tier::kDevice).valid = from.valid;
  return {device_.at(plan_.steps[from.range].offset), device_.at(step.offset), from.range};
}

void Residency::Moved(TensorId tensor, const Way& way) {
  GiveBack(way.left, BytesOf(At(tensor, Tier::kDevice).range));
}

void Residency::Free(TensorId tensor, Tier tier) {
  Place& place = PlaceOf(tensor, tier);
  if (place.range == kNone) return;
  GiveBack(place.range, {});
  place = {};
}

void Residency::FreeRest(TensorId tensor, int64_t bytes) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  if (place.range == kNone) return;
  const int64_t begin = plan_.steps[place.range].offset;
  GiveBack(place.range, {begin, begin + bytes});
  ++users_[place.range];
  live_[place.range] = bytes;
  place.address = nullptr;
  place.valid = false;
}

/// One tensor less is bound to the range that step number `range` gave; at `kept` it still is.
void Residency::GiveBack(int32_t range, const Bytes& kept) {
  if (--users_[range] > 0 || !poison_) return;
  const Tier tier = plan_.steps[range].tier;
  for (const auto& [begin, end] : Outside(BytesOf(range), kept)) {
    if (begin == end) continue;
    if (tier == Tier::kDevice) touched_ = std::max(touched_, device_.EndOfChanges(begin, end));
    MemoryOf(tier).Restore(begin, end);
  }
}

void Residency::Alias(TensorId tensor, TensorId on) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  place = PlaceOf(on, Tier::kDevice);
  place.valid = false;
  ++users_[place.range];
  overwrites_[tensor] = on;
}

void Residency::Copied(const Step& step) {
  if (step.kind == StepKind::kPrefetch) {
    PlaceOf(step.tensor, Tier::kDevice).valid = true;  // what it does not copy is there
  } else {
    PlaceOf(step.tensor, Tier::kHost).valid = step.offset == 0;
  }
}

void Residency::Written(TensorId tensor, bool again) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  place.valid = place.address != nullptr;
  if (!again) PlaceOf(tensor, Tier::kHost).valid = false;
  const TensorId overwritten = std::exchange(overwrites_[tensor], kNone);
  if (overwritten == kNone) return;
  // The range stays bound until its Free step.
  PlaceOf(overwritten, Tier::kDevice).address = nullptr;
  PlaceOf(overwritten, Tier::kDevice).valid = false;
}

void Residency::Forget() {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (graph_.tensors[i].is_state()) continue;
    Free(static_cast<TensorId>(i), Tier::kDevice);
    Free(static_cast<TensorId>(i), Tier::kHost);
    overwrites_[i] = kNone;
  }
}

int64_t Residency::TouchedBytes() const {
  return std::max(touched_, device_.EndOfChanges(0, device_.bytes()));
}

bool Residency::SentinelsIntact() const {
  return intact_ && RestIntact(Tier::kDevice) && RestIntact(Tier::kHost);
}

bool Residency::RestIntact(Tier tier) const {
  const Memory& memory = MemoryOf(tier);
  std::vector<std::pair<int64_t, int64_t>> live{{memory.bytes(), memory.bytes()}};
  for (const Home& home : plan_.homes) {
    if (home.tier == tier)
      live.emplace_back(home.offset, home.offset + graph_.tensors[home.tensor].bytes);
  }
  for (const auto& places : places_) {
    const int32_t range = places[Index(tier)].range;
    if (range == kNone) continue;
    const Bytes bytes = BytesOf(range);
    live.emplace_back(bytes.begin, bytes.end);
  }
  std::sort(live.begin(), live.end());
  int64_t begin = 0;
  for (const auto& [offset, end] : live) {
    if (offset > begin && memory.EndOfChanges(begin, offset) != begin) return false;
    begin = std::max(begin, end);
  }
  return true;
}

}  // namespace layrub
