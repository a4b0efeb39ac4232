// The environment variable LAYRUB_TEST_DEVICE selects the device on which a test program runs: cpu
// (the default), emulated, occupied (emulated, but a context and libraries take part of the memory,
// as on a GPU), or cuda (GPU 0; cuda:1 for GPU 1, and so on). cuda skips all tests if there is no
// GPU. A fake GPU counts as one in programs that use the library with the fake GPU.
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string>

#include "caffe/common.hpp"
#include "caffe/util/library_settings.hpp"
#include "layrub/device/emulated_device.hpp"

namespace caffe {
namespace {

/// Returns the number of the GPU that `device` ("cuda" or "cuda:1") names; -1 if it names none.
int GpuNamed(const std::string& device) {
  if (device == "cuda") return 0;
  const std::string prefix = "cuda:";
  if (device.compare(0, prefix.size(), prefix) != 0) return -1;
  int gpu = -1;
  const char* const end = device.data() + device.size();
  const auto parsed = std::from_chars(device.data() + prefix.size(), end, gpu);
  return parsed.ec == std::errc() && parsed.ptr == end ? gpu : -1;
}

class DeviceEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* const wanted = std::getenv("LAYRUB_TEST_DEVICE");
    const std::string device = wanted ? wanted : "cpu";
    if (device == "cpu") return;
    if (const int gpu = GpuNamed(device); gpu >= 0) {
      if (layrub::GpuCount() == 0) GTEST_SKIP() << "skipped: no device. " << layrub::NoGpuReason();
      ASSERT_LT(gpu, layrub::GpuCount()) << "LAYRUB_TEST_DEVICE is " << device << ".";
      // A forked process cannot use the GPU of its parent.
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      // Nor may algorithms depend on times that the user has measured: the variants of a test would
      // differ in bits.
      const std::string nothing = ::testing::TempDir() + "times_" + std::to_string(getpid());
      setenv("XDG_CACHE_HOME", nothing.c_str(), 1);
      Caffe::SetDevice(gpu);
    } else {
      const bool occupied = device == "occupied";
      ASSERT_TRUE(occupied || device == "emulated")
          << "LAYRUB_TEST_DEVICE is cpu, emulated, occupied, cuda or cuda:1.";
      constexpr int64_t kBytes = int64_t{16} << 30, kMiB = 1 << 20;
      // Never destroyed, since static blobs of tests may be on it.
      Caffe::UseDevice(
          new layrub::EmulatedDevice(kBytes, occupied ? 300 * kMiB : 0, occupied ? 200 * kMiB : 0));
    }
    library_settings().tf32 = Tf32::kOff;  // results are compared with those of the CPU
    Caffe::set_mode(Caffe::GPU);
  }
};

[[maybe_unused]] ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new DeviceEnvironment);

}  // namespace
}  // namespace caffe
