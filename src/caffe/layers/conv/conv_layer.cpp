#include "caffe/layers/conv_layer.hpp"

#include <typeinfo>

#include "caffe/kernels/conv/im2col.hpp"
#include "caffe/layers/fork_type.hpp"
