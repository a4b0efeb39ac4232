#ifndef CAFFE_SOLVERS_NET_PROGRESS_HPP_
#define CAFFE_SOLVERS_NET_PROGRESS_HPP_

#include <string>

#include "caffe/net.hpp"

namespace caffe {

/// Returns the progress of a net's layers, as each saves it (Layer::SaveProgress).
template <typename Dtype>
NetProgress ProgressOf(const Net<Dtype>& net);

/// Restores the layers. Layers that the progress does not fit start from the beginning, with a log
/// line that begins with `what`, for example "run_iter_9.solverstate, train net: ".
template <typename Dtype>
void RestoreProgress(const NetProgress& progress, const string& what, Net<Dtype>* net);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_NET_PROGRESS_HPP_
