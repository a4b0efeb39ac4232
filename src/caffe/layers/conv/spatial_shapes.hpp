#ifndef CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_
#define CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_

#include <string>

#include "caffe/blob.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Kernel, stride, padding and dilation of a window that slides over `axes` spatial axes, as
/// `param` gives them: one value each per axis. What does not fit aborts, naming the layer.
void SetSpatialShapes(const string& layer, const ConvolutionParameter& param, int axes,
                      Blob<int>* kernel, Blob<int>* stride, Blob<int>* pad, Blob<int>* dilation);

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_
