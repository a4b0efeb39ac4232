#include "layrub/placement/check/check_order.hpp"

#include <algorithm>

namespace layrub::placement::check {

void LaneOrder::Queue(int32_t step, Lane lane) {
  const int32_t index = static_cast<int32_t>(lane);
  steps_[step] = {index, lanes_[index]};
  ++lanes_[index][index];
}

void LaneOrder::Wait(Lane lane, int32_t step) {
  Clock& now = lanes_[Index(lane)];
  const Timed& awaited = steps_[step];
  for (size_t i = 0; i < now.size(); ++i) now[i] = std::max(now[i], awaited.before[i]);
  now[awaited.lane] = std::max(now[awaited.lane], awaited.before[awaited.lane] + 1);
}

bool LaneOrder::FinishedBefore(int32_t earlier, int32_t later) const {
  const int32_t lane = steps_[earlier].lane;
  return steps_[later].before[lane] > steps_[earlier].before[lane];
}

AccessLog::Segments::iterator AccessLog::Split(int64_t at) {
  auto next = segments_.lower_bound(at);
  if (next != segments_.end() && next->first == at) return next;
  return segments_.emplace_hint(next, at, std::prev(next)->second);
}

int32_t AccessLog::Read(int32_t step, int64_t begin, int64_t end) {
  if (begin >= end) return kNone;
  const auto first = Split(begin);
  const auto last = Split(end);
  const auto lane = static_cast<size_t>(order_.LaneOf(step));
  int32_t conflict = kNone;
  for (auto it = first; it != last; ++it) {
    if (Unordered(it->second.writer, step)) conflict = it->second.writer;
    it->second.readers[lane] = step;
  }
  return conflict;
}

int32_t AccessLog::Write(int32_t step, int64_t begin, int64_t end) {
  if (begin >= end) return kNone;
  const auto first = Split(begin);
  const auto last = Split(end);
  int32_t conflict = kNone;
  for (auto it = first; it != last; ++it) {
    if (Unordered(it->second.writer, step)) conflict = it->second.writer;
    for (int32_t reader : it->second.readers) {
      if (Unordered(reader, step)) conflict = reader;
    }
  }
  segments_.erase(std::next(first), last);
  first->second = Segment{step, kNoSteps};
  return conflict;
}

}  // namespace layrub::placement::check
