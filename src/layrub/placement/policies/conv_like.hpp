#ifndef LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_

#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::policies {

/// Arithmetic per byte of data that makes an operation with weights "conv-like". BatchNorm, the
/// busiest of the layers that only touch each value, does about 0.75 in single precision; a
/// convolution does half as many as its kernel has weights per output, an inner product about half
/// of the smaller of its two dimensions.
inline constexpr double kConvLikeFlopsPerByte = 1.0;

/// What the papers call a CONV layer, told by what the graph knows: the operation reads parameters
/// or writes their gradients, and does more than kConvLikeFlopsPerByte floating point operations
/// for each byte of its other operands. Convolution, Deconvolution and InnerProduct do (an inner
/// product is a convolution of images of one pixel), forward and backward.
bool IsConvLike(const Graph& graph, const Op& op);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_
