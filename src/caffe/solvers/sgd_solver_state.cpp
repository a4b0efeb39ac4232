// SGDSolver: its state in files.
#include "caffe/sgd_solvers.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string& model_filename) {
  const string filename = this->SnapshotFilename(".solverstate");
  LOG(INFO) << "Snapshotting solver state to binary proto file " << filename;
  WriteProtoToBinaryFile(filename, [&](const auto& write) {
    SolverState head;
    head.set_iter(this->iter_);
    head.set_learned_net(model_filename);
    write(head);
    for (const auto& blob : history_) {
      SolverState piece;
      blob->ToProto(piece.add_history());
      write(piece);
    }
    SolverState tail;
    tail.set_current_step(this->current_step_);
    write(tail);
  });
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string& state_file) {
  SolverState state;
  ReadProtoFromBinaryFileOrDie(state_file, &state);
  CHECK(state.has_iter()) << state_file
                          << " holds no solver state: it is empty, or no .solverstate.";
  CHECK_EQ(state.history_size(), static_cast<int>(history_.size()))
      << "Incorrect length of history blobs in " << state_file
      << ": it was written by another solver or net.";
  for (int i = 0; i < state.history_size(); ++i) {
    CHECK(history_[i]->ShapeEquals(state.history(i)))
        << state_file << ": history blob " << i << " does not have the shape "
        << history_[i]->shape_string() << " of the parameter it belongs to.";
  }
  if (state.has_learned_net()) {
    NetParameter net;
    ReadNetParamsFromBinaryFileOrDie(state.learned_net(), &net);
    this->net_->CopyTrainedLayersFrom(net);
  }
  this->iter_ = state.iter();
  this->current_step_ = state.current_step();
  LOG_IF(INFO, Caffe::root_solver()) << "SGDSolver: restoring history";
  for (int i = 0; i < state.history_size(); ++i) history_[i]->FromProto(state.history(i), false);
}

#ifdef USE_HDF5

namespace {

/// An open HDF5 file or group that closes itself.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const string& what) : id_(id), close_(close) {
    CHECK_GE(id, 0) << "Couldn't open " << what;
  }
  ~Handle() { close_(id_); }
  hid_t id() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);

  DISABLE_COPY_AND_ASSIGN(Handle);
};

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string& model_filename) {
  const string filename = this->SnapshotFilename(".solverstate.h5");
  LOG(INFO) << "Snapshotting solver state to HDF5 file " << filename;
  AtomicFile target(filename);
  {
    const Handle file(
        H5Fcreate(target.temp_path().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
        filename + " to save solver state.");
    hdf5_save_int(file.id(), "iter", this->iter_);
    hdf5_save_string(file.id(), "learned_net", model_filename);
    hdf5_save_int(file.id(), "current_step", this->current_step_);
    const Handle history(H5Gcreate2(file.id(), "history", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         H5Gclose, "group history of " + filename);
    for (size_t i = 0; i < history_.size(); ++i) {
      hdf5_save_nd_dataset<Dtype>(history.id(), std::to_string(i), *history_[i]);
    }
  }
  target.Commit();
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string& state_file) {
  const Handle file(hdf5_open_file(state_file), H5Fclose, "solver state file " + state_file);
  CHECK_GT(H5Lexists(file.id(), "history", H5P_DEFAULT), 0)
      << state_file << " holds no solver state: it has no group 'history'.";
  const Handle history(H5Gopen2(file.id(), "history", H5P_DEFAULT), H5Gclose,
                       "group history of " + state_file);
  CHECK_EQ(hdf5_get_num_links(history.id()), static_cast<int>(history_.size()))
      << "Incorrect length of history blobs in " << state_file
      << ": it was written by another solver or net.";
  if (H5LTfind_dataset(file.id(), "learned_net") > 0) {
    this->net_->CopyTrainedLayersFrom(hdf5_load_string(file.id(), "learned_net"));
  }
  this->iter_ = hdf5_load_int(file.id(), "iter");
  this->current_step_ = hdf5_load_int(file.id(), "current_step");
  LOG_IF(INFO, Caffe::root_solver()) << "SGDSolver: restoring history";
  for (size_t i = 0; i < history_.size(); ++i) {
    hdf5_load_nd_dataset<Dtype>(history.id(), std::to_string(i).c_str(), 0, kMaxBlobAxes,
                                history_[i].get());
  }
}

#else

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&) {
  LOG(FATAL) << "snapshot_format: HDF5 needs HDF5, and this build has none (USE_HDF5=OFF).";
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string& state_file) {
  LOG(FATAL) << "Cannot read " << state_file << ": this build has no HDF5 (USE_HDF5=OFF).";
}

#endif

#define INSTANTIATE_STATE(Dtype)                                                    \
  template void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string&);  \
  template void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string&); \
  template void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&);         \
  template void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&)
INSTANTIATE_STATE(float);
INSTANTIATE_STATE(double);

}  // namespace caffe
