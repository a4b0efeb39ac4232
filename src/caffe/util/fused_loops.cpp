#include "caffe/util/fused_loops.hpp"

#include <glog/logging.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

/// Values of an array in a tile, at least: enough for what a call of a loop costs not to count, few
/// enough for some arrays of them to lie in a core's first cache.
constexpr int64_t kTile = 1024;

std::atomic<bool> enabled = true;

}  // namespace

thread_local DeferredWork* DeferredWork::current_ = nullptr;
thread_local FusedLoops* FusedLoops::current_ = nullptr;
thread_local int FusedLoops::operands_ = 0;

void FusedLoops::Enable(bool value) { enabled = value; }

FusedLoops::Scope::Scope(FusedLoops* loops, const Shape& shape) : outer_(current_) {
  current_ = enabled ? loops : nullptr;
  if (loops == nullptr) return;
  CHECK(loops->loops_.empty() || loops->shape_ == shape);
  loops->shape_ = shape;
}

FusedLoops::Scope::~Scope() { current_ = outer_; }

bool FusedLoops::Add(int64_t n, bool parallel, const void* body, size_t bytes, Chunk chunk) {
  const int64_t rows = shape_.outer * shape_.channels;
  if (n != shape_.channels && n != rows && n != rows * shape_.inner) {
    Finish();
    return false;
  }
  const size_t at = bodies_.size();
  bodies_.resize(at + (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  memcpy(&bodies_[at], body, bytes);
  loops_.push_back({n, parallel, at, chunk});
  return true;
}

void FusedLoops::RunChannels(int64_t begin, int64_t end) const {
  const int64_t step = std::max<int64_t>(1, kTile / shape_.inner);
  for (int64_t first = begin; first < end; first += step) {
    const int64_t last = std::min(first + step, end);
    for (auto loop = loops_.begin(); loop != loops_.end();) {
      if (loop->n == shape_.channels) {
        loop->chunk(&bodies_[loop->body], first, last);
        ++loop;
        continue;
      }
      const auto next = std::find_if(
          loop, loops_.end(), [this](const Entry& entry) { return entry.n == shape_.channels; });
      for (int64_t o = 0; o < shape_.outer; ++o) {
        const int64_t above = o * shape_.channels;
        for (auto part = loop; part != next; ++part) {
          const int64_t row = part->n / (shape_.outer * shape_.channels);
          part->chunk(&bodies_[part->body], (above + first) * row, (above + last) * row);
        }
      }
      loop = next;
    }
  }
}

void FusedLoops::Finish() {
  if (loops_.empty()) return;
  if (loops_.size() == 1 || shape_.channels < CpuThreads()) {
    for (const Entry& loop : loops_)
      RunLoop(loop.n, loop.parallel, &bodies_[loop.body], loop.chunk);
  } else {
    const bool parallel =
        std::any_of(loops_.begin(), loops_.end(), [](const Entry& loop) { return loop.parallel; });
    RunLoop(shape_.channels, parallel, this, [](const void* loops, int64_t begin, int64_t end) {
      static_cast<const FusedLoops*>(loops)->RunChannels(begin, end);
    });
    fused_ += static_cast<int64_t>(loops_.size());
  }
  loops_.clear();
  bodies_.clear();
}

}  // namespace caffe
