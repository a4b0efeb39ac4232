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

/// A convolution's descriptors, made once, where there is a cuDNN, and what cuDNN has said of it.
class CudnnProblem {
 public:
  CudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type, cudnnMathType_t math);
  ~CudnnProblem();
  CudnnProblem(const CudnnProblem&) = delete;
  CudnnProblem& operator=(const CudnnProblem&) = delete;

  /// False: cuDNN does not take these sizes.
  bool valid() const { return valid_; }
  const ConvolutionDims& dims() const { return dims_; }
  cudnnMathType_t math() const { return math_; }
  cudnnTensorDescriptor_t x() const { return x_; }
  cudnnTensorDescriptor_t y() const { return y_; }
  cudnnFilterDescriptor_t w() const { return w_; }
  cudnnConvolutionDescriptor_t conv() const { return conv_; }

  /// Bytes of workspace of an algorithm, by its number in cuDNN; -1: it cannot do this.
  std::optional<int64_t>& Bytes(ConvolutionPass pass, int algorithm) {
    return bytes_.at(static_cast<size_t>(pass)).at(algorithm);
  }
  struct Table {
    bool asked = false;     ///< by a guess at least
    bool measured = false;  ///< or tried to
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

// The rest is for where layrub::FindCudnn() finds one, but for FindCudnnProblem.

/// The calling thread's handle on its device, working on that device's compute stream.
cudnnHandle_t CudnnHandle();
/// The calling thread's one problem of these sizes on its device, computed as library_settings()
/// wants it now; null: there is no cuDNN, or it
/// does not take them.
CudnnProblem* FindCudnnProblem(const ConvolutionDims& dims, cudnnDataType_t type);
/// Times that were measured on the calling thread's device with this version of cuDNN.
AlgorithmCache& CudnnTimes();

}  // namespace kernels
}  // namespace caffe

#endif  // CAFFE_KERNELS_CUDA_CUDNN_PROBLEM_HPP_
