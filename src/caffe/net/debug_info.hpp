#ifndef CAFFE_NET_DEBUG_INFO_HPP_
#define CAFFE_NET_DEBUG_INFO_HPP_

#include "caffe/net.hpp"

// The log lines of debug_info: mean magnitudes of the values that a layer has just written.

namespace caffe {

/// Logs the layer's tops and parameters.
template <typename Dtype>
void LogForward(const Net<Dtype>& net, int layer);
/// Logs the derivatives of the layer's bottoms and parameters.
template <typename Dtype>
void LogBackward(const Net<Dtype>& net, int layer);
/// Logs a parameter, given by its index into Net::params, and its derivative. Call it before an
/// update.
template <typename Dtype>
void LogUpdate(const Net<Dtype>& net, int param);
/// Logs the norms of all learnable parameters and their derivatives. Call it after a backward.
template <typename Dtype>
void LogNorms(const Net<Dtype>& net);

}  // namespace caffe

#endif  // CAFFE_NET_DEBUG_INFO_HPP_
