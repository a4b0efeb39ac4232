#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_LIBRARY_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_LIBRARY_HPP_

// What the fakes of cuBLAS, cuRAND and cuDNN share. They check their arguments carefully, and do
// their work with loops on the CPU, on the streams of the fake runtime. Their calls count for
// LAYRUB_FAKE_GPU's fail as those of the runtime do.

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "layrub/device/cuda/test/fake_streams.hpp"

namespace layrub::fake_cuda {

/// The device and stream of a library's handle.
struct Place {
  int device = current_device;
  cudaStream_t stream = nullptr;
};

/// Memory of the device that a call reads or writes.
struct Operand {
  const void* address = nullptr;
  int64_t bytes = 0;
  bool written = false;
};

/// Whether an output may have the same address as an input.
enum class InPlace : uint8_t { kNo, kYes };

/// Queues `act`, and waits for it if `wait`. It is a violation if an operand is not memory of the
/// device, or is written and overlaps another one.
inline cudaError_t QueueCall(const char* name, const Place& place,
                             const std::vector<Operand>& operands, std::function<void()> act,
                             InPlace in_place = InPlace::kNo, bool wait = false) {
  return Enter({name}, [&](Runtime& runtime) {
    if (place.device != current_device)
      runtime.Violate(std::string(name) + ": its handle is of another device");
    for (const Operand& one : operands) {
      if (one.bytes == 0) continue;
      if (!runtime.Holds(place.device, one.address, one.bytes))
        runtime.Violate(std::string(name) + ": an operand is not memory of the device");
      for (const Operand& other : operands) {
        if (&one == &other || !one.written || other.bytes == 0) continue;
        const auto* const a = static_cast<const char*>(one.address);
        const auto* const b = static_cast<const char*>(other.address);
        if (a == b && in_place == InPlace::kYes && !other.written) continue;
        if (a < b + other.bytes && b < a + one.bytes)
          runtime.Violate(std::string(name) + ": what it writes overlaps what else it is given");
      }
    }
    CUstream_st* const stream =
        place.stream ? place.stream
                     : &runtime.devices[static_cast<size_t>(place.device)].default_stream;
    if (!runtime.options.idle) runtime.Put(stream, {.act = std::move(act)});
    if (wait && captured_stream)
      runtime.Violate(std::string(name) + " waits in a thread that captures a stream");
    if (wait) runtime.Finish(stream);
    return cudaSuccess;
  });
}

/// A call that queues nothing.
inline cudaError_t PlainCall(const char* name) {
  return Enter({name}, [](Runtime&) { return cudaSuccess; });
}

/// Opens a library, whose code takes memory of the device.
inline cudaError_t OpenLibrary(const char* name, int64_t bytes) {
  return Enter({name}, [&](Runtime& runtime) {
    runtime.UseDevice(current_device);
    runtime.devices[static_cast<size_t>(current_device)].libraries_bytes += bytes;
    return cudaSuccess;
  });
}

inline cudaError_t CloseLibrary(const char* name, const Place& place, int64_t bytes) {
  return Enter({name}, [&](Runtime& runtime) {
    runtime.devices[static_cast<size_t>(place.device)].libraries_bytes -= bytes;
    return cudaSuccess;
  });
}

/// Overwrites the beginning and the end of a workspace, so that anyone else who uses these bytes
/// fails.
inline void Spoil(void* memory, int64_t bytes) {
  const int64_t part = std::min<int64_t>(bytes, 4096);
  if (part == 0) return;
  std::memset(memory, 0xC3, static_cast<size_t>(part));
  std::memset(static_cast<char*>(memory) + bytes - part, 0xC3, static_cast<size_t>(part));
}

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_LIBRARY_HPP_
