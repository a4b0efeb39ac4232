#include "layrub/placement/search/pack_timed.hpp"

#include <algorithm>
#include <utility>

#include "layrub/placement/schedule/schedule.hpp"
#include "layrub/placement/schedule/waits.hpp"

namespace layrub::placement::search {
namespace {

/// By block, when it is in use if runs begin at `starts`.
std::vector<pack::Timing> TimingsOf(const Lifetimes& lives, const std::vector<double>& starts) {
  std::vector<pack::Timing> timings(static_cast<size_t>(lives.blocks), pack::Timing{kNever, 0});
  const auto last = static_cast<RunId>(starts.size()) - 1;
  for (const LiveInterval& interval : lives.intervals) {
    pack::Timing& timing = timings[interval.block];
    timing.wanted = std::min(timing.wanted, starts[std::max(0, interval.begin)]);
    timing.ready = std::max(timing.ready, starts[std::min(last, interval.end + 1)]);
  }
  return timings;
}

}  // namespace

Packed Pack(const Graph& graph, const Machine& machine, int64_t device_bytes,
            const Lifetimes& lives, Program program, pack::Options options) {
  Packed packed{std::move(program), std::move(options), {}, kNever};
  packed.plan = schedule::PackSteps(graph, packed.program, lives, packed.options);
  if (packed.plan.device_bytes > device_bytes) return packed;  // how fast it is does not matter
  schedule::AddWaits(graph, &packed.plan);
  packed.seconds = Simulate(graph, packed.plan, machine).seconds;
  return packed;
}

Packed PackTimed(const Graph& graph, const Machine& machine, const Room& room,
                 const Lifetimes& lives, Program program, const std::vector<double>& starts) {
  pack::Options options{.enough_bytes = room.device, .host_bytes = room.host, .may_move = true};
  options.timings = {TimingsOf(lives, starts), 2 / machine.memory_bandwidth, machine.latency};
  return Pack(graph, machine, room.device, lives, std::move(program), std::move(options));
}

}  // namespace layrub::placement::search
