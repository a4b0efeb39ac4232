#ifndef CAFFE_LAYERS_DATA_DEALING_HPP_
#define CAFFE_LAYERS_DATA_DEALING_HPP_

#include <cstdint>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "caffe/util/solver_number.hpp"

namespace caffe {

/// Whether item number `offset` of a source belongs to another solver. Training solvers take items
/// in turn; in testing each reads all of the data. Devices among which a net is divided count as
/// one solver.
inline bool BelongsToAnotherSolver(Phase phase, uint64_t offset) {
  return phase == TRAIN &&
         offset % Caffe::solver_count() != static_cast<uint64_t>(NumberOfSolver());
}

}  // namespace caffe

#endif  // CAFFE_LAYERS_DATA_DEALING_HPP_
