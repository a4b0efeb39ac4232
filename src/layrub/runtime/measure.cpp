#include "layrub/runtime/measure.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace layrub {
namespace {

constexpr int kSamples = 7;

/// Owns two buffers on the device and two in another tier.
struct Buffers {
  Buffers(Backend* b, Tier t, int64_t bytes) : backend(b), tier(t) {
    for (int i = 0; i < 2; ++i) {
      device[i] = backend->Allocate(Tier::kDevice, bytes);
      away[i] = backend->Allocate(tier, bytes);
    }
  }
  ~Buffers() {
    for (int i = 0; i < 2; ++i) {
      backend->Free(Tier::kDevice, device[i]);
      backend->Free(tier, away[i]);
    }
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
  bool complete() const { return device[0] && device[1] && away[0] && away[1]; }

  Backend* const backend;
  const Tier tier;
  std::array<void*, 2> device{}, away{};
};

/// Returns the median seconds to copy `bytes` off the device (`down`), to it (`up`), or both at the
/// same time.
double CopySeconds(const Buffers& buffers, int64_t bytes, bool down, bool up) {
  Backend* const backend = buffers.backend;
  const Lane save = OffloadLane(buffers.tier), load = PrefetchLane(buffers.tier);
  std::vector<double> seconds;
  for (int i = 0; i <= kSamples; ++i) {
    backend->Synchronize();
    const Event begin = backend->Record(Lane::kCompute);
    if (down) backend->Copy(save, buffers.away[0], buffers.device[0], bytes);
    if (up) backend->Copy(load, buffers.device[1], buffers.away[1], bytes);
    const Event saved = backend->Record(save);
    const Event loaded = backend->Record(load);
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

/// Returns bytes per second, without the latency of each copy.
double Rate(const Buffers& buffers, int64_t bytes, double latency, bool down, bool up) {
  const double seconds = CopySeconds(buffers, bytes, down, up);
  // At least half of the time counts: if other programs delayed the short copies, the latency is
  // wrong.
  const double moving = std::max({seconds - latency, seconds / 2, 1e-9});
  return static_cast<double>(down && up ? 2 * bytes : bytes) / moving;
}

}  // namespace

void MeasureCopies(Backend* backend, int64_t bytes, Machine* machine) {
  const Buffers host(backend, Tier::kHost, bytes);
  if (!host.complete()) return;
  const double latency = CopySeconds(host, std::min(bytes, kAlignment), true, false);
  machine->latency = std::max(latency, 1e-9);
  machine->link_down = Rate(host, bytes, latency, true, false);
  machine->link_up = Rate(host, bytes, latency, false, true);
  machine->link_both =
      std::min(Rate(host, bytes, latency, true, true), machine->link_down + machine->link_up);
  const Buffers file(backend, Tier::kFile, bytes);
  if (!file.complete()) return;
  machine->file_write = Rate(file, bytes, latency, true, false);
  machine->file_read = Rate(file, bytes, latency, false, true);
}

}  // namespace layrub
