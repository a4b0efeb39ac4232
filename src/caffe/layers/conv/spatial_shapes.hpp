#ifndef CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_
#define CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_

#include <string>

#include "caffe/blob.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Sets the kernel, stride, padding and dilation of a window over `axes` spatial axes from `param`,
/// one value per axis each. Aborts, naming the layer, if they do not fit.
void SetSpatialShapes(const string& layer, const ConvolutionParameter& param, int axes,
                      Blob<int>* kernel, Blob<int>* stride, Blob<int>* pad, Blob<int>* dilation);

}  // namespace caffe

#endif  // CAFFE_LAYERS_CONV_SPATIAL_SHAPES_HPP_
