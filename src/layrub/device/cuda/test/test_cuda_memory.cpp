#include <glog/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "layrub/device/cuda/cuda_device.hpp"
#include "layrub/device/cuda/nvml_library.hpp"
#include "layrub/device/cuda/test/fake_runtime.hpp"

// To whom memory in use on a GPU is attributed. On a fake CUDA runtime and a fake NVML, which is
// found in the program's own search path.
namespace layrub {
namespace {

constexpr int64_t kMib = int64_t{1} << 20;

class CudaMemory : public ::testing::Test {
 protected:
  void TearDown() override { fake_cuda::Reset(); }
  /// If NVML does not tell, all memory in use at the start counts as this process's.
  static void ExpectNothingIsKnownOfOthers(fake_cuda::Options options) {
    options.context_bytes = 5 * kMib;
    options.others_bytes = 20 * kMib;
    fake_cuda::Reset(options);
    CudaDevice device(0);
    EXPECT_EQ(device.Usage().others_bytes, 0);
    EXPECT_EQ(device.Usage().context_bytes, 25 * kMib);
  }
};

TEST_F(CudaMemory, CountsMemoryOfOtherProcessesSeparately) {
  fake_cuda::Reset({.devices = 2, .context_bytes = 5 * kMib, .others_bytes = 20 * kMib});
  for (const int id : {0, 1}) {
    CudaDevice device(id);
    EXPECT_EQ(device.Usage().others_bytes, 20 * kMib);
    EXPECT_EQ(device.Usage().context_bytes, 5 * kMib);
    EXPECT_EQ(device.Usage().peak_bytes, 5 * kMib);
    EXPECT_EQ(device.Usage().library_bytes, 0);
    void* const memory = device.Allocate(10 * kMib);
    EXPECT_EQ(device.Usage().library_bytes, 0);
    EXPECT_EQ(device.Usage().peak_bytes, 15 * kMib);
    EXPECT_EQ(device.Usage().overhead_bytes(), (5 + 512) * kMib);
    EXPECT_EQ(device.free_bytes(), device.total_bytes() - 35 * kMib);
    device.Free(memory);
  }
}

TEST_F(CudaMemory, DoesNotCountMemoryOfTheDriver) {
  fake_cuda::Reset({.context_bytes = 5 * kMib, .others_bytes = 20 * kMib, .outside_bytes = kMib});
  CudaDevice device(0);
  EXPECT_EQ(device.Usage().others_bytes, 20 * kMib);
  EXPECT_EQ(device.Usage().context_bytes, 5 * kMib);
}

TEST_F(CudaMemory, ContextIsZeroBytesIfAnotherProcessEndsMeanwhile) {
  fake_cuda::Options options{.context_bytes = 5 * kMib, .others_bytes = 20 * kMib};
  options.others_end = "cudaMemGetInfo";
  fake_cuda::Reset(options);
  CudaDevice device(0);
  EXPECT_EQ(device.Usage().context_bytes, 0);
  EXPECT_EQ(device.Usage().others_bytes, 5 * kMib);
  EXPECT_EQ(device.Usage().library_bytes, 0);
}

TEST_F(CudaMemory, CountsAllAsThisProcessIfNvmlFails) {
  for (const std::string failing :
       {"nvmlInit_v2", "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetMemoryInfo"}) {
    SCOPED_TRACE(failing);
    ExpectNothingIsKnownOfOthers({.fail = [&](const std::string& call) {
      return call == failing ? cudaErrorUnknown : cudaSuccess;
    }});
  }
}

TEST_F(CudaMemory, CountsAllAsThisProcessIfNvmlReportsAWholeDividedGpu) {
  ExpectNothingIsKnownOfOthers({.outside_bytes = 64 * kMib});
}

TEST_F(CudaMemory, AsksNvmlBeforeTheContextIsMade) {
  fake_cuda::Reset({});
  CudaDevice device(0);
  const std::vector<fake_cuda::Call> calls = fake_cuda::Calls();
  const auto first = [&](const std::string& name) {
    return std::find_if(calls.begin(), calls.end(),
                        [&](const auto& call) { return call.name == name; });
  };
  EXPECT_LT(first("nvmlDeviceGetMemoryInfo"), first("cudaMemGetInfo"));
  EXPECT_LT(first("nvmlShutdown"), first("cudaMemGetInfo"));
}

TEST_F(CudaMemory, NamesTheRemedyIfNvmlIsMissing) {
  std::string why_not;
  EXPECT_FALSE(OpenNvml("libnvidia-ml_of_nobody.so.1", &why_not));
  EXPECT_EQ(why_not.find("NVML was not found (libnvidia-ml_of_nobody.so.1: cannot open"), size_t{0})
      << why_not;
  EXPECT_NE(why_not.find("libnvidia-ml.so.1 (in a container"), std::string::npos) << why_not;
  EXPECT_FALSE(OpenNvml("libm.so.6", &why_not));
  EXPECT_EQ(why_not.find("NVML is too old (libm.so.6 has no nvmlInit_v2): "), size_t{0}) << why_not;
}

[[noreturn]] void OpenTwoDevicesWithoutNvml() {
  FLAGS_logtostderr = true;
  fake_cuda::Reset({.devices = 2, .fail = [](const std::string& call) {
                      return call == "nvmlInit_v2" ? cudaErrorUnknown : cudaSuccess;
                    }});
  const CudaDevice first(0), second(1);
  std::_Exit(0);
}

TEST_F(CudaMemory, WarnsOnceIfNvmlFails) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // no log before this one
  EXPECT_EXIT(OpenTwoDevicesWithoutNvml(), ::testing::ExitedWithCode(0),
              "^(WARNING: Logging before[^\n]*\n)?[^\n]*counts as this process's: nvmlInit_v2: "
              "Unknown Error.\n$");
}

}  // namespace
}  // namespace layrub
