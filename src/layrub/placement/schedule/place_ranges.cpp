#include "layrub/placement/schedule/place_ranges.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "layrub/placement/pack/pack.hpp"
#include "layrub/placement/pack/pack_compacting.hpp"

namespace layrub::placement::schedule {
namespace {

using pack::Interval;
using pack::Movable;
using pack::MovingPacking;
using pack::Packing;
using pack::Shift;

class Placer {
 public:
  Placer(const Graph& graph, const Program& program, const Lifetimes& lives, Emitted emitted,
         const pack::Options& options)
      : graph_(graph),
        program_(program),
        lives_(lives),
        options_(options),
        out_(std::move(emitted)),
        plan_(out_.plan) {}

  Plan Place() {
    plan_.host_bytes = PlaceFixed(Sorted(out_.host, Tier::kHost), Tier::kHost, 0);
    plan_.spill_bytes = PlaceFixed(Sorted(out_.host, Tier::kFile), Tier::kFile, 0);
    const Ranges device = Sorted(out_.device, Tier::kDevice);
    plan_.device_bytes = options_.may_move
                             ? PlaceMoving(device)
                             : PlaceFixed(device, Tier::kDevice, options_.enough_bytes);
    return std::move(plan_);
  }

 private:
  RunId RunCount() const { return static_cast<RunId>(program_.runs.size()); }
  int32_t StepCount() const { return static_cast<int32_t>(plan_.steps.size()); }

  /// The ranges of a tier in the order in which they are packed.
  struct Ranges {
    std::vector<Interval> intervals;
    std::vector<int32_t> number;   ///< of each, its number in the tier
    std::vector<int32_t> follows;  ///< of each, the range whose first bytes it continues, or kNone
  };

  Ranges Sorted(const std::vector<Interval>& intervals, Tier tier) const {
    const bool device = tier == Tier::kDevice;
    int32_t start = 0;  // the Allocs at the start of the plan happen at one moment
    while (device && start < StepCount() && plan_.steps[start].kind == StepKind::kAlloc) ++start;
    Ranges sorted;
    const auto add = [&](int64_t number) {
      Interval interval = intervals[number];
      interval.bytes = Aligned(interval.bytes + options_.padding);
      interval.begin = std::max(interval.begin, start);
      interval.end = std::min(interval.end, StepCount() + 1);
      sorted.number.push_back(static_cast<int32_t>(number));
      sorted.intervals.push_back(interval);
    };
    for (const Home& home : plan_.homes) {
      if (home.tier == tier) add(home.offset);
    }
    for (const Step& step : plan_.steps) {
      if (TakesRange(step) && step.tier == tier) add(step.offset);
    }
    sorted.follows.assign(sorted.number.size(), kNone);
    if (!device) return sorted;
    std::vector<int32_t> place(out_.device.size());
    for (size_t i = 0; i < place.size(); ++i) place[sorted.number[i]] = static_cast<int32_t>(i);
    for (size_t i = 0; i < place.size(); ++i) {
      const int32_t before = out_.follows[sorted.number[i]];
      if (before != kNone) sorted.follows[i] = place[before];
    }
    return sorted;
  }

  /// Packs as if a tensor with a part had its whole range all the time.
  static Packing PackJoined(const Ranges& ranges, int64_t enough_bytes) {
    const size_t count = ranges.intervals.size();
    std::vector<Interval> joined;
    std::vector<int32_t> index(count);
    for (size_t i = 0; i < count; ++i) {  // a range comes after the one that it follows
      const int32_t before = ranges.follows[i];
      index[i] = before == kNone ? static_cast<int32_t>(joined.size()) : index[before];
      if (before == kNone) joined.push_back(ranges.intervals[i]);
      joined[index[i]].end = ranges.intervals[i].end;
    }
    Packing packing = pack::Pack(joined, enough_bytes);
    std::vector<int64_t> offsets(count);
    for (size_t i = 0; i < count; ++i) offsets[i] = packing.offsets[index[i]];
    packing.offsets = std::move(offsets);
    return packing;
  }

  int64_t PlaceFixed(const Ranges& ranges, Tier tier, int64_t enough_bytes) {
    const Packing packing = PackJoined(ranges, enough_bytes);
    SetOffsets(ranges, packing, tier);
    return packing.bytes;
  }

  void SetOffsets(const Ranges& ranges, const Packing& packing, Tier tier) {
    std::vector<int64_t> offsets(tier == Tier::kDevice ? out_.device.size() : out_.host.size());
    for (size_t i = 0; i < ranges.number.size(); ++i)
      offsets[ranges.number[i]] = packing.offsets[i];
    for (Home& home : plan_.homes) {
      if (home.tier == tier) home.offset = offsets[home.offset];
    }
    for (Step& step : plan_.steps) {
      if (!TakesRange(step) || step.tier != tier) continue;
      step.offset = LeavesPart(step) ? 0 : offsets[step.offset];
    }
  }

  /// Packs with Moves if packing into fixed ranges takes too many bytes and Moves help.
  int64_t PlaceMoving(const Ranges& ranges) {
    const int64_t enough = options_.enough_bytes;
    const bool timed = !options_.timings.ranges.empty();
    Packing at_once;
    std::optional<MovingPacking> found;
    if (timed) found = PackBetweenRuns(ranges, enough);
    if (!found) {
      at_once = PackJoined(ranges, std::numeric_limits<int64_t>::max());
      if (at_once.bytes > enough && !timed) found = PackBetweenRuns(ranges, enough);
    }
    const Packing& packing = found ? found->packing : at_once;
    SetOffsets(ranges, packing, Tier::kDevice);
    if (found && !found->shifts.empty()) EmitMoves(ranges, found->shifts);
    return packing.bytes;
  }

  std::optional<MovingPacking> PackBetweenRuns(const Ranges& ranges, int64_t enough) const {
    // Times are half steps, so that there is a moment before the first step of each run.
    std::vector<Interval> intervals = ranges.intervals;
    for (Interval& interval : intervals) {
      interval.begin = 2 * interval.begin;
      interval.end = 2 * interval.end - 1;
    }
    std::vector<int32_t> moments;
    for (const int32_t start : out_.run_starts) moments.push_back(2 * start - 1);
    std::vector<Movable> movable;
    pack::Timings timings = options_.timings;
    timings.ranges.clear();
    const std::vector<Movable> by_block = FindMovable();
    for (const int32_t block : ranges.number) {
      movable.push_back(by_block[block]);
      if (!options_.timings.ranges.empty())
        timings.ranges.push_back(options_.timings.ranges[block]);
    }
    return pack::PackCompacting(intervals, movable, moments, timings, kAlignment, enough,
                                ranges.follows);
  }

  /// By block: the runs before which it may be moved, as moments. A block may be moved while it
  /// holds one tensor alone that is no smaller than the block, though others may be laid on it
  /// later. It has settled after its first use; before that, a copy to it may be under way.
  std::vector<Movable> FindMovable() const {
    struct Runs {
      RunId first = kNone;
      RunId settled = kNone;
      RunId last = kNone;
      RunId most = std::numeric_limits<RunId>::max();
    };
    std::vector<Runs> runs(lives_.blocks);
    for (const LiveInterval& interval : lives_.intervals) {
      Runs& block = runs[interval.block];
      if (IsPart(graph_, interval)) {
        block = {interval.begin, interval.begin, interval.end + 1};
        continue;
      }
      if (interval.on == kNone) {
        block.settled = FirstUse(interval) + 1;
        block.first = interval.fetched_for != kNone ? interval.begin + 1 : block.settled;
      }
      if (Aligned(graph_.tensors[interval.tensor].bytes) < interval.bytes)
        block.most = std::min(block.most, interval.begin);
      if (interval.begin == kNone) block.most = kNone;
      block.last = std::max(block.last, std::min(interval.end, RunCount() - 1));
    }
    std::vector<Movable> movable(runs.size());
    const auto moment = [this](RunId r) {
      return r < RunCount() ? 2 * out_.run_starts[r] - 1 : kToTheEnd;
    };
    for (size_t i = 0; i < runs.size(); ++i) {
      const auto [first, settled, last, most] = runs[i];
      if (first <= std::min(last, most) && most >= 0)
        movable[i] = {moment(first), moment(std::min(last, most)), moment(settled)};
    }
    return movable;
  }

  RunId FirstUse(const LiveInterval& interval) const {
    for (const Eviction& eviction : program_.tensors[interval.tensor].evictions) {
      if (eviction.prefetch == interval.begin) return eviction.before;
    }
    return interval.begin;
  }

  void EmitMoves(const Ranges& ranges, const std::vector<Shift>& shifts) {
    std::vector<Step> steps;
    steps.reserve(plan_.steps.size() + shifts.size());
    auto shift = shifts.begin();
    for (int32_t i = 0; i < StepCount(); ++i) {
      for (; shift != shifts.end() && shift->at == 2 * i - 1; ++shift) {
        const LiveInterval& interval = IntervalIn(ranges.number[shift->interval], i);
        Step step;
        step.kind = StepKind::kCopy;
        step.tensor = interval.tensor;
        step.offset = shift->offset;
        step.end = std::min(interval.bytes, graph_.tensors[interval.tensor].bytes);
        steps.push_back(step);
      }
      steps.push_back(plan_.steps[i]);
    }
    for (int32_t& end : plan_.pass_end) {
      const int32_t last = end;
      end += static_cast<int32_t>(std::count_if(
          shifts.begin(), shifts.end(), [&](const Shift& s) { return s.at < 2 * last - 1; }));
    }
    plan_.steps = std::move(steps);
  }

  /// The interval that is alone in `block` when the run begins whose first step is `at`.
  const LiveInterval& IntervalIn(int32_t block, int32_t at) const {
    const auto start = std::lower_bound(out_.run_starts.begin(), out_.run_starts.end(), at);
    const auto r = static_cast<RunId>(start - out_.run_starts.begin());
    const auto is_in = [&](const LiveInterval& interval) {
      return interval.block == block &&
             (IsPart(graph_, interval) || (interval.begin < r && r <= interval.end));
    };
    return *std::find_if(lives_.intervals.begin(), lives_.intervals.end(), is_in);
  }

  const Graph& graph_;
  const Program& program_;
  const Lifetimes& lives_;
  const pack::Options& options_;
  Emitted out_;
  Plan& plan_;
};

}  // namespace

Plan PlaceRanges(const Graph& graph, const Program& program, const Lifetimes& lives,
                 Emitted emitted, const pack::Options& options) {
  return Placer(graph, program, lives, std::move(emitted), options).Place();
}

}  // namespace layrub::placement::schedule
