#include "layrub/runtime/measure.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace layrub {
namespace {

constexpr int kSamples = 7;

/// Two buffers on each tier; frees them.
struct Buffers {
  Buffers(Backend* b, int64_t bytes) : backend(b) {
    for (int i = 0; i < 2; ++i) {
      device[i] = backend->Allocate(Tier::kDevice, bytes);
      host[i] = backend->Allocate(Tier::kHost, bytes);
    }
  }
  ~Buffers() {
    for (int i = 0; i < 2; ++i) {
      backend->Free(Tier::kDevice, device[i]);
      backend->Free(Tier::kHost, host[i]);
    }
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  bool complete() const { return device[0] && device[1] && host[0] && host[1]; }

  Backend* const backend;
  std::array<void*, 2> device{}, host{};
};

/// Median seconds in which `bytes` go down (`down`), up (`up`), or each way at the same time.
double CopySeconds(const Buffers& buffers, int64_t bytes, bool down, bool up) {
  Backend* const backend = buffers.backend;
  std::vector<double> seconds;
  for (int i = 0; i <= kSamples; ++i) {
    backend->Synchronize();
    const Event begin = backend->Record(Lane::kCompute);
    if (down) backend->Copy(Lane::kSave, buffers.host[0], buffers.device[0], bytes);
    if (up) backend->Copy(Lane::kLoad, buffers.device[1], buffers.host[1], bytes);
    const Event saved = backend->Record(Lane::kSave);
    const Event loaded = backend->Record(Lane::kLoad);
    backend->Synchronize();
    double end = 0;
    if (down) end = std::max(end, backend->SecondsOf(saved));
    if (up) end = std::max(end, backend->SecondsOf(loaded));
    // The first copy touches the memory for the first time.
    if (i > 0) seconds.push_back(end - backend->SecondsOf(begin));
  }
  std::nth_element(seconds.begin(), seconds.begin() + kSamples / 2, seconds.end());
  return seconds[kSamples / 2];
}

}  // namespace

void MeasureCopies(Backend* backend, int64_t bytes, Machine* machine) {
  const Buffers buffers(backend, bytes);
  if (!buffers.complete()) return;
  const double latency = CopySeconds(buffers, std::min(bytes, kAlignment), true, false);
  const auto rate = [&](bool down, bool up) {
    const double seconds = CopySeconds(buffers, bytes, down, up);
    // Where others delay the short copies, what is left of the long ones says nothing.
    const double moving = std::max({seconds - latency, seconds / 2, 1e-9});
    return static_cast<double>(down && up ? 2 * bytes : bytes) / moving;
  };
  machine->latency = std::max(latency, 1e-9);
  machine->link_down = rate(true, false);
  machine->link_up = rate(false, true);
  machine->link_both = std::min(rate(true, true), machine->link_down + machine->link_up);
}

}  // namespace layrub
