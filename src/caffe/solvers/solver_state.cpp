// Solver: memory placement, snapshots and resuming.
#include <boost/algorithm/string/predicate.hpp>
#include <cstdio>
#include <fstream>

#include "caffe/planned_net.hpp"
#include "caffe/solver.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/io.hpp"
#include "layrub/bytes.hpp"

namespace caffe {

template <typename Dtype>
layrub::Status Solver<Dtype>::Place() {
  PlacementParameter wanted = net_placement_;
  wanted.MergeFrom(param_.placement());
  layrub::Result<PlacementOptions> options = ToOptions(wanted);
  if (!options.ok()) return options.status();
  options.value().machine = placement_extra_.machine;
  options.value().padding = placement_extra_.padding;
  options.value().executor = placement_extra_.executor;
  const layrub::Status status = net_->Place(options.value(), ParameterHistory());
  placed_ = status.ok();
  if (placed_ && Caffe::root_solver()) LogPlacement();
  return status;
}

template <typename Dtype>
void Solver<Dtype>::EnsurePlaced() {
  if (placed_) return;
  const layrub::Status status = Place();
  CHECK(status.ok()) << status.message;
}

template <typename Dtype>
void Solver<Dtype>::LogPlacement() const {
  const PlannedNet<Dtype>* planned = net_->planned();
  if (planned == nullptr) return;
  const layrub::Plan& plan = planned->plan();
  const auto keep = layrub::MakePlan(planned->graph(), placement_extra_.machine, {}, "keep");
  ostringstream yardsticks;
  if (keep.ok()) yardsticks << "keep " << layrub::FormatBytes(keep.value().device_bytes) << ", ";
  yardsticks << "floor " << layrub::FormatBytes(layrub::FloorBytes(planned->graph()));
  LOG(INFO) << "Placement: " << plan.strategy << ", device "
            << layrub::FormatBytes(plan.device_bytes) << " (" << yardsticks.str() << "), host "
            << layrub::FormatBytes(plan.host_bytes);
}

template <typename Dtype>
int Solver<Dtype>::histories() const {
  const typename Net<Dtype>::History history = ParameterHistory();
  return history.empty() ? 0 : static_cast<int>(history.front().size());
}

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
  NetParameter net;
  net_->ToProto(&net, param_.snapshot_diff());
  WriteProtoToBinaryFile(net, filename);
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
  template layrub::Status Solver<Dtype>::Place();                 \
  template void Solver<Dtype>::EnsurePlaced();                    \
  template void Solver<Dtype>::LogPlacement() const;              \
  template int Solver<Dtype>::histories() const;                  \
  template void Solver<Dtype>::CheckSnapshotWritePermissions();   \
  template string Solver<Dtype>::SnapshotFilename(const string&); \
  template void Solver<Dtype>::Snapshot();                        \
  template string Solver<Dtype>::SnapshotToBinaryProto();         \
  template string Solver<Dtype>::SnapshotToHDF5();                \
  template void Solver<Dtype>::Restore(const char*)
INSTANTIATE_STATE(float);
INSTANTIATE_STATE(double);

}  // namespace caffe
