// Solver: snapshots and resuming.
#include <algorithm>
#include <boost/algorithm/string/predicate.hpp>
#include <chrono>
#include <filesystem>

#include "caffe/net/net_hdf5.hpp"
#include "caffe/solver.hpp"
#include "caffe/solver_snapshots.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/io.hpp"
#include "state_file.hpp"

namespace caffe {

template <typename Dtype>
string Solver<Dtype>::SnapshotFilename(const string& extension) {
  return param_.snapshot_prefix() + "_iter_" + std::to_string(iter_) + extension;
}

template <typename Dtype>
string Solver<Dtype>::WeightsFilename() {
  const bool binary = param_.snapshot_format() == SolverParameter_SnapshotFormat_BINARYPROTO;
  return SnapshotFilename(binary ? ".caffemodel" : ".caffemodel.h5");
}

template <typename Dtype>
void Solver<Dtype>::WriteWeightsInHdf5(const string& name, AtomicFile* file) {
  LOG(INFO) << "Snapshotting to HDF5 file " << name;
  WriteNetToHdf5(*net_, param_.snapshot_diff(), file);
}

template <typename Dtype>
void Solver<Dtype>::WriteWeightsInBinary(const string& name, AtomicFile* file) {
  LOG(INFO) << "Snapshotting to binary proto file " << name;
  const auto pieces = [this](const auto& write) {  // what Net::ToProto gives
    NetParameter head;
    head.set_name(net_->name());
    write(head);
    for (const auto& layer : net_->layers()) {
      NetParameter piece;
      layer->ToProto(piece.add_layer(), param_.snapshot_diff());
      write(piece);
    }
  };
  WriteProtoToBinaryFile(pieces, file);
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToBinaryProto() {
  const string name = SnapshotFilename(".caffemodel");
  AtomicFile file(name, AtomicFile::kReplace);
  WriteWeightsInBinary(name, &file);
  file.Commit();
  return name;
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToHDF5() {
  const string name = SnapshotFilename(".caffemodel.h5");
  AtomicFile file(name, AtomicFile::kReplace);
  WriteWeightsInHdf5(name, &file);
  file.Commit();
  return name;
}

template <typename Dtype>
void Solver<Dtype>::Snapshot() {
  CHECK(Caffe::root_solver());
  const string weights_name = WeightsFilename();
  AtomicFile weights(weights_name, AtomicFile::kReplace);
  const bool hdf5 = param_.snapshot_format() == SolverParameter_SnapshotFormat_HDF5;
  if (hdf5) {
    WriteWeightsInHdf5(weights_name, &weights);
  } else {
    WriteWeightsInBinary(weights_name, &weights);
  }
  weights.Sync();
  const struct Scope {
    ~Scope() { *file = nullptr; }
    AtomicFile** file;
  } scope{&weights_file_};
  weights_file_ = &weights;
  SnapshotSolverState(weights_name);
  if (!weights.committed())
    weights.Commit();  // a subclass has written its state in a way of its own
  const string state = SnapshotFilename(hdf5 ? ".solverstate.h5" : ".solverstate");
  std::error_code unknown;
  last_snapshot_ = std::filesystem::exists(state, unknown) ? state : weights_name;
  RemoveOlder();
}

template <typename Dtype>
ResumeState Solver<Dtype>::MakeResumeState(const string& model_filename) {
  ResumeState resume = Progress();
  const layrub::Result<FileChecksum> checksum =
      weights_file_ ? ChecksumOf(weights_file_->fd()) : ChecksumOf(model_filename);
  CHECK(checksum.ok()) << "Cannot read back " << model_filename << ": "
                       << checksum.status().message;
  resume.set_weights_bytes(checksum.value().bytes);
  resume.set_weights_crc32(checksum.value().crc32);
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t last = last_snapshot_.empty() ? 0 : WrittenAt(last_snapshot_);
  resume.set_written(std::max<int64_t>(now.count(), last + 1));
  return resume;
}

template <typename Dtype>
void Solver<Dtype>::CommitSnapshot(AtomicFile* state) {
  state->Sync();
  if (weights_file_) weights_file_->Commit();
  state->Commit();
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
  last_snapshot_ = file;
}

template <typename Dtype>
void Solver<Dtype>::FinishRestore(const SolverState& head, const string& state_file) {
  iter_ = head.iter();
  current_step_ = head.current_step();
  if (head.has_resume()) {
    RestoreProgress(head.resume(), state_file);
    return;
  }
  LOG_IF(WARNING, Caffe::root_solver())
      << state_file << " says neither how far random numbers and data had come nor the smoothed "
      << "loss: these begin anew, so this run will not be exactly the one that was stopped.";
}

#define INSTANTIATE_STATE(Dtype)                                      \
  template string Solver<Dtype>::SnapshotFilename(const string&);     \
  template string Solver<Dtype>::WeightsFilename();                   \
  template string Solver<Dtype>::SnapshotToBinaryProto();             \
  template string Solver<Dtype>::SnapshotToHDF5();                    \
  template void Solver<Dtype>::Snapshot();                            \
  template ResumeState Solver<Dtype>::MakeResumeState(const string&); \
  template void Solver<Dtype>::CommitSnapshot(AtomicFile*);           \
  template void Solver<Dtype>::Restore(const char*);                  \
  template void Solver<Dtype>::FinishRestore(const SolverState&, const string&)
INSTANTIATE_STATE(float);
INSTANTIATE_STATE(double);

}  // namespace caffe
