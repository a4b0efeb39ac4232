#ifndef CAFFE_SOLVERS_NOT_FINITE_HPP_
#define CAFFE_SOLVERS_NOT_FINITE_HPP_

#include <string>

#include "caffe/net.hpp"

namespace caffe {

/// Returns the first parameter, or blob if `in_blobs`, with a value that is not finite, or "".
/// Values that the plan has dropped are not checked.
template <typename Dtype>
string FirstNotFinite(const Net<Dtype>& net, bool in_blobs);

/// Ends training for stop_on_nan. `what` is, for example, "the loss is nan".
[[noreturn]] void StopAsNotFinite(int iteration, const string& what, const string& last_snapshot);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_NOT_FINITE_HPP_
