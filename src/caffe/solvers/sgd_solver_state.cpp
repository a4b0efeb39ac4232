// SGDSolver: its state in files.
#include "caffe/sgd_solvers.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/failure.hpp"
#include "caffe/util/hdf5.hpp"
#include "caffe/util/io.hpp"
#include "caffe/util/weights_file.hpp"
#include "state_file.hpp"

namespace caffe {

template <typename Dtype>
SolverState SGDSolver<Dtype>::MakeHead(const string& model_filename) {
  SolverState head;
  head.set_iter(this->iter_);
  head.set_learned_net(model_filename);
  head.set_current_step(this->current_step_);
  *head.mutable_resume() = this->MakeResumeState(model_filename);
  if (this->param_.lr_policy() == "plateau") {
    head.mutable_resume()->set_lowest_loss(lowest_loss_);
    head.mutable_resume()->set_plateau_iter(plateau_iter_);
  }
  head.set_has_checksum(true);
  uint32_t crc = HeadCrc32(head);
  for (const auto& blob : history_) {
    crc = ShapeCrc32(blob->shape(), crc);
    crc = Crc32(crc, blob->cpu_data(), static_cast<size_t>(blob->count()) * sizeof(Dtype));
  }
  head.mutable_resume()->set_state_crc32(crc);
  return head;
}

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string& model_filename) {
  const string filename = this->SnapshotFilename(".solverstate");
  LOG(INFO) << "Snapshotting solver state to binary proto file " << filename;
  const SolverState head = MakeHead(model_filename);
  AtomicFile file(filename, AtomicFile::kReplace);
  const auto pieces = [&](const auto& write) {
    SolverState first, last = head;
    first.set_iter(head.iter());
    first.set_learned_net(head.learned_net());
    write(first);
    for (const auto& blob : history_) {
      SolverState piece;
      blob->ToProto(piece.add_history());
      write(piece);
    }
    last.clear_iter();
    last.clear_learned_net();
    write(last);
  };
  WriteProtoToBinaryFile(pieces, &file);
  this->CommitSnapshot(&file);
}

namespace {

/// Warns if the weights that training resumes from belong to other layers than the net's: a renamed
/// layer loses its weights. `stored` holds the layers in `file`, and whether it has weights of
/// them.
template <typename Dtype>
void WarnOfOtherLayers(const string& file, const map<string, bool>& stored, const Net<Dtype>& net) {
  if (!Caffe::root_solver()) return;
  string gone, fresh;
  const auto add = [](const string& name, string* names) {
    *names += (names->empty() ? "" : ", ") + name;
  };
  for (const auto& [name, has_weights] : stored) {
    if (has_weights && !net.has_layer(name)) add(name, &gone);
  }
  for (size_t i = 0; i < net.layers().size(); ++i) {
    const string& name = net.layer_names()[i];
    if (!net.layers()[i]->blobs().empty() && stored.count(name) == 0) add(name, &fresh);
  }
  LOG_IF(WARNING, !gone.empty()) << file
                                 << " has weights of layers that the net does not have: " << gone
                                 << ".";
  LOG_IF(WARNING, !fresh.empty())
      << file
      << " has no weights of these layers, which start with the values of their fillers: " << fresh
      << ".";
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string& state_file) {
  SolverState state;
  ReadProtoFromBinaryFileOrDie(state_file, &state);
  const SolverState head = TakeHead(state);
  CheckHead(state_file, head, HistoryCrc32(state, HeadCrc32(head)), state.history_size());
  for (int i = 0; i < state.history_size(); ++i) {
    CHECK(history_[i]->ShapeEquals(state.history(i)))
        << state_file << ": history blob " << i << " does not have the shape "
        << history_[i]->shape_string() << " of the parameter it belongs to.";
  }
  if (head.has_learned_net()) {
    NetParameter net;
    ReadWeightsFromBinaryFileOrDie(head.learned_net(), &net);
    this->net_->CopyTrainedLayersFrom(net);
    map<string, bool> stored;
    for (const LayerParameter& layer : net.layer()) stored[layer.name()] = layer.blobs_size() > 0;
    WarnOfOtherLayers(head.learned_net(), stored, *this->net_);
  }
  LOG_IF(INFO, Caffe::root_solver()) << "SGDSolver: restoring history";
  for (int i = 0; i < state.history_size(); ++i) history_[i]->FromProto(state.history(i), false);
  RestorePlateau(head);
  this->FinishRestore(head, state_file);
}

template <typename Dtype>
void SGDSolver<Dtype>::RestorePlateau(const SolverState& head) {
  const bool known = head.resume().has_lowest_loss();
  lowest_loss_ = known ? static_cast<Dtype>(head.resume().lowest_loss())
                       : std::numeric_limits<Dtype>::infinity();
  plateau_iter_ = known ? head.resume().plateau_iter() : head.iter();
}

template <typename Dtype>
void SGDSolver<Dtype>::CheckHead(const string& state_file, const SolverState& head, uint32_t crc,
                                 int histories) const {
  const string state_fault = StateFault(state_file, head, crc);
  CHECK(state_fault.empty()) << state_fault;
  CHECK_EQ(histories, static_cast<int>(history_.size()))
      << "Incorrect length of history blobs in " << state_file
      << ": it was written by another solver or net.";
  const string weights_fault = WeightsFault(state_file, head);
  CHECK(weights_fault.empty()) << weights_fault;
}

#ifdef USE_HDF5

namespace {

/// Returns the layers of a weights file, and whether it has weights of them. Shared weights are
/// stored with their owner only.
map<string, bool> LayersOfHdf5(const string& file) {
  map<string, bool> layers;
  const Hdf5Handle weights(hdf5_open_file(file), H5Fclose, file);
  const Hdf5Handle data(H5Gopen2(weights.id(), "data", H5P_DEFAULT), H5Gclose,
                        "group 'data' of " + file);
  for (int i = 0; i < hdf5_get_num_links(data.id()); ++i) {
    const string group = hdf5_get_name_by_idx(data.id(), i);
    const Hdf5Handle layer(H5Gopen2(data.id(), group.c_str(), H5P_DEFAULT), H5Gclose,
                           "group " + group + " of " + file);
    layers[hdf5_unescape(group)] = hdf5_get_num_links(layer.id()) > 0;
  }
  return layers;
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string& model_filename) {
  const string filename = this->SnapshotFilename(".solverstate.h5");
  LOG(INFO) << "Snapshotting solver state to HDF5 file " << filename;
  const SolverState head = MakeHead(model_filename);
  const auto write = [&](hid_t file) {
    hdf5_save_int(file, "iter", head.iter());
    hdf5_save_string(file, "learned_net", head.learned_net());
    hdf5_save_int(file, "current_step", head.current_step());
    const Hdf5Handle history(H5Gcreate2(file, "history", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                             H5Gclose, "group history of " + filename);
    for (size_t i = 0; i < history_.size(); ++i)
      hdf5_save_nd_dataset<Dtype>(history.id(), std::to_string(i), *history_[i]);
    hdf5_save_bytes(file, "resume", head.resume().SerializeAsString());
    hdf5_save_int(file, "has_checksum", head.has_checksum());
  };
  AtomicFile file(filename, AtomicFile::kReplace);
  hdf5_write_file(write, &file);
  this->CommitSnapshot(&file);
}

template <typename Dtype>
void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string& state_file) {
  SolverState head;
  {
    const FailureScope scope{CurrentFile{state_file}};
    const FailureScope library_scope(state_file.c_str());
    const Hdf5Handle file(hdf5_open_file(state_file), H5Fclose, state_file);
    head = LoadHead(file.id(), state_file);
    const Hdf5Handle history(H5Gopen2(file.id(), "history", H5P_DEFAULT), H5Gclose,
                             "group history of " + state_file);
    const int histories = hdf5_get_num_links(history.id());
    CheckHead(state_file, head, HistoryCrc32(history.id(), head, HeadCrc32(head)), histories);
    const auto name = [](size_t i) { return std::to_string(i); };
    for (size_t i = 0; i < history_.size(); ++i) {
      hdf5_load_nd_dataset_helper<Dtype>(history.id(), name(i).c_str(), 0, kMaxBlobAxes,
                                         history_[i].get(), false);
    }
    if (head.has_learned_net()) {
      this->net_->CopyTrainedLayersFrom(head.learned_net());
      WarnOfOtherLayers(head.learned_net(), LayersOfHdf5(head.learned_net()), *this->net_);
    }
    LOG_IF(INFO, Caffe::root_solver()) << "SGDSolver: restoring history";
    for (size_t i = 0; i < history_.size(); ++i) {
      hdf5_load_nd_dataset<Dtype>(history.id(), name(i).c_str(), 0, kMaxBlobAxes,
                                  history_[i].get());
    }
  }
  RestorePlateau(head);
  this->FinishRestore(head, state_file);
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

#define INSTANTIATE_STATE(Dtype)                                                              \
  template SolverState SGDSolver<Dtype>::MakeHead(const string&);                             \
  template void SGDSolver<Dtype>::RestorePlateau(const SolverState&);                         \
  template void SGDSolver<Dtype>::CheckHead(const string&, const SolverState&, uint32_t, int) \
      const;                                                                                  \
  template void SGDSolver<Dtype>::SnapshotSolverStateToBinaryProto(const string&);            \
  template void SGDSolver<Dtype>::RestoreSolverStateFromBinaryProto(const string&);           \
  template void SGDSolver<Dtype>::SnapshotSolverStateToHDF5(const string&);                   \
  template void SGDSolver<Dtype>::RestoreSolverStateFromHDF5(const string&)
INSTANTIATE_STATE(float);
INSTANTIATE_STATE(double);

}  // namespace caffe
