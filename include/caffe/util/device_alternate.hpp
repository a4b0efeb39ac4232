#ifndef CAFFE_UTIL_DEVICE_ALTERNATE_H_
#define CAFFE_UTIL_DEVICE_ALTERNATE_H_

// Differences between builds with a GPU backend and those without (CPU_ONLY).

#ifdef CPU_ONLY

#include <glog/logging.h>

#include <vector>

#define NO_GPU LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode."

/// Bodies for GPU methods that a layer class declares, in builds without GPU. They abort when
/// called.
#define STUB_GPU(classname)                                                                      \
  template <typename Dtype>                                                                      \
  void classname<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>&) { \
    NO_GPU;                                                                                      \
  }                                                                                              \
  template <typename Dtype>                                                                      \
  void classname<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>&, const vector<bool>&,          \
                                      const vector<Blob<Dtype>*>&) {                             \
    NO_GPU;                                                                                      \
  }

/// The same for layers whose forward or backward method has another name.
#define STUB_GPU_FORWARD(classname, funcname)                          \
  template <typename Dtype>                                            \
  void classname<Dtype>::funcname##_gpu(const vector<Blob<Dtype>*>&,   \
                                        const vector<Blob<Dtype>*>&) { \
    NO_GPU;                                                            \
  }

#define STUB_GPU_BACKWARD(classname, funcname)                                            \
  template <typename Dtype>                                                               \
  void classname<Dtype>::funcname##_gpu(const vector<Blob<Dtype>*>&, const vector<bool>&, \
                                        const vector<Blob<Dtype>*>&) {                    \
    NO_GPU;                                                                               \
  }

#else  // CPU_ONLY

#include <cublas_v2.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <curand.h>
#include <driver_types.h>
#include <glog/logging.h>

/// Clears the error, so that it is reported once: otherwise a later check of a kernel would report
/// it again, in a program that continues.
#define CUDA_CHECK(condition)                                              \
  do {                                                                     \
    const cudaError_t cuda_status = (condition);                           \
    if (cuda_status != cudaSuccess) cudaGetLastError();                    \
    CHECK_EQ(cuda_status, cudaSuccess) << cudaGetErrorString(cuda_status); \
  } while (0)

#define CUBLAS_CHECK(condition)                                                                   \
  do {                                                                                            \
    const cublasStatus_t cublas_status = (condition);                                             \
    CHECK_EQ(cublas_status, CUBLAS_STATUS_SUCCESS) << caffe::cublasGetErrorString(cublas_status); \
  } while (0)

#define CURAND_CHECK(condition)                                                                   \
  do {                                                                                            \
    const curandStatus_t curand_status = (condition);                                             \
    CHECK_EQ(curand_status, CURAND_STATUS_SUCCESS) << caffe::curandGetErrorString(curand_status); \
  } while (0)

/// A grid-stride loop over the n elements of a kernel launched with any number of blocks. It stops
/// when i overflows.
#define CUDA_KERNEL_LOOP(i, n)                                           \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i >= 0 && i < (n); \
       i += blockDim.x * gridDim.x)

/// Reports a failed launch. An error inside the kernel shows at the next synchronization.
#define CUDA_POST_KERNEL_CHECK CUDA_CHECK(cudaPeekAtLastError())

namespace caffe {

const char* cublasGetErrorString(cublasStatus_t error);
const char* curandGetErrorString(curandStatus_t error);

const int CAFFE_CUDA_NUM_THREADS = 512;

/// The number of blocks of CAFFE_CUDA_NUM_THREADS threads that give each of N elements a thread.
inline int CAFFE_GET_BLOCKS(const int N) { return (N - 1) / CAFFE_CUDA_NUM_THREADS + 1; }

}  // namespace caffe

#ifdef USE_CUDNN
#include "caffe/util/cudnn.hpp"
#endif

#endif  // CPU_ONLY

#endif  // CAFFE_UTIL_DEVICE_ALTERNATE_H_
