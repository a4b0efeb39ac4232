// Solver: when a snapshot is taken, whether there is room for it, and what follows when it fails.

#include <algorithm>
#include <climits>
#include <filesystem>
#include <set>

#include "caffe/solver.hpp"
#include "caffe/solver_snapshots.hpp"
#include "caffe/util/atomic_file.hpp"
#include "layrub/base/bytes.hpp"

namespace caffe {

namespace {

// The next iteration after this one that is a multiple of `step`; INT_MAX where there is none.
int NextMultiple(int iteration, int step) {
  const int64_t next = (int64_t{iteration} / step + 1) * step;
  return static_cast<int>(std::min<int64_t>(next, INT_MAX));
}

// What training does after a snapshot that failed; empty: it is at its end.
string WhatFollows(const SolverParameter& param, int iteration, int retry, bool ends) {
  if (ends || iteration == param.max_iter()) return "";
  if (param.snapshot() > 0) retry = std::min(retry, NextMultiple(iteration, param.snapshot()));
  const string goes_on = " Training goes on, and tries again at iteration ";
  if (iteration < param.max_iter() && retry >= param.max_iter())
    return goes_on + std::to_string(param.max_iter()) + ", its last.";
  return goes_on + std::to_string(retry) + " or when it ends.";
}

// What files hold beside values, at most: of a blob, of a layer, of a solver.
constexpr int64_t kBytesOfBlob = 1 << 10, kBytesOfLayer = 1 << 11, kBytesOfSolver = 1 << 14;

}  // namespace

template <typename Dtype>
pair<int64_t, int64_t> Solver<Dtype>::SnapshotBytes() const {
  const auto bytes_of = [](const Blob<Dtype>& blob, int times) {
    return kBytesOfBlob + times * static_cast<int64_t>(sizeof(Dtype)) * blob.count();
  };
  int64_t weights = 0, state = kBytesOfSolver;
  for (const auto& layer : net_->layers()) {
    weights += kBytesOfLayer + static_cast<int64_t>(layer->layer_param().ByteSizeLong());
    for (const auto& blob : layer->blobs())
      weights += bytes_of(*blob, param_.snapshot_diff() ? 2 : 1);
  }
  for (const auto& blobs : ParameterHistory()) {
    for (const Blob<Dtype>* blob : blobs) state += bytes_of(*blob, 1);
  }
  return {weights, state};
}

template <typename Dtype>
void Solver<Dtype>::ChooseSnapshotFormat(int64_t weights, int64_t state) {
  const auto format = SnapshotFormatFor(param_.snapshot_format(), weights, state);
  if (format != param_.snapshot_format()) {
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
    param_.set_snapshot_format(format);
  }
  if (format == SolverParameter_SnapshotFormat_BINARYPROTO) return;
  std::set<string> names;
  for (const string& name : net_->layer_names()) {
    CHECK(!name.empty() && names.insert(name).second)
        << "snapshot_format: HDF5 needs layers with names of their own, and "
        << (name.empty() ? "one has none." : "two are named " + name + ".");
  }
}

template <typename Dtype>
void Solver<Dtype>::CheckSnapshotWritePermissions() {
  if (!Caffe::root_solver()) return;
  const string& prefix = param_.snapshot_prefix();
  if (param_.snapshot() > 0) {
    CHECK(param_.has_snapshot_prefix())
        << "In solver params, snapshot is specified but snapshot_prefix is not";
  }
  const string why = WhyNotWritable(prefix + ".tempfile");
  CHECK(why.empty()) << "Cannot write to snapshot prefix '" << prefix << "' (" << why
                     << "). Make sure that the directory exists and is writeable.";
  RemoveStraySnapshots(prefix);
  if (!net_) return;  // later
  const auto [weights, state] = SnapshotBytes();
  ChooseSnapshotFormat(weights, state);
  const std::filesystem::path folder = std::filesystem::path(prefix).parent_path() / ".";
  std::error_code unknown;  // then all there could be is left
  const uintmax_t room = std::filesystem::space(folder, unknown).available;
  CHECK(room >= static_cast<uintmax_t>(weights + state))
      << "A snapshot under '" << prefix << "' needs " << weights + state << " bytes, and there are "
      << room << " bytes left: it would fail after hours of training.";
  snapshots_checked_ = true;
}

template <typename Dtype>
void Solver<Dtype>::SnapshotInTraining() {
  if (param_.stop_on_nan()) {
    const string where = NotFinite(false);
    if (!where.empty()) StopAsNotFinite("weights are not finite, first in " + where);
  }
  if (param_.stop_on_snapshot_failure()) {
    Snapshot();
    return;
  }
  try {
    const ThrowOnError scope;
    Snapshot();
    snapshot_failure_.clear();
    snapshot_retry_ = -1;
    snapshot_distance_ = 1;
  } catch (const Error& error) {
    snapshot_failure_ = error.what();
    snapshot_retry_ = iter_ > INT_MAX - snapshot_distance_ ? INT_MAX : iter_ + snapshot_distance_;
    LOG(WARNING) << "Iteration " << iter_ << " has no snapshot."
                 << WhatFollows(param_, iter_, snapshot_retry_, requested_early_exit_);
    if (snapshot_distance_ <= INT_MAX / 2) snapshot_distance_ *= 2;
  }
}

template <typename Dtype>
void Solver<Dtype>::SnapshotIfDue(bool wanted) {
  const bool due =
      (param_.snapshot() && iter_ % param_.snapshot() == 0) || iter_ == snapshot_retry_;
  if (wanted || (due && Caffe::root_solver())) SnapshotInTraining();
}

template <typename Dtype>
void Solver<Dtype>::MakeUpForSnapshot() {
  if (snapshot_failure_.empty()) return;
  LOG(WARNING) << "Training has ended, and tries again to write its last snapshot.";
  SnapshotInTraining();
  if (snapshot_failure_.empty()) return;
  LOG(FATAL) << "Training has ended without its last snapshot: " << snapshot_failure_ << ". "
             << LastSnapshot();
}

template <typename Dtype>
string Solver<Dtype>::LastSnapshot() const {
  return last_snapshot_.empty() ? "There is no snapshot of this run."
                                : "The last snapshot is " + last_snapshot_ + ".";
}

template <typename Dtype>
void Solver<Dtype>::RemoveOlder() {
  if (param_.snapshot_keep() <= 0) return;
  const string where = NotFinite(false);
  if (where.empty()) {
    RemoveOlderSnapshots(param_.snapshot_prefix(), iter_, param_.snapshot_keep());
  } else {
    LOG(WARNING) << "Older snapshots stay: the weights of this one are not finite, first in "
                 << where << ".";
  }
}

#define INSTANTIATE_SAVING(Dtype)                                       \
  template pair<int64_t, int64_t> Solver<Dtype>::SnapshotBytes() const; \
  template void Solver<Dtype>::ChooseSnapshotFormat(int64_t, int64_t);  \
  template void Solver<Dtype>::CheckSnapshotWritePermissions();         \
  template void Solver<Dtype>::SnapshotInTraining();                    \
  template void Solver<Dtype>::SnapshotIfDue(bool);                     \
  template void Solver<Dtype>::MakeUpForSnapshot();                     \
  template string Solver<Dtype>::LastSnapshot() const;                  \
  template void Solver<Dtype>::RemoveOlder()
INSTANTIATE_SAVING(float);
INSTANTIATE_SAVING(double);

}  // namespace caffe
