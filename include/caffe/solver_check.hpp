#ifndef CAFFE_SOLVER_CHECK_HPP_
#define CAFFE_SOLVER_CHECK_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Aborts if the solver cannot train, with a message that lists all invalid fields, one per line,
/// with file and line if they were read from a text. The constructors find most of these errors,
/// but only one at a time, and the first step finds those in lr_policy and regularization_type.
/// Warns of values with which nothing is learned. Opens no file.
void CheckSolver(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVER_CHECK_HPP_
