#ifndef CAFFE_SOLVER_SNAPSHOTS_HPP_
#define CAFFE_SOLVER_SNAPSHOTS_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/proto/caffe.pb.h"
#include "layrub/base/status.hpp"

namespace caffe {

// Snapshots as files. The state is <prefix>_iter_<n>.solverstate or .solverstate.h5. It names its
// weights, normally <prefix>_iter_<n>.caffemodel or .caffemodel.h5. The state is written last: a
// snapshot exists once its state does.

struct SnapshotFiles {
  int iteration = 0;
  string state;
  string weights;  ///< the usual name of its weights; the file may be missing
};

/// Returns the solver states under `prefix`, by their file names, highest iteration first.
vector<SnapshotFiles> FindSnapshots(const string& prefix);

/// Returns one sentence, with the name of the file, that says why training cannot resume from
/// `state_file`; "" if state and weights are whole. Files are whole if they match their checksums;
/// files of Caffe, which have none, if they can be read.
string SnapshotFault(const string& state_file);

/// Returns the state of the newest whole snapshot under `prefix`, by the time it was written; "" if
/// there is no state. Logs which newer ones it skips, and why. Returns kInvalid if there are states
/// but none is whole.
layrub::Result<string> LatestSnapshot(const string& prefix);

/// Removes complete snapshots under `prefix`, except the newest `keep` (at least 1) of those up to
/// `iteration`. Removes the state first, then the weights. Does not touch later snapshots or other
/// files.
void RemoveOlderSnapshots(const string& prefix, int iteration, int keep);

/// Removes unfinished snapshot files of dead processes under `prefix`.
void RemoveStraySnapshots(const string& prefix);

/// Returns `wanted`, or HDF5 if one of the two files would be too large for a binary file.
SolverParameter_SnapshotFormat SnapshotFormatFor(SolverParameter_SnapshotFormat wanted,
                                                 int64_t weights_bytes, int64_t state_bytes);

}  // namespace caffe

#endif  // CAFFE_SOLVER_SNAPSHOTS_HPP_
