#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_

// The inside of the fake runtime: streams of work and the order between them.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/cuda/test/fake_runtime.hpp"
#include "layrub/device/emulated_device.hpp"

/// A point of a stream's work.
struct Mark {
  CUstream_st* stream = nullptr;  ///< null: not queued yet
  bool happened = false;
  double milliseconds = 0;
};

/// One piece of a stream's work: an action, a mark to reach, or a wait for a mark or for the host.
struct Work {
  std::function<void()> act = {};
  std::shared_ptr<Mark> reach = {}, wait = {};
  std::function<bool()> until = {};
  std::array<const void*, 2> touches{};  ///< first addresses of the ranges copied or filled
};

// The types that CUDA's headers only declare.
struct CUstream_st {
  int device = 0;
  double haste = 0;       ///< the chance that its next piece of work is done during a call
  bool blocking = false;  ///< it and the default stream wait for one another
  bool captures = false;  ///< what is queued is kept in `captured`
  std::deque<Work> queue;
  std::vector<Work> captured;
};

struct CUgraph_st {
  std::vector<Work> work;
};

struct CUgraphExec_st {
  std::vector<Work> work;
};

struct CUevent_st {
  int device = 0;
  std::shared_ptr<Mark> mark;  ///< of its last record
};

namespace layrub::fake_cuda {

struct Memory {
  int64_t bytes = 0;
  int device = -1;  ///< -1: pinned
};

struct Device {
  CUstream_st default_stream;
  std::unique_ptr<EmulatedDevice> memory;
  int64_t used = 0;             ///< by the context and by what was allocated
  int64_t libraries_bytes = 0;  ///< taken without a call of the API
  bool has_context = false;
};

inline constexpr double kMillisecondsOfWork = 1e-3;

inline thread_local int current_device = 0;
inline thread_local bool at_work = false;
inline thread_local CUstream_st* captured_stream = nullptr;  ///< by this thread

/// Lets calls of other threads go on until one has queued the mark. Returns false on a timeout.
bool AwaitOthers(const Mark& mark);
/// The same until `done` holds, which other threads bring about without a call.
bool AwaitOthers(const std::function<bool()>& done);

/// The state that all calls share. One call at a time uses it.
struct Runtime {
  explicit Runtime(Options o) : options(std::move(o)), random(options.seed) {
    devices.resize(static_cast<size_t>(options.devices));
    for (size_t i = 0; i < devices.size(); ++i) {
      devices[i].default_stream.device = static_cast<int>(i);
      devices[i].default_stream.haste = Haste();
      // Twice the device's bytes, to allow for fragmentation. Always accessible without protection.
      devices[i].memory = std::make_unique<EmulatedDevice>(2 * options.device_bytes, 0);
      if (!options.protect) devices[i].memory->BeginKernel();
    }
  }
  ~Runtime() {
    for (const auto& [address, range] : memory) GiveBack(address, range);
  }
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  void GiveBack(char* address, const Memory& range) {
    if (range.device < 0) {
      std::free(address);
    } else {
      devices[range.device].memory->Free(address);
    }
  }

  void Violate(const std::string& what) {
    if (options.strict) {
      std::fprintf(stderr, "fake GPU: %s\n", what.c_str());
      std::abort();
    }
    violations.push_back(what);
  }

  double Haste() {
    if (options.pace == Pace::kEarly) return 1;
    if (options.pace == Pace::kLate) return 0;
    return std::array{0.0, 0.3, 1.0}[random() % 3];
  }

  std::vector<CUstream_st*> Streams() {
    std::vector<CUstream_st*> all;
    for (Device& device : devices) all.push_back(&device.default_stream);
    for (const auto& stream : streams) all.push_back(stream.get());
    return all;
  }

  CUstream_st* StreamOf(cudaStream_t stream) {
    return stream ? stream : &devices[current_device].default_stream;
  }

  /// Queues `work`, with the waits between CUDA's default stream and the blocking streams.
  void Put(CUstream_st* stream, Work work) {
    if (captured_stream != nullptr && stream != captured_stream)
      Violate("a thread that captures a stream queues work on another");
    if (stream->captures) return stream->captured.push_back(std::move(work));
    const auto come_behind = [&](CUstream_st* other) {
      if (other->queue.empty()) return;
      const auto mark = std::make_shared<Mark>(Mark{other, false, 0});
      other->queue.push_back({.reach = mark});
      stream->queue.push_back({.wait = mark});
    };
    CUstream_st* const by_default = &devices[static_cast<size_t>(stream->device)].default_stream;
    if (stream->blocking) come_behind(by_default);
    for (const auto& other : streams) {
      if (stream == by_default && other->blocking && other->device == stream->device)
        come_behind(other.get());
    }
    stream->queue.push_back(std::move(work));
  }

  static bool Ready(const CUstream_st& stream) {
    if (stream.queue.empty()) return false;
    const Work& next = stream.queue.front();
    return (!next.wait || next.wait->happened) && (!next.until || next.until());
  }

  void DoNext(CUstream_st* stream) {
    const Work work = std::move(stream->queue.front());
    stream->queue.pop_front();
    milliseconds += kMillisecondsOfWork;
    if (work.reach) {
      work.reach->happened = true;
      work.reach->milliseconds = milliseconds;
    }
    if (!work.act || sticky != cudaSuccess) return;
    if (options.fail) sticky = options.fail("work");
    if (sticky != cudaSuccess) return;
    at_work = true;
    for (Device& device : devices) {
      if (options.protect) device.memory->BeginKernel();
    }
    work.act();
    for (Device& device : devices) {
      if (options.protect) device.memory->EndKernel();
    }
    at_work = false;
  }

  /// Does work that proceeds on its own while a call is made or something waits.
  void GoOn() {
    std::vector<CUstream_st*> all = Streams();
    std::shuffle(all.begin(), all.end(), random);
    const auto hurries = [this](const CUstream_st& stream) {
      return std::uniform_real_distribution<>()(random) < stream.haste;
    };
    for (bool more = true; more;) {
      more = false;
      for (CUstream_st* stream : all) {
        while (Ready(*stream) && hurries(*stream)) {
          DoNext(stream);
          more = true;
        }
      }
    }
  }

  /// Does only the work that `mark` needs.
  void Reach(const std::shared_ptr<Mark> mark) {
    while (!mark->happened && mark->stream) Step(mark->stream);
    if (mark->happened) return;
    if (options.strict && AwaitOthers(*mark)) return Reach(mark);
    Violate("the host waits for what nobody has queued");
    mark->happened = true;
  }
  void Finish(CUstream_st* stream) {
    while (!stream->queue.empty()) Step(stream);
  }
  void Step(CUstream_st* stream) {
    if (!Ready(*stream)) {
      const Work& next = stream->queue.front();
      if (next.wait) return Reach(next.wait);
      // After a failure nothing waits.
      if (sticky == cudaSuccess && AwaitOthers(std::function<bool()>(next.until))) return;
      if (sticky == cudaSuccess) Violate("the host waits for a stream that waits for the host");
      stream->queue.pop_front();
    } else {
      DoNext(stream);
      GoOn();
    }
  }

  /// Makes the context at the first use of a device, which takes memory.
  void UseDevice(int id) {
    Device& device = devices[static_cast<size_t>(id)];
    if (!device.has_context) device.used += options.context_bytes;
    device.has_context = true;
  }

  int64_t FreeBytes(int id) const {
    const Device& device = devices[static_cast<size_t>(id)];
    return options.device_bytes - options.others_bytes - device.used - device.libraries_bytes;
  }

  bool Pinned(const void* address) const {
    const auto range = RangeOf(address);
    return range != memory.end() && range->second.device < 0;
  }
  bool OnDevice(const void* address) const {
    const auto range = RangeOf(address);
    return range != memory.end() && range->second.device >= 0;
  }
  /// Whether [address, address + bytes) is memory of that device, within one allocation.
  bool Holds(int device, const void* address, int64_t bytes) const {
    const auto range = RangeOf(address);
    return range != memory.end() && range->second.device == device &&
           static_cast<const char*>(address) + bytes <= range->first + range->second.bytes;
  }
  std::map<char*, Memory>::const_iterator RangeOf(const void* address) const {
    char* const at = static_cast<char*>(const_cast<void*>(address));
    auto range = memory.upper_bound(at);
    if (range == memory.begin()) return memory.end();
    --range;
    return at < range->first + range->second.bytes ? range : memory.end();
  }

  Options options;
  std::mt19937 random;
  std::vector<Device> devices;
  std::vector<std::unique_ptr<CUstream_st>> streams;
  std::vector<std::unique_ptr<CUevent_st>> events;
  std::vector<std::unique_ptr<CUgraph_st>> graphs;
  std::vector<std::unique_ptr<CUgraphExec_st>> instances;
  std::map<char*, Memory> memory;
  int64_t pinned = 0;
  double milliseconds = 0;  ///< a clock that goes on with each piece of work
  cudaError_t sticky = cudaSuccess;
  int waits = 0;
  std::vector<Call> calls;
  std::vector<std::string> violations;
};

/// Makes one call of the API, or of a library that works on its streams. Notes the call, returns an
/// error if the test or an earlier failure demands it, and otherwise calls `body` under the lock.
cudaError_t Enter(Call call, const std::function<cudaError_t(Runtime&)>& body);

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_
