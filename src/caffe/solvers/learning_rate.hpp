#ifndef CAFFE_SOLVERS_LEARNING_RATE_HPP_
#define CAFFE_SOLVERS_LEARNING_RATE_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A sentence on what the learning rate's policy lacks, or has in another order than it takes it:
/// what Caffe trains with all the same. Empty: nothing.
std::string RateWarning(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_LEARNING_RATE_HPP_
