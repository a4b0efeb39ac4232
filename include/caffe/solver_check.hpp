#ifndef CAFFE_SOLVER_CHECK_HPP_
#define CAFFE_SOLVER_CHECK_HPP_

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Aborts where no training can come of this solver, and says all that is wrong with its fields, a
/// line each, with file and line where it was read from a text. Constructors find most of it, one
/// subject after the other; of lr_policy and regularization_type only the first step does. Warns of
/// numbers with which nothing is learned. Opens no file.
void CheckSolver(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVER_CHECK_HPP_
