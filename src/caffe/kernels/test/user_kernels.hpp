#ifndef CAFFE_KERNELS_TEST_USER_KERNELS_HPP_
#define CAFFE_KERNELS_TEST_USER_KERNELS_HPP_

namespace caffe {

// Functions of a .cu file like those that Caffe's users write. Only in builds with CUDA; arrays are
// in GPU memory.

/// For k < sums: sum[k] += the values, of n, whose index is k modulo sums.
template <typename Dtype>
void AddEach(int n, const Dtype* values, int sums, Dtype* sum);
/// x *= factor, with cuBLAS.
void ScaleByCublas(int n, float factor, float* x);

}  // namespace caffe

#endif  // CAFFE_KERNELS_TEST_USER_KERNELS_HPP_
