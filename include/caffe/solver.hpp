#ifndef CAFFE_SOLVER_HPP_
#define CAFFE_SOLVER_HPP_

#include <boost/function.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/placement.hpp"
#include "caffe/solver_factory.hpp"
#include "caffe/solver_plans.hpp"
#include "caffe/util/benchmark.hpp"

namespace caffe {

class AtomicFile;
template <typename Dtype>
class SnapshotKeeper;
template <typename Dtype>
class SolverPlacement;

/// What a client (a signal handler, for example) may ask of a running solver.
namespace SolverAction {
enum Enum {
  NONE = 0,     ///< go on
  STOP = 1,     ///< stop after this iteration, with a snapshot if snapshot_after_train
  SNAPSHOT = 2  ///< write a snapshot and go on
};
}

/// Called once per iteration, and once per batch of a test.
typedef boost::function<SolverAction::Enum()> ActionCallback;

/// Trains a net: iterations of forward, backward and update, with tests, snapshots and displays
/// between them. A subclass defines how a gradient becomes an update (ApplyUpdate) and which state
/// that needs.
///
/// All nets run under memory plans (Place). The test nets use the train net's parameters. Not
/// thread safe.
template <typename Dtype>
class Solver {
 public:
  explicit Solver(const SolverParameter& param);
  explicit Solver(const string& param_file);
  virtual ~Solver();

  /// Called by the constructors. Aborts with the name of the field if `param` is invalid.
  void Init(const SolverParameter& param);
  void InitTrainNet();
  void InitTestNets();

  void SetActionFunction(ActionCallback func);
  SolverAction::Enum GetRequestedAction();

  /// Trains to max_iter, from the state in `resume_file` if given.
  virtual void Solve(const char* resume_file = NULL);
  void Solve(const string& resume_file) { Solve(resume_file.c_str()); }
  /// Trains for `iters` iterations.
  void Step(int iters);
  /// Resumes from a file that Snapshot or Caffe wrote (.solverstate or .solverstate.h5). Files with
  /// checksums are verified before anything changes. LatestSnapshot (caffe/solver_snapshots.hpp)
  /// finds the newest file.
  ///
  /// The positions in the data and the random generators are restored only by the first Step or
  /// Solve, which continues where the training that wrote the file had stopped, whatever has been
  /// read meanwhile. So a program that advances the data itself after Restore, as it must with
  /// Caffe, skips nothing.
  void Restore(const char* resume_file);
  /// Writes parameters and solver state to <prefix>_iter_<n>.*, and removes older snapshots if
  /// snapshot_keep is set. A file is complete or absent. The state is written last and holds the
  /// checksum of the weights. If a file cannot be written, Snapshot aborts and changes nothing;
  /// during training, the snapshot is tried again instead, unless stop_on_snapshot_failure is set.
  void Snapshot();
  /// Makes Snapshot call `snapshot` instead.
  void set_snapshot(std::function<void()> snapshot) { snapshot_ = std::move(snapshot); }
  /// Copies the state of `other`, which must be of the same type, except weights and history:
  /// iteration, losses, and what it has yet to restore.
  virtual void CopyStateFrom(Solver& other);
  /// Makes Progress return `progress` until the next iteration.
  void KeepProgress(const ResumeState& progress);

  /// Returns the state of random generators, data and smoothed loss, for this solver and all that
  /// train with it: what a snapshot holds besides weights, history and iteration. During a test,
  /// and after an interrupted one, this is the state before the test, because a resumed run repeats
  /// the test. After Solve, it is the state after the last iteration.
  ResumeState Progress();
  /// Restores what Progress returned when `state_file` was written; each solver takes its own part.
  /// Losses are restored now, the rest at the first Step or call of Progress. Restore calls it
  /// last. State that does not fit starts anew, with a log line.
  void RestoreProgress(const ResumeState& progress, const string& state_file);
  /// The part of Progress for this solver. To be called in its thread, between iterations.
  SolverProgress OwnProgress();
  /// Sets the function from which Progress gets the state of the other solvers, by rank from 1 on.
  /// Initially none.
  void set_others_progress(std::function<vector<SolverProgress>()> others) {
    others_progress_ = std::move(others);
  }

  /// Plans the memory of the train net and the test nets, by the `placement` fields of the net and
  /// of the solver; the solver's win field by field. If the budget allows it, test nets get memory
  /// of their own beside the train net's plan. Otherwise they run between iterations, in memory
  /// that the train net does not use at that time. Step and Solve call Place unless it has been
  /// called already, and abort if it fails. Returns kDoesNotFit if the budget is too small.
  ///
  /// If the strategy uses costs, the plan moves or recomputes something, and `deterministic` is not
  /// set, the first few iterations of training are measured. Then everything is placed again, once,
  /// for the measured machine. This does not change the results of training.
  layrub::Status Place();
  /// Device bytes of all plans together: the train net's, plus what the test nets need beyond it. 0
  /// before Place.
  int64_t planned_device_bytes() const;
  /// How many of the planned device bytes have been written so far. Only with executor.canary.
  int64_t measured_device_bytes() const;
  /// Returns the options that Place uses: `placement` of net and solver, with
  /// mutable_placement_extra. kInvalid as ToOptions.
  layrub::Result<PlacementOptions> WantedPlacement() const;
  /// Returns the graphs that Place plans, of the train net and the test nets. The blobs that
  /// `options` keeps are readable after a pass. If `options` asks for it, the graphs have only
  /// reproducible algorithms. Returns kInvalid if an operation has none, or if a kept blob is in no
  /// net.
  layrub::Result<SolverGraphs> MemoryGraphs(const PlacementOptions& options);
  /// Options for Place that the prototxt cannot set: `padding`, `machine`, `optimizations`,
  /// `algorithm`, `measure` and `executor`; the other fields are ignored. After measuring,
  /// `machine` holds the result.
  PlacementOptions* mutable_placement_extra();
  /// The machine that plans are made for, as given or as measured.
  const layrub::Machine& machine() const;
  /// The number of history blobs of each learnable parameter.
  int histories() const;

  const SolverParameter& param() const { return param_; }
  shared_ptr<Net<Dtype>> net() { return net_; }
  const vector<shared_ptr<Net<Dtype>>>& test_nets() { return test_nets_; }
  int iter() const { return iter_; }
  /// The loss of the latest iteration, its mean over the last average_loss iterations, and the rate
  /// of the latest update. Before the first iteration: NaN, 0 and NaN.
  Dtype loss() const { return loss_; }
  Dtype smoothed_loss() const { return smoothed_loss_; }
  Dtype learning_rate() const { return learning_rate_; }
  /// For each test net, the name and mean of every output value in its latest test. Empty before
  /// the first.
  const vector<vector<pair<string, Dtype>>>& test_scores() const { return test_scores_; }

  /// Called at points of each iteration (data parallel training) and of each test.
  class Callback {
   protected:
    virtual void on_start() = 0;
    virtual void on_gradients_ready() = 0;
    virtual void on_update_done() {}  ///< iter() already counts the iteration
    /// Solve has completed all iterations; its last display and test follow.
    virtual void on_last_update_done() {}
    /// Called before each batch of a test of `net` (on_test_batch), and when its scores are known
    /// (on_test_done).
    virtual void on_test_batch(int /*net*/, int /*batch*/) {}
    virtual void on_test_done(int /*net*/) {}

    template <typename T>
    friend class Solver;
  };
  const vector<Callback*>& callbacks() const { return callbacks_; }
  void add_callback(Callback* value) { callbacks_.push_back(value); }

  /// Aborts, naming the path, if no snapshot can be written under snapshot_prefix or, once the net
  /// exists, if the disk has too little space for one. Changes snapshot_format to HDF5 if a binary
  /// file would be too large. Removes unfinished files of dead processes.
  void CheckSnapshotWritePermissions();
  virtual const char* type() const { return ""; }

  /// The history blobs of each learnable parameter, in the order of Net::learnable_params; the same
  /// number for each.
  virtual typename Net<Dtype>::History ParameterHistory() const {
    return typename Net<Dtype>::History();
  }

  /// Turns the gradients in the net into new parameters and counts the iteration.
  virtual void ApplyUpdate() = 0;

 protected:
  string SnapshotFilename(const string& extension);
  // Write the weights to <prefix>_iter_<n>.caffemodel or .caffemodel.h5, complete or not at all,
  // and return the file name. Snapshot does not call them, because its files appear together.
  string SnapshotToBinaryProto();
  string SnapshotToHDF5();
  /// Returns what a solver state written now needs for exact resume: Progress, and the checksum of
  /// `model_filename`.
  ResumeState MakeResumeState(const string& model_filename);
  /// Once both files are on disk, gives the weights of the present snapshot their name, and then
  /// `state`.
  void CommitSnapshot(AtomicFile* state);
  /// Restores what `head`, a state without its history, holds. A subclass calls it last in its
  /// restore functions.
  void FinishRestore(const SolverState& head, const string& state_file);
  void TestAll();
  void Test(const int test_net_id = 0);
  virtual void SnapshotSolverState(const string& model_filename) = 0;
  virtual void RestoreSolverStateFromHDF5(const string& state_file) = 0;
  virtual void RestoreSolverStateFromBinaryProto(const string& state_file) = 0;
  void DisplayOutputBlobs(const int net_id);
  void UpdateSmoothedLoss(Dtype loss, int start_iter, int average_loss);

  SolverParameter param_;
  int iter_;
  int current_step_;
  shared_ptr<Net<Dtype>> net_;
  vector<shared_ptr<Net<Dtype>>> test_nets_;
  vector<Callback*> callbacks_;
  vector<Dtype> losses_;
  Dtype smoothed_loss_;
  Dtype loss_ = std::numeric_limits<Dtype>::quiet_NaN();
  Dtype learning_rate_ = std::numeric_limits<Dtype>::quiet_NaN();  ///< set by ApplyUpdate
  ActionCallback action_request_function_;
  bool requested_early_exit_;
  Timer iteration_timer_;
  float iterations_last_;

 private:
  /// Whether the solver has test nets and runs them: true for the root, and for all devices among
  /// which a net is divided.
  static bool Tests();
  void KeepProgress() { KeepProgress(Progress()); }
  void RestoreLosses(const SolverProgress& progress);
  /// Sets sources and random generators to the state given to RestoreProgress, once. Does nothing
  /// if the program has trained since then without Step.
  void ApplyRestored();
  void CheckLoss(Dtype loss);
  bool DueForTest() const;
  /// One iteration; false when a stop was asked for.
  bool StepOnce(int start_iter);
  void DisplayProgress();
  /// Handles all requests of the action function: takes snapshots and notes stops.
  void ServeRequests();

  int first_loss_ = 0;  ///< the iteration of the first loss in smoothed_loss_
  /// The losses are those before a snapshot, and the next Step continues with them.
  bool losses_restored_ = false;
  struct Restored {
    SolverProgress progress;
    string file;
    int iter;
  };
  std::optional<Restored> restored_;  ///< to be restored
  std::function<vector<SolverProgress>()> others_progress_;
  /// What Progress returns during tests and the display after the last iteration, which read data
  /// and draw random numbers that uninterrupted training would not, or that a resumed run repeats.
  std::optional<pair<int, ResumeState>> kept_progress_;  ///< and the iteration for which it holds
  bool warned_of_loss_ = false;
  vector<vector<pair<string, Dtype>>> test_scores_;
  const std::unique_ptr<SolverPlacement<Dtype>> placement_;
  const std::unique_ptr<SnapshotKeeper<Dtype>> snapshots_;
  std::function<void()> snapshot_;  ///< empty: the solver's own

  DISABLE_COPY_AND_ASSIGN(Solver);
};

}  // namespace caffe

#endif  // CAFFE_SOLVER_HPP_
