#ifndef CAFFE_NET_DEBUG_INFO_HPP_
#define CAFFE_NET_DEBUG_INFO_HPP_

#include "caffe/net.hpp"

// The lines that debug_info asks for: mean magnitudes of what a layer has just written.

namespace caffe {

/// Of the layer's tops and parameters.
template <typename Dtype>
void LogForward(const Net<Dtype>& net, int layer);
/// Of the derivatives of its bottoms and parameters.
template <typename Dtype>
void LogBackward(const Net<Dtype>& net, int layer);
/// Of a parameter, by its index into Net::params, and its derivative, before an update.
template <typename Dtype>
void LogUpdate(const Net<Dtype>& net, int param);
/// Norms of all learnable parameters and their derivatives, behind a backward.
template <typename Dtype>
void LogNorms(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_DEBUG_INFO_HPP_
