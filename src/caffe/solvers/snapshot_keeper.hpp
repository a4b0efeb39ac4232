#ifndef CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_
#define CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_

#include <functional>
#include <string>
#include <utility>

#include "caffe/solver.hpp"

namespace caffe {

/// The snapshots of a solver: writes their files, all or none; says when one is due, and tries
/// again where one has failed. What a state holds is the solver's business.
template <typename Dtype>
class SnapshotKeeper {
 public:
  /// Both outlive it. In `param`, snapshot_format may become HDF5.
  SnapshotKeeper(Solver<Dtype>* solver, SolverParameter* param) : solver_(solver), param_(param) {}

  /// <prefix>_iter_<n><extension>
  string Filename(const string& extension) const;
  /// Solver::CheckSnapshotWritePermissions.
  void CheckWritable();
  /// The same where nobody has called it since there is a net.
  void EnsureWritable() {
    if (!checked_) CheckWritable();
  }

  /// Writes the weights as the format asks, and calls `write_state` with their name, which is to
  /// call FillChecksum and Commit.
  void Take(const std::function<void(const string& weights)>& write_state);
  /// Notes in `resume` what the weights that were just written are like, and the time.
  void FillChecksum(const string& weights, ResumeState* resume) const;
  /// Gives the weights their name, and then `state`, when both are on disk.
  void Commit(AtomicFile* state);
  /// Writes the weights alone; returns the name.
  string WriteWeights(SolverParameter_SnapshotFormat format) const;

  /// Solver::Snapshot, whose failure is made good later if it may be. `ends`: training stops here.
  void TakeInTraining(bool ends);
  /// The same where one is wanted, due, or to be made good now.
  void TakeIfDue(bool wanted);
  /// Training has ended: tries once more to take a snapshot that has failed, and aborts when that
  /// fails, too.
  void MakeUp(bool ends);

  void set_last(const string& file) { last_ = file; }
  /// "The last snapshot is ...", or that there is none.
  string LastText() const;

 private:
  void WriteWeightsTo(SolverParameter_SnapshotFormat format, const string& name,
                      AtomicFile* file) const;
  std::pair<int64_t, int64_t> BytesOfFiles() const;
  void ChooseFormat(int64_t weights, int64_t state);
  void RemoveOlder();

  Solver<Dtype>* const solver_;
  SolverParameter* const param_;
  AtomicFile* weights_file_ = nullptr;  ///< while a snapshot is taken
  string last_;                         ///< taken or restored from
  string failure_;                      ///< why the last one is missing
  int retry_ = -1;                      ///< the iteration at which to try again
  int distance_ = 1;                    ///< to there, from the next failure
  bool checked_ = false;
};

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_
