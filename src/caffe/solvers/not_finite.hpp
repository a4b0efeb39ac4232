#ifndef CAFFE_SOLVERS_NOT_FINITE_HPP_
#define CAFFE_SOLVERS_NOT_FINITE_HPP_

#include <string>

#include "caffe/net.hpp"

namespace caffe {

/// The first parameter, or blob if `in_blobs`, that has a value that is not finite; "" when there
/// is none. Values that the plan has given up do not count.
template <typename Dtype>
string FirstNotFinite(const Net<Dtype>& net, bool in_blobs);

/// Ends training as stop_on_nan says. `what`: "the loss is nan".
[[noreturn]] void StopAsNotFinite(int iteration, const string& what, const string& last_snapshot);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_NOT_FINITE_HPP_
