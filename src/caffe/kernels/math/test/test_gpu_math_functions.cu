#include "caffe/common.hpp"
#include "caffe/kernels/test/user_kernels.hpp"
#include "caffe/util/gpu_util.cuh"

namespace caffe {

template <typename Dtype>
__global__ void AddEachKernel(const int n, const Dtype* values, const int sums, Dtype* sum) {
  CUDA_KERNEL_LOOP(i, n) { caffe_gpu_atomic_add(values[i], sum + i % sums); }
}

template <typename Dtype>
void AddEach(int n, const Dtype* values, int sums, Dtype* sum) {
  AddEachKernel<Dtype><<<CAFFE_GET_BLOCKS(n), CAFFE_CUDA_NUM_THREADS>>>(n, values, sums, sum);
  CUDA_POST_KERNEL_CHECK;
}
template void AddEach<float>(int, const float*, int, float*);
template void AddEach<double>(int, const double*, int, double*);

void ScaleByCublas(int n, float factor, float* x) {
  CUBLAS_CHECK(cublasSscal(Caffe::cublas_handle(), n, &factor, x, 1));
}

}  // namespace caffe
