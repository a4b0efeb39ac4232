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

/// What a client (a signal handler, say) may ask of a running solver.
namespace SolverAction {
enum Enum {
  NONE = 0,     ///< go on
  STOP = 1,     ///< stop after this iteration, with a snapshot if snapshot_after_train
  SNAPSHOT = 2  ///< write a snapshot and go on
};
}

/// Asked once an iteration, and once a batch of a test.
typedef boost::function<SolverAction::Enum()> ActionCallback;

/// Trains a net: iterations of forward, backward and update, with tests, snapshots and displays
/// between them. A subclass says how a gradient becomes an update (ApplyUpdate) and what state that
/// needs.
///
/// All nets run under memory plans (Place); the test nets use the train net's parameters. Not
/// thread safe.
template <typename Dtype>
class Solver {
 public:
  explicit Solver(const SolverParameter& param);
  explicit Solver(const string& param_file);
  virtual ~Solver();

  /// Called by the constructors. Aborts with the name of the field where `param` makes no sense.
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
  /// Continues from a file that Snapshot wrote (.solverstate or .solverstate.h5), which is held to
  /// its checksums before anything changes, or from one of Caffe. caffe/solver_snapshots.hpp finds
  /// the newest one. Data and random numbers stay where they are until the first Step or Solve,
  /// which goes on where the training that wrote the file had come, whatever has been read by then:
  /// a program that brings the data there itself, as Caffe wants it, skips none.
  void Restore(const char* resume_file);
  /// Writes parameters and solver state to <prefix>_iter_<n>.*, and removes older snapshots where
  /// snapshot_keep asks for it. A file is complete or not there at all, and the state comes last:
  /// it has the checksum of the weights. What cannot be written aborts and changes nothing; in the
  /// course of training it is tried again instead, unless stop_on_snapshot_failure is set.
  void Snapshot();
  /// From now on Snapshot does this instead.
  void set_snapshot(std::function<void()> snapshot) { snapshot_ = std::move(snapshot); }
  /// This solver goes on where `other`, of the same type, is, but for weights and history: with its
  /// iteration, losses, and what it would restore.
  virtual void TakeStateOf(Solver& other);
  /// What Progress gives until the next iteration.
  void KeepProgress(const ResumeState& progress);

  /// How far random generators, data and smoothed loss of this solver, and of those that train with
  /// it, have come: what a snapshot keeps besides weights, history and iteration. During a test,
  /// and after one that was interrupted, as it was before the test, which a resumed run begins
  /// again; after Solve, as it was after the last iteration.
  ResumeState Progress();
  /// Takes up what Progress gave when `state_file` was written, each solver what is its own: the
  /// losses now, the rest at the first Step or when somebody asks for Progress. Restore calls it
  /// last. What does not fit begins anew, with a line in the log.
  void RestoreProgress(const ResumeState& progress, const string& state_file);
  /// What Progress says of this solver alone. For its thread, between iterations.
  SolverProgress OwnProgress();
  /// Where Progress gets that of the other solvers from, by rank from 1 on; none at first.
  void set_others_progress(std::function<vector<SolverProgress>()> others) {
    others_progress_ = std::move(others);
  }

  /// Plans the memory of the train net as the `placement` of the net asks, and that of the solver,
  /// which wins field by field, and the memory of the test nets: they have bytes of their own where
  /// the budget allows it next to the train net's plan; otherwise they run, between iterations, in
  /// those bytes of the train net that hold nothing then. Step and Solve call it when nobody has,
  /// and abort when it fails. kDoesNotFit when the budget is too small.
  ///
  /// Where a strategy that uses costs moves or recomputes something, and unless `deterministic` is
  /// asked for, the first few iterations of training are measured, and then everything is placed
  /// again, once, for the machine that was found. What is trained does not change by that.
  layrub::Status Place();
  /// Device bytes of all plans together: the train net's and what the test nets need besides. 0
  /// before Place.
  int64_t planned_device_bytes() const;
  /// How many of them have been written so far. Placed with executor.canary only.
  int64_t measured_device_bytes() const;
  /// What Place plans by: the `placement` of net and solver, and what mutable_placement_extra says.
  /// kInvalid as ToOptions.
  layrub::Result<PlacementOptions> WantedPlacement() const;
  /// What Place plans: the train net and the test nets, in which the blobs that `options` keeps are
  /// readable after a pass; where it asks for that, with reproducible workspaces only. kInvalid
  /// where there are none, or where no net has a blob that is kept.
  layrub::Result<SolverGraphs> MemoryGraphs(const PlacementOptions& options);
  /// `padding`, `machine`, `optimizations`, `measure` and `executor` of these options are used by
  /// Place; the rest comes from the prototxt. After measuring, `machine` is what was found.
  PlacementOptions* mutable_placement_extra();
  /// The machine that is planned for: as it was measured, or as it was given.
  const layrub::Machine& machine() const;
  /// How many history blobs a learnable parameter has.
  int histories() const;

  const SolverParameter& param() const { return param_; }
  shared_ptr<Net<Dtype>> net() { return net_; }
  const vector<shared_ptr<Net<Dtype>>>& test_nets() { return test_nets_; }
  int iter() const { return iter_; }
  /// The loss of the most recent iteration; the mean over the last average_loss of them; the rate
  /// of the most recent update. Not a number, 0 and not a number before the first.
  Dtype loss() const { return loss_; }
  Dtype smoothed_loss() const { return smoothed_loss_; }
  Dtype learning_rate() const { return learning_rate_; }
  /// For each test net, name and mean of every output value in its most recent test; empty before
  /// the first.
  const vector<vector<pair<string, Dtype>>>& test_scores() const { return test_scores_; }

  /// Called at points of each iteration (data parallel training), and of each test.
  class Callback {
   protected:
    virtual void on_start() = 0;
    virtual void on_gradients_ready() = 0;
    virtual void on_update_done() {}  ///< iter() counts the iteration
    /// Solve has made all iterations; its last display and test come.
    virtual void on_last_update_done() {}
    /// Before each batch of a test of `net`, and when its scores are there.
    virtual void on_test_batch(int /*net*/, int /*batch*/) {}
    virtual void on_test_done(int /*net*/) {}

    template <typename T>
    friend class Solver;
  };
  const vector<Callback*>& callbacks() const { return callbacks_; }
  void add_callback(Callback* value) { callbacks_.push_back(value); }

  /// Aborts, naming the path, when no snapshot can be written under snapshot_prefix, or, once there
  /// is a net, when there is no room for one. Where a binary file would be too large for one,
  /// snapshot_format becomes HDF5. Removes what processes that are dead were writing there.
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
  // Each writes the weights to <prefix>_iter_<n>.caffemodel or .caffemodel.h5, complete or not at
  // all, and gives the name. Snapshot does not call them: its files appear together.
  string SnapshotToBinaryProto();
  string SnapshotToHDF5();
  /// What a solver state that is written now holds for exact resume: Progress, and the checksum of
  /// `model_filename`.
  ResumeState MakeResumeState(const string& model_filename);
  /// Gives the weights of the snapshot at work their name, and then `state`, when both are on disk.
  void CommitSnapshot(AtomicFile* state);
  /// Takes up what `head`, a state without its history, says; a subclass's last call when it
  /// restores.
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
  Dtype learning_rate_ = std::numeric_limits<Dtype>::quiet_NaN();  ///< for ApplyUpdate to set
  ActionCallback action_request_function_;
  bool requested_early_exit_;
  Timer iteration_timer_;
  float iterations_last_;

 private:
  /// It has test nets and runs them: the root, and all devices among which a net is divided.
  static bool Tests();
  void KeepProgress() { KeepProgress(Progress()); }
  void RestoreLosses(const SolverProgress& progress);
  /// Brings sources and random generators where RestoreProgress has said, once; not where the
  /// program has trained since then, without Step.
  void GoWhereRestored();
  void LookAtLoss(Dtype loss);
  bool DueForTest() const;
  /// One iteration; false when a stop was asked for.
  bool StepOnce(int start_iter);
  void DisplayProgress();
  /// Runs Snapshot and notes stops as `func` asks, until it asks for nothing more.
  void ServeRequests();

  int first_loss_ = 0;  ///< the iteration of the first loss that smoothed_loss_ has known
  /// The losses are those of the iterations before a snapshot: the next Step goes on with them.
  bool losses_restored_ = false;
  struct Restored {
    SolverProgress progress;
    string file;
    int iter;
  };
  std::optional<Restored> restored_;  ///< to be taken up
  std::function<vector<SolverProgress>()> others_progress_;
  /// What Progress gives while tests, and the display after the last iteration, read and draw:
  /// training that never stopped would not have these, or a resumed one has them again.
  std::optional<pair<int, ResumeState>> kept_progress_;  ///< and the iteration at which it holds
  bool told_of_loss_ = false;
  vector<vector<pair<string, Dtype>>> test_scores_;
  const std::unique_ptr<SolverPlacement<Dtype>> placement_;
  const std::unique_ptr<SnapshotKeeper<Dtype>> snapshots_;
  std::function<void()> snapshot_;  ///< empty: its own

  DISABLE_COPY_AND_ASSIGN(Solver);
};

}  // namespace caffe

#endif  // CAFFE_SOLVER_HPP_
