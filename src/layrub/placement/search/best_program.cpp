#include "layrub/placement/search/best_program.hpp"

#include <limits>
#include <utility>

#include "layrub/placement/cost/fastest_algorithms.hpp"
#include "layrub/placement/cost/live_bytes.hpp"
#include "layrub/placement/cost/run_starts.hpp"
#include "layrub/placement/cost/timeline.hpp"
#include "layrub/placement/search/evaluate.hpp"

namespace layrub::placement::search {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// While looking for the smallest budget, a plan is packed into its peak of live bytes and one
/// kTight-th part of that more.
constexpr int64_t kTight = 200;
constexpr double kRounding = 1e-6;  ///< relative error of simulated times

}  // namespace

double BestProgram::Consider(Program program) {
  ConsiderFaster(program);
  return Try(std::move(program));
}

void BestProgram::ConsiderFaster(const Program& program) {
  if (std::optional<Program> faster = cost::FasterAtSameSize(graph_, machine_, program))
    Try(std::move(*faster));
}

void BestProgram::ConsiderWithoutMoves(const Program& program) {
  const Result<Lifetimes> lives = FindLifetimes(graph_, program, room_.host);
  if (lives.ok())
    Take(Pack(graph_, machine_, room_.device, lives.value(), program, {.host_bytes = room_.host}));
}

void BestProgram::Take(Packed packed) {
  const int64_t needed = packed.plan.device_bytes;
  const bool fits =
      packed.seconds < kNever && needed <= room_.device && FitsOffDevice(packed.plan, budget_);
  if (fits && fits_ && packed.seconds >= best_->seconds) return;
  if (!fits && (fits_ || (best_ && needed >= bytes()))) return;
  best_ = std::move(packed);
  fits_ = fits;
}

double BestProgram::Try(Program program) {
  const Result<Lifetimes> lives = FindLifetimes(graph_, program, room_.host);
  if (!lives.ok()) {
    Plan impossible;
    impossible.device_bytes = kUnlimited;
    Take({std::move(program), {}, std::move(impossible), kNever});
    return kNever;
  }
  // No packing needs fewer than `peak` bytes.
  const int64_t peak = cost::PeakLiveBytes(lives.value(), program.runs.size());
  if (peak > room_.device && best_ && (fits_ || peak >= bytes())) return kNever;
  if (fits_ &&
      cost::RunStarts(graph_, machine_, program.runs).back() * (1 - kRounding) > best_->seconds)
    return kNever;
  double seconds = peak <= room_.device ? Predict(program) : kNever;
  if (fits_ && seconds >= best_->seconds) return seconds;  // packing takes the longest
  Packed packed =
      Pack(graph_, machine_, room_.device, lives.value(), std::move(program),
           {.enough_bytes = EnoughBytes(peak), .host_bytes = room_.host, .may_move = true});
  if (packed.plan.device_bytes > room_.device) seconds = kNever;
  Take(std::move(packed));
  return seconds;
}

/// The seconds that a program takes within the budget if its copies are issued as Evaluate does.
double BestProgram::Predict(const Program& program) const {
  Program timed = WithoutTimes(program);
  const Lifetimes lives = FindLifetimes(graph_, timed, room_.host).value();
  return Evaluate(graph_, machine_, room_.device, lives, cost::LiveBytes(lives, timed.runs.size()),
                  &timed)
      .seconds;
}

/// The bytes into which a program with this peak is packed.
int64_t BestProgram::EnoughBytes(int64_t peak) const {
  if (peak <= room_.device) return room_.device;
  return peak > goal_ ? kUnlimited : peak + (peak - state_) / kTight;
}

}  // namespace layrub::placement::search
