#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_

// What the fake runtime is made of: streams of work, and who is ahead of whom.

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
  CUstream_st* stream = nullptr;  ///< null: nobody has queued it yet
  bool happened = false;
  double milliseconds = 0;
};

/// One piece of a stream's work: something to do, a mark to reach, or a mark or the host to wait
/// for.
struct Work {
  std::function<void()> act = {};
  std::shared_ptr<Mark> reach = {}, wait = {};
  std::function<bool()> until = {};
  std::array<const void*, 2> touches{};  ///< the beginnings of what is copied or filled
};

// The types that CUDA's headers declare and leave open.
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
  int64_t libraries_bytes = 0;  ///< by what nobody has asked for by a call
  bool has_context = false;
};

inline constexpr double kMillisecondsOfWork = 1e-3;

inline thread_local int current_device = 0;
inline thread_local bool at_work = false;
inline thread_local CUstream_st* captured_stream = nullptr;  ///< by this thread

/// Lets calls of other threads go on until one has queued the mark; false if none does in time.
bool AwaitOthers(const Mark& mark);
/// The same until `done`, which other threads bring about without a call.
bool AwaitOthers(const std::function<bool()>& done);

/// All that calls share, for one call at a time.
struct Runtime {
  explicit Runtime(Options o) : options(std::move(o)), random(options.seed) {
    devices.resize(static_cast<size_t>(options.devices));
    for (size_t i = 0; i < devices.size(); ++i) {
      devices[i].default_stream.device = static_cast<int>(i);
      devices[i].default_stream.haste = Haste();
      // Twice what it has, for what lies in pieces; without protection always within reach.
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

  /// Queues `work`, behind what CUDA's default stream and those that block wait for.
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

  /// What goes on by itself while a call is being made, or somebody waits.
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

  /// Does what `mark` needs and nothing more.
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
      // What has failed waits for nobody.
      if (sticky == cudaSuccess && AwaitOthers(std::function<bool()>(next.until))) return;
      if (sticky == cudaSuccess) Violate("the host waits for a stream that waits for the host");
      stream->queue.pop_front();
    } else {
      DoNext(stream);
      GoOn();
    }
  }

  /// The first use of a device takes memory of it.
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

/// One call of the API, or of a library that works on its streams: noted, refused if the test or
/// what has failed before says so, else `body`, under the lock.
cudaError_t Enter(Call call, const std::function<cudaError_t(Runtime&)>& body);

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_STREAMS_HPP_
