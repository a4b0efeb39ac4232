#ifndef CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_
#define CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_

// What libcaffe_onednn.so is asked for (onednn_library.hpp opens it). It links to oneDNN and to
// nothing of libcaffe.

#include <cstdint>

#include "caffe/kernels/conv/conv.hpp"

/// OneDnnLikedBlock, where `threads` threads run it.
extern "C" int layrub_onednn_liked_block(const caffe::kernels::Convolution& conv,
                                         caffe::kernels::ConvolutionPass pass, int threads);
/// OneDnnBytes, where `threads` threads run it; -1: none.
extern "C" int64_t layrub_onednn_convolution_bytes(const caffe::kernels::Convolution& conv,
                                                   caffe::kernels::ConvolutionPass pass,
                                                   int threads);
/// OneDnnRun, on `threads` threads; `add`: to what is there. What went wrong, in memory of the
/// calling thread's that stays as it is until its next call; null: nothing.
extern "C" const char* layrub_onednn_convolution(const caffe::kernels::Convolution& conv,
                                                 caffe::kernels::ConvolutionPass pass, int threads,
                                                 void* workspace, const float* a, const float* b,
                                                 float* out, bool add);

#endif  // CAFFE_KERNELS_ONEDNN_CONVOLUTION_HPP_
