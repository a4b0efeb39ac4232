// Solver: snapshots and resuming.
#include <boost/algorithm/string/predicate.hpp>
#include <cstdio>
#include <fstream>

#include "caffe/solver.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/io.hpp"

namespace caffe {

template <typename Dtype>
void Solver<Dtype>::CheckSnapshotWritePermissions() {
  if (!Caffe::root_solver()) return;
  if (param_.snapshot() > 0) {
    CHECK(param_.has_snapshot_prefix())
        << "In solver params, snapshot is specified but snapshot_prefix is not";
  }
  const string probe = SnapshotFilename(".tempfile");
  std::ofstream file(probe.c_str());
  CHECK(file.good()) << "Cannot write to snapshot prefix '" << param_.snapshot_prefix()
                     << "'. Make sure that the directory exists and is writeable.";
  file.close();
  std::remove(probe.c_str());
}

template <typename Dtype>
string Solver<Dtype>::SnapshotFilename(const string& extension) {
  return param_.snapshot_prefix() + "_iter_" + std::to_string(iter_) + extension;
}

template <typename Dtype>
void Solver<Dtype>::Snapshot() {
  CHECK(Caffe::root_solver());
  const bool binary = param_.snapshot_format() == SolverParameter_SnapshotFormat_BINARYPROTO;
  SnapshotSolverState(binary ? SnapshotToBinaryProto() : SnapshotToHDF5());
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToBinaryProto() {
  const string filename = SnapshotFilename(".caffemodel");
  LOG(INFO) << "Snapshotting to binary proto file " << filename;
  WriteProtoToBinaryFile(filename, [this](const auto& write) {  // what Net::ToProto gives
    NetParameter head;
    head.set_name(net_->name());
    write(head);
    for (const auto& layer : net_->layers()) {
      NetParameter piece;
      layer->ToProto(piece.add_layer(), param_.snapshot_diff());
      write(piece);
    }
  });
  return filename;
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToHDF5() {
  const string filename = SnapshotFilename(".caffemodel.h5");
  LOG(INFO) << "Snapshotting to HDF5 file " << filename;
  AtomicFile file(filename);
  net_->ToHDF5(file.temp_path(), param_.snapshot_diff());
  file.Commit();
  return filename;
}

template <typename Dtype>
void Solver<Dtype>::Restore(const char* resume_file) {
  const string file = resume_file;
  CHECK(!boost::ends_with(file, ".caffemodel") && !boost::ends_with(file, ".caffemodel.h5"))
      << "Cannot resume from " << file
      << ": it holds weights only. Give the .solverstate file written beside it, or "
      << "start a new run from these weights with --weights.";
  if (boost::ends_with(file, ".h5")) {
    RestoreSolverStateFromHDF5(file);
  } else {
    RestoreSolverStateFromBinaryProto(file);
  }
}

#define INSTANTIATE_STATE(Dtype)                                  \
  template void Solver<Dtype>::CheckSnapshotWritePermissions();   \
  template string Solver<Dtype>::SnapshotFilename(const string&); \
  template void Solver<Dtype>::Snapshot();                        \
  template string Solver<Dtype>::SnapshotToBinaryProto();         \
  template string Solver<Dtype>::SnapshotToHDF5();                \
  template void Solver<Dtype>::Restore(const char*)
INSTANTIATE_STATE(float);
INSTANTIATE_STATE(double);

}  // namespace caffe
