#ifndef CAFFE_SOLVERS_LEARNING_RATE_HPP_
#define CAFFE_SOLVERS_LEARNING_RATE_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A sentence on a learning rate that is hardly meant: none, or a policy that lacks what it needs
/// or has it in another order. Caffe trains with it all the same. Empty: nothing.
std::string RateWarning(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_LEARNING_RATE_HPP_
