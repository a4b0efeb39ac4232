#ifndef CAFFE_SOLVERS_LEARNING_RATE_HPP_
#define CAFFE_SOLVERS_LEARNING_RATE_HPP_

#include <string>

#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// Returns a warning, in one sentence, about learning rate fields that are probably a mistake: no
/// rate, or a policy whose fields are missing or in the wrong order. Caffe trains with them all the
/// same. Empty: no warning.
std::string RateWarning(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVERS_LEARNING_RATE_HPP_
