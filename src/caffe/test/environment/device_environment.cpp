// Which device the tests of a program run on, by the environment variable LAYRUB_TEST_DEVICE: cpu
// (as if it were not set), emulated, or cuda, which skips all tests where there is no GPU.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "caffe/common.hpp"
#include "layrub/device.hpp"

namespace caffe {
namespace {

class DeviceEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    const char* const wanted = std::getenv("LAYRUB_TEST_DEVICE");
    const std::string device = wanted ? wanted : "cpu";
    if (device == "cpu") return;
    if (device == "cuda") {
      if (layrub::GpuCount() == 0) GTEST_SKIP() << layrub::WhyNoGpu();
      // A forked process cannot use the GPU of its parent.
      GTEST_FLAG_SET(death_test_style, "threadsafe");
      Caffe::SetDevice(0);
    } else {
      ASSERT_EQ(device, "emulated") << "LAYRUB_TEST_DEVICE is cpu, emulated or cuda.";
      // Never taken down: static blobs of tests may live on it.
      Caffe::UseDevice(layrub::MakeEmulatedDevice().release());
    }
    Caffe::set_mode(Caffe::GPU);
  }
};

[[maybe_unused]] ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new DeviceEnvironment);

}  // namespace
}  // namespace caffe
