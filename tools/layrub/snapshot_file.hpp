#ifndef TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_
#define TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_

#include <optional>
#include <string>

#include "caffe/proto/caffe.pb.h"

namespace layrub_tool {

/// What is in a file that training has written, in either format: the weights of a net, or the
/// state of a solver.
struct SnapshotFile {
  bool hdf5 = false;
  std::optional<caffe::SolverState> state;
  caffe::NetParameter weights;  ///< where there is no state
};

/// Tells format and kind by what is in the file, not by its name. Ends the program where that is
/// neither. HDF5 leaves out the parameters that a layer shares with one before it: they are blobs
/// without shape and values.
SnapshotFile ReadSnapshotFile(const std::string& path);

/// Fills in what HDF5 has left out, where `binary` has the same values in another place of which
/// HDF5 has those.
void FillInShared(const caffe::NetParameter& binary, caffe::NetParameter* hdf5);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_
