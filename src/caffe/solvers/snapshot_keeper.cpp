#include "snapshot_keeper.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <filesystem>
#include <set>

#include "caffe/net/net_weights.hpp"
#include "caffe/solver_snapshots.hpp"
#include "caffe/util/atomic_file.hpp"
#include "caffe/util/checksum.hpp"
#include "caffe/util/io.hpp"
#include "layrub/base/bytes.hpp"
#include "not_finite.hpp"
#include "state_file.hpp"

namespace caffe {

namespace {

/// Returns the next multiple of `step` after `iteration`, or INT_MAX if there is none.
int NextMultiple(int iteration, int step) {
  const int64_t next = (int64_t{iteration} / step + 1) * step;
  return static_cast<int>(std::min<int64_t>(next, INT_MAX));
}

/// Returns a sentence about what training does after a failed snapshot. Empty at its end.
string WhatFollows(const SolverParameter& param, int iteration, int retry, bool ends) {
  if (ends || iteration == param.max_iter()) return "";
  if (param.snapshot() > 0) retry = std::min(retry, NextMultiple(iteration, param.snapshot()));
  const string goes_on = " Training goes on, and tries again at iteration ";
  if (iteration < param.max_iter() && retry >= param.max_iter())
    return goes_on + std::to_string(param.max_iter()) + ", its last.";
  return goes_on + std::to_string(retry) + " or when it ends.";
}

/// Upper bounds of the bytes in files besides values, for each blob, layer and solver.
constexpr int64_t kBytesOfBlob = 1 << 10, kBytesOfLayer = 1 << 11, kBytesOfSolver = 1 << 14;

string WeightsExtension(SolverParameter_SnapshotFormat format) {
  return format == SolverParameter_SnapshotFormat_BINARYPROTO ? ".caffemodel" : ".caffemodel.h5";
}

}  // namespace

template <typename Dtype>
string SnapshotKeeper<Dtype>::Filename(const string& extension) const {
  return param_->snapshot_prefix() + "_iter_" + std::to_string(solver_->iter()) + extension;
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::WriteWeightsTo(SolverParameter_SnapshotFormat format,
                                           const string& name, AtomicFile* file) const {
  const Net<Dtype>& net = *solver_->net();
  if (format == SolverParameter_SnapshotFormat_HDF5) {
    LOG(INFO) << "Snapshotting to HDF5 file " << name;
    WriteNetToHdf5(net, param_->snapshot_diff(), file);
    return;
  }
  LOG(INFO) << "Snapshotting to binary proto file " << name;
  const auto pieces = [&](const auto& write) {  // the message that Net::ToProto makes
    NetParameter head;
    head.set_name(net.name());
    write(head);
    for (const auto& layer : net.layers()) {
      NetParameter piece;
      layer->ToProto(piece.add_layer(), param_->snapshot_diff());
      write(piece);
    }
  };
  WriteProtoToBinaryFile(pieces, file);
}

template <typename Dtype>
string SnapshotKeeper<Dtype>::WriteWeights(SolverParameter_SnapshotFormat format) const {
  const string name = Filename(WeightsExtension(format));
  AtomicFile file(name, AtomicFile::kReplace);
  WriteWeightsTo(format, name, &file);
  file.Commit();
  return name;
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::Take(const std::function<void(const string&)>& write_state) {
  CHECK(Caffe::root_solver());
  const SolverParameter_SnapshotFormat format = param_->snapshot_format();
  const string name = Filename(WeightsExtension(format));
  AtomicFile weights(name, AtomicFile::kReplace);
  WriteWeightsTo(format, name, &weights);
  weights.Sync();
  const struct Scope {
    ~Scope() { *file = nullptr; }
    AtomicFile** file;
  } scope{&weights_file_};
  weights_file_ = &weights;
  write_state(name);
  if (!weights.committed())
    weights.Commit();  // a subclass has written its state without CommitSnapshot
  const bool hdf5 = format == SolverParameter_SnapshotFormat_HDF5;
  const string state = Filename(hdf5 ? ".solverstate.h5" : ".solverstate");
  std::error_code unknown;
  last_ = std::filesystem::exists(state, unknown) ? state : name;
  RemoveOlder();
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::FillChecksum(const string& weights, ResumeState* resume) const {
  const layrub::Result<FileChecksum> checksum =
      weights_file_ ? ChecksumOf(weights_file_->fd()) : ChecksumOf(weights);
  CHECK(checksum.ok()) << "Cannot read back " << weights << ": " << checksum.status().message;
  resume->set_weights_bytes(checksum.value().bytes);
  resume->set_weights_crc32(checksum.value().crc32);
  const std::chrono::nanoseconds now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t last = last_.empty() ? 0 : WrittenAt(last_);
  resume->set_written(std::max<int64_t>(now.count(), last + 1));
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::Commit(AtomicFile* state) {
  state->Sync();
  if (weights_file_) weights_file_->Commit();
  state->Commit();
}

template <typename Dtype>
std::pair<int64_t, int64_t> SnapshotKeeper<Dtype>::BytesOfFiles() const {
  const auto bytes_of = [](const Blob<Dtype>& blob, int times) {
    return kBytesOfBlob + times * static_cast<int64_t>(sizeof(Dtype)) * blob.count();
  };
  int64_t weights = 0, state = kBytesOfSolver;
  for (const auto& layer : solver_->net()->layers()) {
    weights += kBytesOfLayer + static_cast<int64_t>(layer->layer_param().ByteSizeLong());
    for (const auto& blob : layer->blobs())
      weights += bytes_of(*blob, param_->snapshot_diff() ? 2 : 1);
  }
  for (const auto& blobs : solver_->ParameterHistory()) {
    for (const Blob<Dtype>* blob : blobs) state += bytes_of(*blob, 1);
  }
  return {weights, state};
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::ChooseFormat(int64_t weights, int64_t state) {
  const auto format = SnapshotFormatFor(param_->snapshot_format(), weights, state);
  if (format != param_->snapshot_format()) {
    const string why = "a snapshot takes " + layrub::FormatBytes(weights) +
                       " for the weights and " + layrub::FormatBytes(state) +
                       " for the solver's state, and a binary file ends at 2 GiB";
#ifdef USE_HDF5
    LOG(WARNING) << "snapshot_format is HDF5 from now on: " << why << ".";
#else
    LOG(FATAL) << "No snapshot can be written: " << why
               << "; larger ones need HDF5, and this build "
               << "has none (USE_HDF5=OFF).";
#endif
    param_->set_snapshot_format(format);
  }
  if (format == SolverParameter_SnapshotFormat_BINARYPROTO) return;
  std::set<string> names;
  for (const string& name : solver_->net()->layer_names()) {
    CHECK(!name.empty() && names.insert(name).second)
        << "snapshot_format: HDF5 needs a different name for each layer, but "
        << (name.empty() ? "one has none." : "two are named " + name + ".");
  }
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::CheckWritable() {
  if (!Caffe::root_solver()) return;
  const string& prefix = param_->snapshot_prefix();
  if (param_->snapshot() > 0) {
    CHECK(param_->has_snapshot_prefix())
        << "In solver params, snapshot is specified but snapshot_prefix is not";
  }
  const string why = WhyNotWritable(prefix + ".tempfile");
  CHECK(why.empty()) << "Cannot write to snapshot prefix '" << prefix << "' (" << why
                     << "). Make sure that the directory exists and is writeable.";
  RemoveStraySnapshots(prefix);
  if (!solver_->net()) return;  // checked again once there is a net
  const auto [weights, state] = BytesOfFiles();
  ChooseFormat(weights, state);
  const std::filesystem::path folder = std::filesystem::path(prefix).parent_path() / ".";
  std::error_code unknown;  // then `available` is the largest value
  const uintmax_t room = std::filesystem::space(folder, unknown).available;
  CHECK(room >= static_cast<uintmax_t>(weights + state))
      << "A snapshot under '" << prefix << "' needs " << weights + state << " bytes, and there are "
      << room << " bytes left: it would fail after hours of training.";
  checked_ = true;
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::TakeInTraining(bool ends) {
  if (param_->stop_on_nan()) {
    const string where = FirstNotFinite(*solver_->net(), false);
    if (!where.empty()) {
      StopAsNotFinite(solver_->iter(), "weights are not finite, first in " + where, LastText());
    }
  }
  if (param_->stop_on_snapshot_failure()) {
    solver_->Snapshot();
    return;
  }
  try {
    const ThrowOnError scope;
    solver_->Snapshot();
    failure_.clear();
    retry_ = -1;
    distance_ = 1;
  } catch (const Error& error) {
    failure_ = error.what();
    retry_ = solver_->iter() > INT_MAX - distance_ ? INT_MAX : solver_->iter() + distance_;
    LOG(WARNING) << "Iteration " << solver_->iter() << " has no snapshot."
                 << WhatFollows(*param_, solver_->iter(), retry_, ends);
    if (distance_ <= INT_MAX / 2) distance_ *= 2;
  }
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::TakeIfDue(bool wanted) {
  const bool due = (param_->snapshot() && solver_->iter() % param_->snapshot() == 0) ||
                   solver_->iter() == retry_;
  if (wanted || (due && Caffe::root_solver())) TakeInTraining(false);
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::RetryAtEnd(bool ends) {
  if (failure_.empty()) return;
  LOG(WARNING) << "Training has ended, and tries again to write its last snapshot.";
  TakeInTraining(ends);
  if (failure_.empty()) return;
  LOG(FATAL) << "Training has ended without its last snapshot: " << failure_ << ". " << LastText();
}

template <typename Dtype>
string SnapshotKeeper<Dtype>::LastText() const {
  return last_.empty() ? "There is no snapshot of this run."
                       : "The last snapshot is " + last_ + ".";
}

template <typename Dtype>
void SnapshotKeeper<Dtype>::RemoveOlder() {
  if (param_->snapshot_keep() <= 0) return;
  const string where = FirstNotFinite(*solver_->net(), false);
  if (where.empty()) {
    RemoveOlderSnapshots(param_->snapshot_prefix(), solver_->iter(), param_->snapshot_keep());
  } else {
    LOG(WARNING) << "Older snapshots stay: the weights of this one are not finite, first in "
                 << where << ".";
  }
}

template class SnapshotKeeper<float>;
template class SnapshotKeeper<double>;

}  // namespace caffe
