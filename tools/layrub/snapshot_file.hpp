#ifndef TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_
#define TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_

#include <optional>
#include <string>

#include "caffe/proto/caffe.pb.h"

namespace layrub_tool {

/// The contents of a file that training has written, binary or HDF5: the weights of a net, or the
/// state of a solver.
struct SnapshotFile {
  bool hdf5 = false;
  std::optional<caffe::SolverState> state;
  caffe::NetParameter weights;  ///< if `state` is empty
};

/// Reads the file. Format and kind are detected from its contents, not its name; if it is neither
/// kind, the program ends. In HDF5, parameters that a layer shares with an earlier one are missing;
/// they are read as blobs without shape and values.
SnapshotFile ReadSnapshotFile(const std::string& path);

/// Fills in the shared parameters that `hdf5` lacks. A blob is filled in if `binary` has the same
/// values for it as for another blob, and `hdf5` has that one.
void FillInShared(const caffe::NetParameter& binary, caffe::NetParameter* hdf5);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_SNAPSHOT_FILE_HPP_
