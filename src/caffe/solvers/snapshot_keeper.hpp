#ifndef CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_
#define CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_

#include <functional>
#include <string>
#include <utility>

#include "caffe/solver.hpp"

namespace caffe {

/// Writes the snapshots of a solver, both files or neither, decides when one is due, and retries
/// after failures. The solver decides what a state holds.
template <typename Dtype>
class SnapshotKeeper {
 public:
  /// Both must outlive this object. It may change snapshot_format in `param` to HDF5.
  SnapshotKeeper(Solver<Dtype>* solver, SolverParameter* param) : solver_(solver), param_(param) {}

  /// <prefix>_iter_<n><extension>
  string Filename(const string& extension) const;
  /// Implements Solver::CheckSnapshotWritePermissions.
  void CheckWritable();
  /// The same, unless it was already called since the net exists.
  void EnsureWritable() {
    if (!checked_) CheckWritable();
  }

  /// Writes the weights in the format asked for and calls `write_state` with their file name.
  /// `write_state` must call FillChecksum and Commit.
  void Take(const std::function<void(const string& weights)>& write_state);
  /// Stores size and checksum of the weights just written, and the time, in `resume`.
  void FillChecksum(const string& weights, ResumeState* resume) const;
  /// Once both files are on disk, gives the weights their name, and then `state`.
  void Commit(AtomicFile* state);
  /// Writes only the weights and returns the file name.
  string WriteWeights(SolverParameter_SnapshotFormat format) const;

  /// Calls Solver::Snapshot. A failure is retried later if allowed. `ends`: training stops here.
  void TakeInTraining(bool ends);
  /// The same if a snapshot is wanted, due, or to be retried now.
  void TakeIfDue(bool wanted);
  /// To be called at the end of training. Retries a failed snapshot once more, and aborts if that
  /// fails too.
  void RetryAtEnd(bool ends);

  void set_last(const string& file) { last_ = file; }
  /// Returns "The last snapshot is ...", or a sentence that there is none.
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
  string last_;                         ///< the last state taken or restored from
  string failure_;                      ///< why the last snapshot is missing
  int retry_ = -1;                      ///< the iteration at which to try again
  int distance_ = 1;                    ///< distance to the retry after the next failure
  bool checked_ = false;
};

}  // namespace caffe

#endif  // CAFFE_SOLVERS_SNAPSHOT_KEEPER_HPP_
