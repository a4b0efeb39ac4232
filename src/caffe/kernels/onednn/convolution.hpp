#ifndef CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_
#define CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_

// The interface of libcaffe_onednn.so, which onednn_library.hpp opens. That library links to
// oneDNN, but not to libcaffe.

#include <cstdint>

#include "caffe/kernels/conv/conv.hpp"

/// OneDnnPreferredBlock for `threads` threads.
extern "C" int layrub_onednn_preferred_block(const caffe::kernels::Convolution& conv,
                                             caffe::kernels::ConvolutionPass pass, int threads);
/// OneDnnImages.
extern "C" int layrub_onednn_images(const caffe::kernels::Convolution& conv);
/// OneDnnBytes for `threads` threads; -1: none.
extern "C" int64_t layrub_onednn_convolution_bytes(const caffe::kernels::Convolution& conv,
                                                   caffe::kernels::ConvolutionPass pass,
                                                   int threads);
/// OneDnnRun on `threads` threads. If `add`, adds to `out`. Returns null or an error message, which
/// is valid until the calling thread's next call.
extern "C" const char* layrub_onednn_convolution(const caffe::kernels::Convolution& conv,
                                                 caffe::kernels::ConvolutionPass pass, int threads,
                                                 void* workspace, const float* a, const float* b,
                                                 float* out, bool add);

#endif  // CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_
