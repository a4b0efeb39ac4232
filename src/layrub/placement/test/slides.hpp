#ifndef LAYRUB_PLACEMENT_TEST_SLIDES_HPP_
#define LAYRUB_PLACEMENT_TEST_SLIDES_HPP_

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/ir/graph.hpp"
#include "layrub/placement/ir/plan.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::testing {

using namespace placement;  // NOLINT(google-build-using-namespace): tests look inside

/// Writes a plan with Moves; see WithSlides.
class Slider {
 public:
  Slider(const Graph& graph, const Plan& plan, uint64_t seed)
      : graph_(graph), plan_(plan), random_(seed), result_(plan), places_(graph.tensors.size()) {
    for (const Home& home : plan.homes)
      if (home.tier == Tier::kDevice)
        places_[home.tensor] = {true, home.offset, Aligned(graph.tensors[home.tensor].bytes), true};
  }

  Plan Slide() {
    result_.steps.clear();
    size_t pass = 0;
    for (size_t i = 0; i <= plan_.steps.size(); ++i) {
      const bool end = i == plan_.steps.size();
      if (end) GoHome();
      for (; pass < 3 && plan_.pass_end[pass] == static_cast<int32_t>(i); ++pass)
        result_.pass_end[pass] = static_cast<int32_t>(result_.steps.size());
      if (!end && plan_.steps[i].kind != StepKind::kWait) Take(plan_.steps[i]);
    }
    schedule::AddWaits(graph_, &result_);
    return std::move(result_);
  }

 private:
  /// Where a tensor is on the device. Tensors with the same `begin` share a range.
  struct Place {
    bool live = false;
    int64_t begin = 0;
    int64_t bytes = 0;  ///< of the range
    bool written = false;
    bool part = false;  ///< only the first `bytes` of the tensor are there
  };

  bool Chance(int percent) { return random_() % 100 < static_cast<uint64_t>(percent); }

  void Take(const Step& step) {
    const bool on_device = step.tier == Tier::kDevice;
    const bool takes = step.kind == StepKind::kAlloc || IsMove(step);
    if ((takes && on_device) || step.kind == StepKind::kAlias) GoHome();
    if (step.op != kNone) {
      while (Chance(60)) SlideOne();
    }
    result_.steps.push_back(step);
    Place& place = places_[std::max(step.tensor, 0)];
    if (step.kind == StepKind::kAlloc && on_device) {
      place = {true, step.offset, Aligned(graph_.tensors[step.tensor].bytes), false};
    } else if (step.kind == StepKind::kAlias) {
      place = places_[step.on];
      place.written = false;
    } else if (step.kind == StepKind::kFree && on_device && step.begin > 0) {
      place.bytes = step.begin;
      place.part = true;
    } else if (step.kind == StepKind::kFree && on_device) {
      place = {};
      std::erase_if(away_, [&](const auto& slid) { return slid.first == step.tensor; });
    } else if (IsMove(step)) {
      place.begin = step.offset;
    } else if (IsPrefetch(step)) {
      place.written = true;
    } else if (step.op != kNone) {
      for (const TensorId t : graph_.ops[step.op].variants[step.variant].writes)
        places_[t].written = places_[t].live;
    }
  }

  /// Whether it is alone in a range of its own size, or in its part of that, and has a value.
  bool MayMove(TensorId tensor) const {
    const Place& place = places_[tensor];
    const int64_t bytes = Aligned(graph_.tensors[tensor].bytes);
    return place.live && place.written && !graph_.tensors[tensor].is_state() && bytes > 0 &&
           (place.part || place.bytes == bytes) &&
           std::count_if(places_.begin(), places_.end(), [&](const Place& other) {
             return other.live && other.begin == place.begin && other.bytes > 0;
           }) == 1;
  }

  /// Moves some tensor within the free bytes around it, mostly to an overlapping range.
  void SlideOne() {
    std::vector<TensorId> movable;
    for (TensorId t = 0; t < static_cast<TensorId>(places_.size()); ++t) {
      if (MayMove(t)) movable.push_back(t);
    }
    if (movable.empty()) return;
    const TensorId tensor = movable[random_() % movable.size()];
    const Place& place = places_[tensor];
    int64_t low = 0, high = result_.device_bytes;
    for (const Place& other : places_) {
      if (!other.live || other.bytes == 0 || &other == &place) continue;
      if (other.begin < place.begin) low = std::max(low, other.begin + other.bytes);
      if (other.begin > place.begin) high = std::min(high, other.begin);
    }
    high -= place.bytes;
    if (Chance(80)) {
      low = std::max(low, place.begin - place.bytes + kAlignment);
      high = std::min(high, place.begin + place.bytes - kAlignment);
    }
    const int64_t to =
        low + static_cast<int64_t>(random_() % ((high - low) / kAlignment + 1)) * kAlignment;
    if (to == place.begin) return;
    away_.emplace_back(tensor, place.begin);
    Move(tensor, to);
  }

  void GoHome() {
    for (; !away_.empty(); away_.pop_back()) Move(away_.back().first, away_.back().second);
  }

  void Move(TensorId tensor, int64_t to) {
    Place& place = places_[tensor];
    place.begin = to;
    Step& step = result_.steps.emplace_back();
    step.kind = StepKind::kCopy;
    step.tensor = tensor;
    step.offset = to;
    step.end = place.part ? place.bytes : graph_.tensors[tensor].bytes;
  }

  const Graph& graph_;
  const Plan& plan_;
  std::mt19937_64 random_;
  Plan result_;
  std::vector<Place> places_;  ///< by tensor
  std::vector<std::pair<TensorId, int64_t>>
      away_;  ///< the tensors that have moved, and their old offsets, in order
};

/// Adds Moves to the correct `plan`. Before some operations, tensors and parts of tensors slide
/// within the free bytes around them, one after the other, and return in reverse order before the
/// next tensor takes bytes or grows. Waits are made anew.
inline Plan WithSlides(const Graph& graph, const Plan& plan, uint64_t seed) {
  return Slider(graph, plan, seed).Slide();
}

/// The number of Moves of `plan` to overlapping ranges.
inline int64_t SlidesIn(const Graph& graph, const Plan& plan) {
  const std::vector<int64_t> distances = MoveDistances(graph, plan);
  int64_t slides = 0;
  for (size_t i = 0; i < distances.size(); ++i) {
    const Step& step = plan.steps[i];
    if (IsMove(step)) slides += distances[i] < step.end - step.begin;
  }
  return slides;
}

/// The number of Moves of `plan` of a part of a tensor.
inline int64_t PartsMovedIn(const Graph& graph, const Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(),
                       [&](const Step& step) { return IsMove(step) && !IsWhole(graph, step); });
}

/// The number of partial copies of `plan`.
inline int64_t PartsIn(const Graph& graph, const Plan& plan) {
  return std::count_if(plan.steps.begin(), plan.steps.end(), [&](const Step& step) {
    return (IsOffload(step) || IsPrefetch(step)) && !IsWhole(graph, step);
  });
}

}  // namespace layrub::testing

#endif  // LAYRUB_PLACEMENT_TEST_SLIDES_HPP_
