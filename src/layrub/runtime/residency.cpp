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
      device_(backend, Tier::kDevice, transient ? HomeBytes(graph, plan) : plan.device_bytes,
              plan.device_bytes, poison || canary, transient),
      host_(backend, Tier::kHost, plan.host_bytes, plan.host_bytes, poison, nullptr),
      places_(graph.tensors.size()),
      home_(graph.tensors.size()),
      overwrites_(graph.tensors.size(), kNone),
      users_(plan.steps.size()),
      live_(plan.steps.size()) {
  if (plan.spill_bytes > 0)
    file_.emplace(backend, Tier::kFile, plan.spill_bytes, plan.spill_bytes, poison, nullptr);
  for (const Home& home : plan.homes) {
    const Tensor& tensor = graph.tensors[home.tensor];
    if (!HasTier(home.tier))
      throw std::invalid_argument("the home of tensor " + tensor.name + " lies in no file");
    const Memory& memory = MemoryOf(home.tier);
    if (!memory.Contains(home.offset, tensor.bytes))
      throw std::invalid_argument("the home of tensor " + tensor.name + " lies outside the arena");
    home_[home.tensor] = home.tier;
    PlaceOf(home.tensor, home.tier).address = memory.at(home.offset);
    SetValid(home.tensor, home.tier, 0, tensor.bytes);
  }
  for (size_t i = 0; i < plan.steps.size(); ++i) CheckStep(static_cast<int32_t>(i));
}

/// Throws std::invalid_argument unless the bytes of step `index` are within its tensor and its
/// range is within the arena.
void Residency::CheckStep(int32_t index) const {
  const Step& step = plan_.steps[index];
  const bool takes = step.kind == StepKind::kAlloc || IsMove(step);
  if (!takes && step.kind != StepKind::kFree && step.kind != StepKind::kCopy) return;
  const Tensor& tensor = graph_.tensors[step.tensor];
  const auto object = [&](const std::string& objection) {
    throw std::invalid_argument("step " + std::to_string(index) + " of the plan " + objection);
  };
  const bool is_all = step.begin == 0 && step.end == tensor.bytes;
  const bool ends_well = step.end == tensor.bytes || step.end % kAlignment == 0;
  if (!is_all && (step.begin < 0 || step.begin % kAlignment != 0 || step.begin >= step.end ||
                  step.end > tensor.bytes || !ends_well)) {
    object("covers bytes [" + std::to_string(step.begin) + ", " + std::to_string(step.end) +
           ") of tensor " + tensor.name + ", which has " + std::to_string(tensor.bytes));
  }
  if (!takes) return;
  if (!HasTier(step.tier)) object("places tensor " + tensor.name + " in no file");
  if (!MemoryOf(step.tier).Contains(step.offset + step.begin, step.end - step.begin))
    object("places tensor " + tensor.name + " outside the arena");
  if (home_[step.tensor] == step.tier)
    object("places tensor " + tensor.name + ", which has a home");
}

const Place& Residency::At(TensorId tensor, Tier tier) const {
  return places_[tensor][Index(tier)];
}

bool Residency::IsInPlace(TensorId tensor) const {
  return At(tensor, Tier::kDevice).range == kNone && graph_.tensors[tensor].host_access &&
         home_[tensor] == Tier::kHost;
}

const Place& Residency::InUse(TensorId tensor) const {
  return At(tensor, IsInPlace(tensor) ? Tier::kHost : Tier::kDevice);
}

Tier Residency::Away(TensorId tensor) const {
  const Place& host = At(tensor, Tier::kHost);
  const Place& file = At(tensor, Tier::kFile);
  const bool in_file =
      host.valid == file.valid ? host.address == nullptr && file.address != nullptr : file.valid;
  return in_file ? Tier::kFile : Tier::kHost;
}

Place& Residency::PlaceOf(TensorId tensor, Tier tier) { return places_[tensor][Index(tier)]; }

/// The bytes of the tier that `step`, an Alloc or Move, takes.
Residency::Bytes Residency::BytesOf(const Step& step) {
  return {step.offset + step.begin, step.offset + step.end};
}

bool Residency::IsPart(int32_t range) const {
  return live_[range].end - live_[range].begin < graph_.tensors[plan_.steps[range].tensor].bytes;
}

char* Residency::AddressOf(TensorId tensor, Tier tier, int64_t begin) const {
  const Place& place = At(tensor, tier);
  if (place.range == kNone) return place.address + begin;  // a home
  return MemoryOf(tier).at(plan_.steps[place.range].offset + begin);
}

/// Returns the bytes of `all` below and above `some`. Either may be empty.
std::array<Residency::Bytes, 2> Residency::Outside(const Bytes& all, const Bytes& some) {
  return {Bytes{all.begin, std::clamp(some.begin, all.begin, all.end)},
          Bytes{std::clamp(some.end, all.begin, all.end), all.end}};
}

/// Binds the tensor of the step to the step's bytes and to `more`, which must adjoin them.
void Residency::Bind(int32_t index, const Bytes& more) {
  const Step& step = plan_.steps[index];
  users_[index] = 1;
  live_[index] = BytesOf(step);
  if (more.begin < more.end) {
    live_[index].begin = std::min(live_[index].begin, more.begin);
    live_[index].end = std::max(live_[index].end, more.end);
  }
  char* const address = IsPart(index) ? nullptr : MemoryOf(step.tier).at(step.offset);
  PlaceOf(step.tensor, step.tier) = {address, index};
}

/// Notes that bytes [first, last) of the value of `tensor` are in `tier`.
void Residency::SetValid(TensorId tensor, Tier tier, int64_t first, int64_t last) {
  Place& place = PlaceOf(tensor, tier);
  place.first = first;
  place.last = last;
  place.valid = first == 0 && last == graph_.tensors[tensor].bytes;
}

void Residency::Alloc(int32_t index) {
  const Step& step = plan_.steps[index];
  const Place before = At(step.tensor, step.tier);
  CheckIntact(step, {});
  const bool part = before.range != kNone && IsPart(before.range);
  const bool adjoins = part && plan_.steps[before.range].offset == step.offset;
  if (part && !adjoins) intact_ = false;
  Bind(index, adjoins ? live_[before.range] : Bytes());
  if (adjoins) SetValid(step.tensor, step.tier, before.first, before.last);
}

/// Checks that the bytes that `step` takes, except those its tensor `had`, still hold the poison.
void Residency::CheckIntact(const Step& step, const Bytes& had) {
  if (!poison_) return;
  for (const auto& [begin, end] : Outside(BytesOf(step), had)) {
    if (begin < end && MemoryOf(step.tier).EndOfChanges(begin, end) != begin) intact_ = false;
  }
}

Residency::Way Residency::Move(int32_t index) {
  const Step& step = plan_.steps[index];
  const Place from = PlaceOf(step.tensor, Tier::kDevice);
  CheckIntact(step, live_[from.range]);
  Bind(index, {});
  SetValid(step.tensor, Tier::kDevice, from.first, from.last);
  return {device_.at(live_[from.range].begin), device_.at(live_[index].begin), from.range};
}

void Residency::Moved(TensorId tensor, const Way& way) {
  GiveBack(way.left, live_[At(tensor, Tier::kDevice).range]);
}

void Residency::Free(int32_t index) {
  const Step& step = plan_.steps[index];
  Place& place = PlaceOf(step.tensor, step.tier);
  if (place.range == kNone) return;
  const int64_t base = plan_.steps[place.range].offset;
  const auto kept = Outside(live_[place.range], {base + step.begin, base + Aligned(step.end)});
  const Bytes& left = kept[0].begin < kept[0].end ? kept[0] : kept[1];
  if (IsWhole(graph_, step) || left.begin == left.end) return Release(step.tensor, step.tier);
  GiveBack(place.range, left);
  ++users_[place.range];
  live_[place.range] = left;
  place.address = nullptr;
  SetValid(step.tensor, step.tier, std::max(place.first, left.begin - base),
           std::min(place.last, left.end - base));
}

void Residency::Release(TensorId tensor, Tier tier) {
  Place& place = PlaceOf(tensor, tier);
  if (place.range == kNone) return;
  GiveBack(place.range, {});
  place = {};
}

/// Unbinds one tensor from the range of step number `range`. When it was the last one, poisons the
/// range except `kept`.
void Residency::GiveBack(int32_t range, const Bytes& kept) {
  if (--users_[range] > 0 || !poison_) return;
  const Tier tier = plan_.steps[range].tier;
  for (const auto& [begin, end] : Outside(live_[range], kept)) {
    if (begin == end) continue;
    if (tier == Tier::kDevice) touched_ = std::max(touched_, device_.EndOfChanges(begin, end));
    MemoryOf(tier).Restore(begin, end);
  }
}

void Residency::Alias(TensorId tensor, TensorId on) {
  Place& place = PlaceOf(tensor, Tier::kDevice);
  place = PlaceOf(on, Tier::kDevice);
  SetValid(tensor, Tier::kDevice, 0, 0);
  ++users_[place.range];
  overwrites_[tensor] = on;
}

void Residency::Copied(const Step& step) {
  const Place& place = At(step.tensor, step.tier);
  const bool joins =
      place.first < place.last && place.first <= step.end && step.begin <= place.last;
  SetValid(step.tensor, step.tier, joins ? std::min(place.first, step.begin) : step.begin,
           joins ? std::max(place.last, step.end) : step.end);
}

void Residency::Written(TensorId tensor, bool again) {
  if (IsInPlace(tensor)) return;  // written in its home
  const bool there = PlaceOf(tensor, Tier::kDevice).address != nullptr;
  SetValid(tensor, Tier::kDevice, 0, there ? graph_.tensors[tensor].bytes : 0);
  for (const Tier tier : {Tier::kHost, Tier::kFile}) {
    if (!again) SetValid(tensor, tier, 0, 0);
  }
  const TensorId overwritten = std::exchange(overwrites_[tensor], kNone);
  if (overwritten == kNone) return;
  // The range stays bound until its Free step.
  PlaceOf(overwritten, Tier::kDevice).address = nullptr;
  SetValid(overwritten, Tier::kDevice, 0, 0);
}

void Residency::Forget() {
  for (size_t i = 0; i < places_.size(); ++i) {
    for (const Tier tier : {Tier::kDevice, Tier::kHost, Tier::kFile})
      Release(static_cast<TensorId>(i), tier);
    overwrites_[i] = kNone;
  }
}

void Residency::MarkHomeValid(TensorId tensor) {
  SetValid(tensor, Away(tensor), 0, graph_.tensors[tensor].bytes);
}

int64_t Residency::TouchedBytes() const {
  return std::max(touched_, device_.EndOfChanges(0, device_.bytes()));
}

bool Residency::SentinelsIntact() const {
  return intact_ && RestIntact(Tier::kDevice) && RestIntact(Tier::kHost) &&
         (!file_ || RestIntact(Tier::kFile));
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
    const Bytes& bytes = live_[range];
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
