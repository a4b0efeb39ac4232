#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "layrub/device/cuda/curand_library.hpp"
#ifdef USE_CUDNN
#include "layrub/device/cuda/cudnn_library.hpp"
#endif

// CUDA's libraries are opened at run time. If one cannot be used, one sentence must say what is
// wrong and what helps.
namespace layrub {
namespace {

void ExpectSentence(const std::string& said, const std::string& begin, const std::string& end) {
  EXPECT_EQ(said.find(begin), size_t{0}) << said;
  EXPECT_NE(said.find(end), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 0) << said;
  EXPECT_EQ(said.back(), '.') << said;
}

TEST(OpenCurand, NamesAMissingLibraryAndTheRemedy) {
  std::string why_not;
  EXPECT_FALSE(OpenCurand("libcurand_of_nobody.so.1", &why_not));
  ExpectSentence(why_not, "cuRAND was not found (libcurand_of_nobody.so.1: cannot open",
                 "install cuRAND " + std::to_string(CURAND_VER_MAJOR));
  ExpectSentence(why_not, "", "pip install nvidia-curand");
  ExpectSentence(why_not, "", "libcurand.so.10 in LD_LIBRARY_PATH");
}

TEST(OpenCurand, NamesAFunctionThatALibraryLacks) {
  std::string why_not;
  EXPECT_FALSE(OpenCurand("libm.so.6", &why_not));
  ExpectSentence(why_not, "cuRAND is too old (libm.so.6 has no curandGetVersion): install", "pip");
}

TEST(OpenCurand, TellsTheVersion) {
  Curand curand;
  EXPECT_EQ(VersionOf(curand), "");
  curand.GetVersion = [](int* version) {
    *version = 10305;
    return CURAND_STATUS_SUCCESS;
  };
  EXPECT_EQ(VersionOf(curand), "10.3.5");
  curand.GetVersion = [](int*) { return CURAND_STATUS_INTERNAL_ERROR; };
  EXPECT_EQ(VersionOf(curand), "");
}

#ifdef USE_CUDNN

TEST(OpenCudnn, NamesAMissingLibraryAndTheRemedy) {
  std::string why_not;
  EXPECT_FALSE(OpenCudnn("libcudnn_of_nobody.so.1", &why_not));
  const std::string major = std::to_string(CUDNN_MAJOR);
  ExpectSentence(why_not, "cuDNN was not found (libcudnn_of_nobody.so.1: cannot open",
                 "install cuDNN " + major);
  ExpectSentence(why_not, "", "pip install nvidia-cudnn-cu");
  ExpectSentence(why_not, "", "libcudnn.so." + major + " in LD_LIBRARY_PATH");
}

TEST(OpenCudnn, NamesTheVersionOfAnOldLibraryAndWhatItLacks) {
  std::string why_not;
  EXPECT_FALSE(OpenCudnn("libold_cudnn.so.1", &why_not));
  ExpectSentence(why_not, "cuDNN 6.0.21 is too old (libold_cudnn.so.1 has no cudnnGetErrorString)",
                 "install cuDNN " + std::to_string(CUDNN_MAJOR));
}

TEST(OpenCudnn, TellsTheVersion) {
  Cudnn cudnn;
  EXPECT_EQ(VersionOf(cudnn), "");
  cudnn.GetVersion = [] { return size_t{8907}; };
  EXPECT_EQ(VersionOf(cudnn), "8.9.7");
  cudnn.GetVersion = [] { return size_t{91900}; };
  EXPECT_EQ(VersionOf(cudnn), "9.19.0");
}

#endif  // USE_CUDNN

}  // namespace
}  // namespace layrub
