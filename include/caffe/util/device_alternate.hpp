#ifndef CAFFE_UTIL_DEVICE_ALTERNATE_H_
#define CAFFE_UTIL_DEVICE_ALTERNATE_H_

// What differs between a build with a GPU backend and one without (CPU_ONLY).

#ifdef CPU_ONLY

#include <glog/logging.h>

#include <vector>

#define NO_GPU LOG(FATAL) << "Cannot use GPU in CPU-only Caffe: check mode."

/// Bodies for the GPU methods that a layer class declares but a build without GPU cannot have: they
/// abort when called.
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

/// The same for layers whose forward or backward method has a name of its own.
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

/// A failure is told once: the check of a kernel would find it again, in a program that goes on.
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

/// A grid-stride loop over the n elements of a kernel launched with any number of blocks. Beyond
/// the last int i is negative.
#define CUDA_KERNEL_LOOP(i, n)                                           \
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i >= 0 && i < (n); \
       i += blockDim.x * gridDim.x)

/// Reports a launch that failed; an error inside the kernel shows at the next synchronization.
#define CUDA_POST_KERNEL_CHECK CUDA_CHECK(cudaPeekAtLastError())

namespace caffe {

const char* cublasGetErrorString(cublasStatus_t error);
const char* curandGetErrorString(curandStatus_t error);

const int CAFFE_CUDA_NUM_THREADS = 512;

/// Blocks of CAFFE_CUDA_NUM_THREADS threads that give N elements a thread each.
inline int CAFFE_GET_BLOCKS(const int N) { return (N - 1) / CAFFE_CUDA_NUM_THREADS + 1; }

}  // namespace caffe

#ifdef USE_CUDNN
#include "caffe/util/cudnn.hpp"
#endif

#endif  // CPU_ONLY

#endif  // CAFFE_UTIL_DEVICE_ALTERNATE_H_
