#ifndef CAFFE_SOLVER_SNAPSHOTS_HPP_
#define CAFFE_SOLVER_SNAPSHOTS_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"

namespace caffe {

// Snapshots as files: <prefix>_iter_<n>.solverstate, or .solverstate.h5, which names the weights
// that belong to it, as a rule <prefix>_iter_<n>.caffemodel, or .caffemodel.h5. The state is
// written last: with it a snapshot is there.

struct SnapshotFiles {
  int iteration = 0;
  string state;
  string weights;  ///< what lies under the name beside it, if anything does
};

/// The solver states under `prefix` by their names, the newest (of the highest iteration) first.
vector<SnapshotFiles> FindSnapshots(const string& prefix);

/// Why nobody can go on from `state_file`, in one sentence that names the file; "" where state and
/// weights are whole: they have the checksums that they were written with, or, in files of Caffe,
/// which have none, can be read.
string WhyNotWhole(const string& state_file);

/// The state of the newest whole snapshot under `prefix`; "" where there is no state at all. Logs
/// which newer ones it skips, and why. kInvalid where there are states and none is whole.
layrub::Result<string> LatestSnapshot(const string& prefix);

/// Removes the complete snapshots under `prefix` but the newest `keep` (at least 1) of those up to
/// `iteration`; first the state, then the weights. Later ones, and all other files, stay.
void RemoveOlderSnapshots(const string& prefix, int iteration, int keep);

/// Removes what processes that are dead were writing under `prefix`.
void RemoveStraySnapshots(const string& prefix);

/// `wanted`, unless one of the two files would be larger than a binary one can be: HDF5.
SolverParameter_SnapshotFormat SnapshotFormatFor(SolverParameter_SnapshotFormat wanted,
                                                 int64_t weights_bytes, int64_t state_bytes);

}  // namespace caffe

#endif  // CAFFE_SOLVER_SNAPSHOTS_HPP_
