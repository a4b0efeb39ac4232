// The layer's version for the GPU, as one writes it for Caffe: kernels over CUDA_KERNEL_LOOP on the
// default stream, and caffe_gpu_* functions.
#include "softsign_layer.hpp"

namespace caffe {

template <typename Dtype>
__global__ void SoftsignForward(const int n, const Dtype* in, Dtype* out) {
  CUDA_KERNEL_LOOP(i, n) { out[i] = in[i] / (1 + abs(in[i])); }
}

template <typename Dtype>
__global__ void SoftsignSlope(const int n, const Dtype* in, Dtype* slope) {
  CUDA_KERNEL_LOOP(i, n) {
    const Dtype divisor = 1 + abs(in[i]);
    slope[i] = 1 / (divisor * divisor);
  }
}

template <typename Dtype>
void SoftsignLayer<Dtype>::Forward_gpu(const vector<Blob<Dtype>*>& bottom,
                                       const vector<Blob<Dtype>*>& top) {
  const int count = bottom[0]->count();
  SoftsignForward<Dtype><<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS>>>(
      count, bottom[0]->gpu_data(), top[0]->mutable_gpu_data());
  CUDA_POST_KERNEL_CHECK;
}

template <typename Dtype>
void SoftsignLayer<Dtype>::Backward_gpu(const vector<Blob<Dtype>*>& top,
                                        const vector<bool>& propagate_down,
                                        const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  const int count = bottom[0]->count();
  Dtype* bottom_diff = bottom[0]->mutable_gpu_diff();
  SoftsignSlope<Dtype><<<CAFFE_GET_BLOCKS(count), CAFFE_CUDA_NUM_THREADS>>>(
      count, bottom[0]->gpu_data(), bottom_diff);
  CUDA_POST_KERNEL_CHECK;
  caffe_gpu_mul(count, bottom_diff, top[0]->gpu_diff(), bottom_diff);
}

INSTANTIATE_LAYER_GPU_FUNCS(SoftsignLayer);

}  // namespace caffe
