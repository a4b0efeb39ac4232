#ifndef CAFFE_SOLVERS_NET_PROGRESS_HPP_
#define CAFFE_SOLVERS_NET_PROGRESS_HPP_

#include <string>

#include "caffe/net.hpp"

namespace caffe {

/// How far the layers of a net have come in their data: what each saves (Layer::SaveProgress).
template <typename Dtype>
NetProgress ProgressOf(const Net<Dtype>& net);

/// Brings the layers there. What does not fit begins anew, with a line in the log that begins with
/// `what`: "run_iter_9.solverstate, train net: ".
template <typename Dtype>
void RestoreProgress(const NetProgress& progress, const string& what, Net<Dtype>* net);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_NET_PROGRESS_HPP_
