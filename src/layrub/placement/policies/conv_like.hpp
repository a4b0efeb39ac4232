#ifndef LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_
#define LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_

#include "layrub/placement/ir/graph.hpp"

namespace layrub::placement::policies {

/// Floating point operations for each byte of data from which on an operation with weights is
/// "conv-like". BatchNorm, which does the most of the layers that only touch each value, does about
/// 0.75 in single precision. A convolution does half as many as its kernel has weights per output,
/// an inner product about half of the smaller of its two dimensions.
inline constexpr double kConvLikeFlopsPerByte = 1.0;

/// Whether `op` is what the papers call a CONV layer, as far as the graph can tell: it reads
/// parameters or writes their gradients, and does more than kConvLikeFlopsPerByte floating point
/// operations for each byte of its other operands. Convolution, Deconvolution and InnerProduct (a
/// convolution of images of one pixel) are, forward and backward.
bool IsConvLike(const Graph& graph, const Op& op);

}  // namespace layrub::placement::policies

#endif  // LAYRUB_PLACEMENT_POLICIES_CONV_LIKE_HPP_
