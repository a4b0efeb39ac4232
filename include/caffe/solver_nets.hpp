#ifndef CAFFE_SOLVER_NETS_HPP_
#define CAFFE_SOLVER_NETS_HPP_

#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"

namespace caffe {

/// One net that a solver works with, ready for Net's constructor: its state holds phase, levels and
/// stages.
struct SolverNet {
  string source;  ///< where it came from, for logs: "net file: lenet.prototxt"
  NetParameter param;
};

/// The net to train: from the one field of net, net_param, train_net and train_net_param that is
/// set; aborts, naming these fields, when none or several are. Reads the file that the field names.
SolverNet TrainNetOf(const SolverParameter& param);

/// The test nets in order: those of test_net_param, those of test_net, then as many copies of
/// net_param or net as test_iter has entries left. Aborts, naming the fields, when the numbers of
/// nets, test_iter and test_state disagree or test_interval is missing.
vector<SolverNet> TestNetsOf(const SolverParameter& param);

}  // namespace caffe

#endif  // CAFFE_SOLVER_NETS_HPP_
