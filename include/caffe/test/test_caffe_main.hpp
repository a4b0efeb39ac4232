#ifndef CAFFE_TEST_TEST_CAFFE_MAIN_HPP_
#define CAFFE_TEST_TEST_CAFFE_MAIN_HPP_

#include <glog/logging.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "caffe/common.hpp"

// For tests written for Caffe: fixtures that run for float and double, on each device that the
// build supports. `main` is the test's own or gtest_main's.

#ifndef CUDA_TEST_DEVICE
#define CUDA_TEST_DEVICE -1
#endif
#ifndef EXAMPLES_SOURCE_DIR
#define EXAMPLES_SOURCE_DIR "examples/"
#endif
#ifndef ABS_TEST_DATA_DIR
#define ABS_TEST_DATA_DIR "src/caffe/test/test_data"
#endif

// User code relies on these names.
using std::cout;
using std::endl;

int main(int argc, char** argv);

namespace caffe {

/// A fixture in the mode of `TypeParam::device`, for values of `TypeParam::Dtype`.
template <typename TypeParam>
class MultiDeviceTest : public ::testing::Test {
 public:
  typedef typename TypeParam::Dtype Dtype;

 protected:
  MultiDeviceTest() { Caffe::set_mode(TypeParam::device); }
  virtual ~MultiDeviceTest() {}
};

typedef ::testing::Types<float, double> TestDtypes;

template <typename TypeParam>
struct CPUDevice {
  typedef TypeParam Dtype;
  static const Caffe::Brew device = Caffe::CPU;
};

template <typename Dtype>
class CPUDeviceTest : public MultiDeviceTest<CPUDevice<Dtype>> {};

#ifdef CPU_ONLY

typedef ::testing::Types<CPUDevice<float>, CPUDevice<double>> TestDtypesAndDevices;

#else

template <typename TypeParam>
struct GPUDevice {
  typedef TypeParam Dtype;
  static const Caffe::Brew device = Caffe::GPU;
};

template <typename Dtype>
class GPUDeviceTest : public MultiDeviceTest<GPUDevice<Dtype>> {};

typedef ::testing::Types<CPUDevice<float>, CPUDevice<double>, GPUDevice<float>, GPUDevice<double>>
    TestDtypesAndDevices;

#endif

}  // namespace caffe

#endif  // CAFFE_TEST_TEST_CAFFE_MAIN_HPP_
