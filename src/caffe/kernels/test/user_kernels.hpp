#ifndef CAFFE_KERNELS_TEST_USER_KERNELS_HPP_
#define CAFFE_KERNELS_TEST_USER_KERNELS_HPP_

namespace caffe {

// Functions of a .cu file as users of Caffe write it. In builds with CUDA; arrays of the GPU.

/// sum[k], of k < sums, += each of the n values whose index is k modulo sums
template <typename Dtype>
void AddEach(int n, const Dtype* values, int sums, Dtype* sum);
/// x *= factor, by cuBLAS
void ScaleByCublas(int n, float factor, float* x);

}  // namespace caffe

#endif  // CAFFE_KERNELS_TEST_USER_KERNELS_HPP_
