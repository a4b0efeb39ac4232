#ifndef CAFFE_SOLVER_NETS_HPP_
#define CAFFE_SOLVER_NETS_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// A net of a solver, ready for Net's constructor: its state holds phase, levels and stages.
struct SolverNet {
  string source;  ///< its origin, for logs: "net file: lenet.prototxt"
  NetParameter param;
};

/// Returns the net to train, from whichever of net, net_param, train_net and train_net_param is
/// set. Reads the file that the field names. Aborts, naming these fields, if none or several are
/// set.
SolverNet TrainNetOf(const SolverParameter& param);

/// Returns the test nets in order: those of test_net_param, those of test_net, then as many copies
/// of net_param or net as test_iter has remaining entries. Aborts, naming the fields, if the
/// numbers of nets, test_iter and test_state differ or test_interval is missing.
vector<SolverNet> TestNetsOf(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVER_NETS_HPP_
