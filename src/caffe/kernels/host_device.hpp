#ifndef CAFFE_KERNELS_HOST_DEVICE_HPP_
#define CAFFE_KERNELS_HOST_DEVICE_HPP_

// LAYRUB_HOST_DEVICE marks functions that both kernels and host code call.

#ifdef __CUDACC__
#define LAYRUB_HOST_DEVICE __host__ __device__
#else
#define LAYRUB_HOST_DEVICE
#endif

#endif  // CAFFE_KERNELS_HOST_DEVICE_HPP_
