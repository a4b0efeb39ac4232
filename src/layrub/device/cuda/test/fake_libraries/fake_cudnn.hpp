#ifndef LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_CUDNN_HPP_
#define LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_CUDNN_HPP_

// What the files of the fake cuDNN share: its descriptors, and how results are blended into
// outputs.

#include <cudnn.h>

#include <array>
#include <numeric>

#include "layrub/device/cuda/test/fake_libraries/fake_library.hpp"

namespace layrub::fake_cuda {

/// Of a tensor or filter: packed, batch and channels first.
struct Shape {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;

  int64_t Count() const {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
  }
  int64_t Bytes() const { return Count() * (type == CUDNN_DATA_DOUBLE ? 8 : 4); }
};

}  // namespace layrub::fake_cuda

struct cudnnContext {
  layrub::fake_cuda::Place place;
};
struct cudnnTensorStruct : layrub::fake_cuda::Shape {};
struct cudnnFilterStruct : layrub::fake_cuda::Shape {};
struct cudnnConvolutionStruct {
  std::vector<int> pad, stride, dilation;
  int groups = 1;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
};
struct cudnnPoolingStruct {
  std::array<int, 2> window{}, pad{}, stride{};
};
struct cudnnLRNStruct {
  int size = 0;
  double alpha = 0, beta = 0, k = 0;
};

namespace layrub::fake_cuda {

inline cudnnStatus_t Status(cudaError_t error) {
  return error == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

inline cudnnStatus_t Plain(const char* name) { return Status(PlainCall(name)); }

inline bool IsDouble(const Shape& shape) { return shape.type == CUDNN_DATA_DOUBLE; }

/// The factors are of the type of the values.
inline double Factor(const Shape& shape, const void* at) {
  return IsDouble(shape) ? *static_cast<const double*>(at) : double{*static_cast<const float*>(at)};
}

inline Operand In(const Shape& shape, const void* address) {
  return {address, shape.Bytes(), false};
}
inline Operand Out(const Shape& shape, const void* address) {
  return {address, shape.Bytes(), true};
}

/// out = alpha * result + beta * out, which is not read if beta is 0
template <typename Number>
void Blend(double alpha, const std::vector<Number>& result, double beta, void* out) {
  auto* const values = static_cast<Number*>(out);
  for (size_t i = 0; i < result.size(); ++i) {
    values[i] = Number(alpha) * result[i] + (beta == 0 ? Number(0) : Number(beta) * values[i]);
  }
}

}  // namespace layrub::fake_cuda

#endif  // LAYRUB_DEVICE_CUDA_TEST_FAKE_LIBRARIES_FAKE_CUDNN_HPP_
