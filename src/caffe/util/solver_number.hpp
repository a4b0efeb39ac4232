#ifndef CAFFE_UTIL_SOLVER_NUMBER_HPP_
#define CAFFE_UTIL_SOLVER_NUMBER_HPP_

#include "caffe/common.hpp"

namespace caffe {

/// Returns the number of this thread's solver among those that train together. Devices that share
/// one divided net count as one solver.
inline int NumberOfSolver() { return Caffe::solver_rank() % Caffe::solver_count(); }

}  // namespace caffe

#endif  // CAFFE_UTIL_SOLVER_NUMBER_HPP_
