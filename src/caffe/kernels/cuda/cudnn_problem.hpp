#ifndef CAFFE_KERNELS_CUDA_CUDNN_PROBLEM_HPP_
#define CAFFE_KERNELS_CUDA_CUDNN_PROBLEM_HPP_

#include <array>
#include <cstdint>
#include <optional>

#include "caffe/kernels/conv/conv_dims.hpp"
#include "caffe/util/algorithm_table.hpp"
#include "caffe/util/cudnn.hpp"

namespace caffe {
namespace kernels {

/// A convolution's cuDNN descriptors and what cuDNN has reported about it. Requires a cuDNN.
class CudnnProblem {
 public:
  CudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type, cudnnMathType_t math);
  ~CudnnProblem();
  CudnnProblem(const CudnnProblem&) = delete;
  CudnnProblem& operator=(const CudnnProblem&) = delete;

  /// False if cuDNN does not accept these sizes.
  bool valid() const { return valid_; }
  const ConvolutionDims& dims() const { return dims_; }
  cudnnMathType_t math() const { return math_; }
  cudnnTensorDescriptor_t x() const { return x_; }
  cudnnTensorDescriptor_t y() const { return y_; }
  cudnnFilterDescriptor_t w() const { return w_; }
  cudnnConvolutionDescriptor_t conv() const { return conv_; }

  /// Bytes of workspace of an algorithm, by its number in cuDNN. -1: it cannot run this
  /// convolution.
  std::optional<int64_t>& Bytes(ConvolutionPass pass, int algorithm) {
    return bytes_.at(static_cast<size_t>(pass)).at(algorithm);
  }
  struct Table {
    bool asked = false;     ///< filled by a guess or a measurement
    bool measured = false;  ///< a measurement was tried
    bool timed = false;     ///< all seconds are known
    AlgorithmTable algorithms;
  };
  Table& table(ConvolutionPass pass) { return tables_.at(static_cast<size_t>(pass)); }

 private:
  bool Describe(cudnnDataType_t type);

  const ConvolutionDims dims_;
  const cudnnMathType_t math_;
  bool valid_ = false;
  cudnnTensorDescriptor_t x_ = nullptr, y_ = nullptr;
  cudnnFilterDescriptor_t w_ = nullptr;
  cudnnConvolutionDescriptor_t conv_ = nullptr;
  std::array<std::array<std::optional<int64_t>, 8>, 3> bytes_;
  std::array<Table, 3> tables_;
};

// All functions below except FindCudnnProblem require that layrub::FindCudnn() is not null.

/// The calling thread's handle for its device, set to that device's compute stream.
cudnnHandle_t CudnnHandle();
/// Returns the calling thread's problem of these sizes for its device, with the arithmetic that
/// library_settings() asks for. Null if there is no cuDNN or it does not accept the sizes.
CudnnProblem* FindCudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type);
/// Times measured on the calling thread's device with this version of cuDNN.
AlgorithmCache& CudnnTimes();

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CUDNN_PROBLEM_HPP_
