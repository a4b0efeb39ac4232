#include "layrub/runtime/residency.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace layrub {

Residency::Residency(const Graph& graph, const Plan& plan, Backend* backend,
                     TransientMemory* transient, bool poison, bool canary)
    : graph_(graph),
      plan_(plan),
      poison_(poison),
      device_(backend, Tier::kDevice, transient ? ResidentBytes(graph, plan) : plan.device_bytes,
              plan.device_bytes, poison || canary, transient),
      host_(backend, Tier::kHost, plan.host_bytes, plan.host_bytes, poison, nullptr),
      places_(graph.tensors.size()),
      overwrites_(graph.tensors.size(), kNone),
      users_(plan.steps.size()) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    if (step.kind != StepKind::kAlloc && step.kind != StepKind::kMove) continue;
    if (!MemoryOf(step.tier).Contains(step.offset, EndOf(step))) {
      throw std::invalid_argument("step " + std::to_string(i) + " of the plan places tensor " +
                                  graph.tensors[step.tensor].name + " outside the arena");
    }
    if (!graph.tensors[step.tensor].persistent || step.kind == StepKind::kMove) continue;
    Bind(static_cast<int32_t>(i));
    PlaceOf(step.tensor, step.tier).valid = true;
  }
}

const Place& Residency::At(TensorId tensor, Tier tier) const {
  return places_[tensor][static_cast<size_t>(tier)];
}

Place& Residency::PlaceOf(TensorId tensor, Tier tier) {
  return places_[tensor][static_cast<size_t>(tier)];
}

int64_t Residency::EndOf(const Step& alloc) const {
  return alloc.offset + graph_.tensors[alloc.tensor].bytes;
}

void Residency::Bind(int32_t index) {
  const Step& step = plan_.steps[index];
  PlaceOf(step.tensor, step.tier) = {MemoryOf(step.tier).at(step.offset), index, false};
  users_[index] = 1;
}

void Residency::Alloc(int32_t index) {
  const Step& step = plan_.steps[index];
  if (graph_.tensors[step.tensor].persistent) return;
  CheckIntact(step);
  Bind(index);
}

/// What nobody had until now is as it was left.
void Residency::CheckIntact(const Step& step) {
  if (poison_ && MemoryOf(step.tier).EndOfChanges(step.offset, EndOf(step)) != step.offset) {
    intact_ = false;
  }
}

Place Residency::Move(int32_t index) {
  const Step& step = plan_.steps[index];
  const Place from = PlaceOf(step.tensor, Tier::kDevice);
  CheckIntact(step);
  Bind(index);
  PlaceOf(step.tensor, Tier::kDevice).valid = from.valid;
  return from;
}

void Residency::Free(TensorId tensor, Tier tier) {
  Place& place = PlaceOf(tensor, tier);
  if (place.range == kNone) return;
  GiveBack(place, tier);
  place = {};
}

void Residency::GiveBack(const Place& place, Tier tier) {
  if (--users_[place.range] == 0 && poison_) {
    const Step& alloc = plan_.steps[place.range];
    if (tier == Tier::kDevice) {
      touched_ = std::max(touched_, device_.EndOfChanges(alloc.offset, EndOf(alloc)));
    }
    MemoryOf(tier).Restore(alloc.offset, EndOf(alloc));
  }
}

void Residency::Alias(TensorId tensor, TensorId on) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  place = PlaceOf(on, Tier::kDevice);
  place.valid = false;
  ++users_[place.range];
  overwrites_[tensor] = on;
}

void Residency::Copied(TensorId tensor, Tier tier) { PlaceOf(tensor, tier).valid = true; }

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
    if (graph_.tensors[i].persistent) continue;
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
  for (const auto& places : places_) {
    const int32_t range = places[static_cast<size_t>(tier)].range;
    if (range == kNone) continue;
    live.emplace_back(plan_.steps[range].offset, EndOf(plan_.steps[range]));
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
