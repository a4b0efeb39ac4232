#include "caffe/solver.hpp"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <climits>
#include <cmath>
#include <utility>

#include "caffe/device_group.hpp"
#include "caffe/solver_nets.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/set_up_log.hpp"
#include "caffe/util/solver_number.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "learning_rate.hpp"
#include "not_finite.hpp"
#include "snapshot_keeper.hpp"
#include "solver_placement.hpp"
#include "solver_problems.hpp"
#include "test_scores.hpp"

namespace caffe {

namespace {

/// Copies the parameters in the files of a comma-separated list into the layers of the same names.
template <typename Dtype>
void LoadNetWeights(Net<Dtype>* net, const string& model_list) {
  vector<string> names;
  boost::split(names, model_list, boost::is_any_of(","));
  for (string& name : names) {
    boost::trim(name);
    LOG_IF(INFO, Caffe::root_solver()) << "Finetuning from " << name;
    net->CopyTrainedLayersFrom(name);
  }
}

}  // namespace

template <typename Dtype>
Solver<Dtype>::Solver(const SolverParameter& param)
    : iter_(0),
      current_step_(0),
      smoothed_loss_(0),
      requested_early_exit_(false),
      iterations_last_(0),
      placement_(new SolverPlacement<Dtype>(this)),
      snapshots_(new SnapshotKeeper<Dtype>(this, &param_)) {
  Init(param);
}

template <typename Dtype>
Solver<Dtype>::Solver(const string& param_file)
    : iter_(0),
      current_step_(0),
      smoothed_loss_(0),
      requested_early_exit_(false),
      iterations_last_(0),
      placement_(new SolverPlacement<Dtype>(this)),
      snapshots_(new SnapshotKeeper<Dtype>(this, &param_)) {
  SolverParameter param;
  ReadSolverParamsFromTextFileOrDie(param_file, &param);
  Init(param);
}

template <typename Dtype>
Solver<Dtype>::~Solver() = default;

template <typename Dtype>
void Solver<Dtype>::Init(const SolverParameter& param) {
  LOG_IF(INFO, LogsSetUp()) << "Initializing solver from parameters: " << std::endl
                            << WithoutOrigins(param).DebugString();
  param_ = param;
  Refuse(param_, FieldProblems(param_));
  LOG_IF(WARNING, !std::isfinite(param_.base_lr()) && Caffe::root_solver())
      << "base_lr is " << param_.base_lr() << ": nothing can be learned.";
  if (param_.snapshot() > 0) CheckSnapshotWritePermissions();
  if (param_.random_seed() >= 0) {
    Caffe::set_random_seed(static_cast<unsigned int>(param_.random_seed() + NumberOfSolver()));
  }
  InitTrainNet();
  InitTestNets();
  LOG_IF(INFO, Caffe::root_solver()) << "Solver scaffolding done.";
  iter_ = 0;
  current_step_ = 0;
}

template <typename Dtype>
void Solver<Dtype>::InitTrainNet() {
  const SolverNet source = TrainNetOf(param_);
  LOG_IF(INFO, Caffe::root_solver()) << "Creating training net from " << source.source;
  placement_->set_net_placement(source.param.placement());
  net_.reset(new Net<Dtype>(source.param));
  for (const string& weights : param_.weights()) LoadNetWeights(net_.get(), weights);
}

template <typename Dtype>
bool Solver<Dtype>::Tests() {
  return Caffe::root_solver() || DeviceGroupScope::Current() != nullptr;
}

template <typename Dtype>
void Solver<Dtype>::InitTestNets() {
  if (!Tests()) return;
  test_nets_.clear();
  for (const SolverNet& source : TestNetsOf(param_)) {
    LOG_IF(INFO, Caffe::root_solver())
        << "Creating test net (#" << test_nets_.size() << ") specified by " << source.source;
    test_nets_.emplace_back(new Net<Dtype>(source.param));
    test_nets_.back()->set_debug_info(param_.debug_info());
    for (const string& weights : param_.weights()) LoadNetWeights(test_nets_.back().get(), weights);
  }
}

template <typename Dtype>
void Solver<Dtype>::SetActionFunction(ActionCallback func) {
  action_request_function_ = func;
}

template <typename Dtype>
SolverAction::Enum Solver<Dtype>::GetRequestedAction() {
  return action_request_function_ ? action_request_function_() : SolverAction::NONE;
}

template <typename Dtype>
bool Solver<Dtype>::DueForTest() const {
  return param_.test_interval() > 0 && iter_ % param_.test_interval() == 0;
}

template <typename Dtype>
void Solver<Dtype>::Step(int iters) {
  CHECK_LE(iters, INT_MAX - iter_) << "No solver goes beyond iteration " << INT_MAX << ".";
  if (param_.snapshot() > 0) snapshots_->EnsureWritable();
  ApplyRestored();
  placement_->EnsurePlaced();
  const int stop_iter = iter_ + iters;
  if (!std::exchange(losses_restored_, false)) {
    losses_.clear();
    smoothed_loss_ = 0;
    first_loss_ = iter_;
  }
  iterations_last_ = iter_;
  iteration_timer_.Start();
  while (iter_ < stop_iter && StepOnce(first_loss_)) {
  }
}

template <typename Dtype>
bool Solver<Dtype>::StepOnce(int start_iter) {
  net_->ClearParamDiffs();
  if (DueForTest() && (iter_ > 0 || param_.test_initialization())) {
    if (Tests()) TestAll();
    if (requested_early_exit_) return false;
  }
  kept_progress_.reset();
  for (Callback* callback : callbacks_) callback->on_start();
  const bool display = param_.display() && iter_ % param_.display() == 0;
  net_->set_debug_info(display && param_.debug_info());
  Dtype loss = 0;
  for (int i = 0; i < param_.iter_size(); ++i) loss += net_->ForwardBackward();
  loss /= param_.iter_size();
  loss_ = loss;
  CheckLoss(loss);
  UpdateSmoothedLoss(loss, start_iter, param_.average_loss());
  if (display) DisplayProgress();
  for (Callback* callback : callbacks_) callback->on_gradients_ready();
  ApplyUpdate();
  for (Callback* callback : callbacks_) callback->on_update_done();
  placement_->EndIteration();

  const SolverAction::Enum request = GetRequestedAction();
  snapshots_->TakeIfDue(request == SolverAction::SNAPSHOT);
  requested_early_exit_ = request == SolverAction::STOP;
  return !requested_early_exit_;
}

template <typename Dtype>
void Solver<Dtype>::DisplayProgress() {
  const float lapse = iteration_timer_.Seconds();
  const float per_second = (iter_ - iterations_last_) / (lapse > 0 ? lapse : 1);
  LOG_IF(INFO, Caffe::root_solver())
      << "Iteration " << iter_ << " (" << per_second << " iter/s, " << lapse << "s/"
      << param_.display() << " iters), loss = " << smoothed_loss_;
  iteration_timer_.Start();
  iterations_last_ = iter_;
  int score = 0;
  const vector<Blob<Dtype>*>& outputs = net_->output_blobs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const int blob = net_->output_blob_indices()[i];
    const Dtype weight = net_->blob_loss_weights()[blob];
    const Dtype* values = outputs[i]->cpu_data();
    for (int k = 0; k < outputs[i]->count(); ++k) {
      LOG_IF(INFO, Caffe::root_solver())
          << "    Train net output #" << score++ << ": " << net_->blob_names()[blob] << " = "
          << values[k] << LossText(weight, values[k]);
    }
  }
}

template <typename Dtype>
void Solver<Dtype>::Solve(const char* resume_file) {
  CHECK(Tests());
  LOG_IF(INFO, Caffe::root_solver()) << "Solving " << net_->name();
  LOG_IF(INFO, Caffe::root_solver()) << "Learning Rate Policy: " << param_.lr_policy();
  const string warning = RateWarning(param_);
  LOG_IF(WARNING, !warning.empty()) << warning;
  LOG_IF(WARNING, !param_.has_max_iter()) << "max_iter is not set: no iteration is trained.";
  if (param_.snapshot_after_train()) snapshots_->EnsureWritable();
  requested_early_exit_ = false;
  if (resume_file) {
    LOG_IF(INFO, Caffe::root_solver()) << "Restoring previous solver status from " << resume_file;
    Restore(resume_file);
  }
  Step(param_.max_iter() - iter_);
  if (param_.snapshot_after_train() && (!param_.snapshot() || iter_ % param_.snapshot() != 0))
    snapshots_->TakeInTraining(requested_early_exit_);
  if (requested_early_exit_) {
    snapshots_->RetryAtEnd(true);
    LOG_IF(INFO, Caffe::root_solver()) << "Optimization stopped early.";
    return;
  }
  KeepProgress();
  for (Callback* callback : callbacks_) callback->on_last_update_done();
  // The loop displays and tests before each update. Do so once more after the last one.
  if (param_.display() && iter_ % param_.display() == 0) {
    Dtype loss;
    net_->Forward(&loss);
    UpdateSmoothedLoss(loss, first_loss_, param_.average_loss());
    LOG_IF(INFO, Caffe::root_solver()) << "Iteration " << iter_ << ", loss = " << smoothed_loss_;
  }
  if (DueForTest()) TestAll();
  snapshots_->RetryAtEnd(requested_early_exit_);
  LOG_IF(INFO, Caffe::root_solver()) << "Optimization Done.";
}

template <typename Dtype>
void Solver<Dtype>::TestAll() {
  if (action_request_function_) KeepProgress();  // a snapshot may be requested during the test
  for (size_t id = 0; id < test_nets_.size() && !requested_early_exit_; ++id)
    Test(static_cast<int>(id));
}

template <typename Dtype>
void Solver<Dtype>::ServeRequests() {
  for (SolverAction::Enum request = GetRequestedAction(); request != SolverAction::NONE;
       request = GetRequestedAction()) {
    if (request == SolverAction::SNAPSHOT) snapshots_->TakeInTraining(requested_early_exit_);
    if (request == SolverAction::STOP) requested_early_exit_ = true;
  }
}

template <typename Dtype>
void Solver<Dtype>::Test(const int test_net_id) {
  CHECK(Tests());
  LOG_IF(INFO, Caffe::root_solver())
      << "Iteration " << iter_ << ", Testing net (#" << test_net_id << ")";
  Net<Dtype>* net = test_nets_.at(test_net_id).get();
  net->ShareTrainedLayersWith(net_.get());
  const int batches = param_.test_iter(test_net_id);
  TestScores<Dtype> scores(param_, *net);
  Dtype loss = 0;
  for (int batch = 0; batch < batches; ++batch) {
    ServeRequests();
    if (requested_early_exit_) {
      LOG_IF(INFO, Caffe::root_solver()) << "Test interrupted.";
      return;
    }
    for (Callback* callback : callbacks_) callback->on_test_batch(test_net_id, batch);
    Dtype batch_loss;
    net->Forward(&batch_loss);
    if (param_.test_compute_loss()) loss += batch_loss;
    scores.AddBatch();
  }
  if (param_.test_compute_loss())
    LOG_IF(INFO, Caffe::root_solver()) << "Test loss: " << loss / batches;
  test_scores_.resize(test_nets_.size());
  test_scores_[test_net_id] = scores.Log(batches);
  for (Callback* callback : callbacks_) callback->on_test_done(test_net_id);
}

template <typename Dtype>
void Solver<Dtype>::UpdateSmoothedLoss(Dtype loss, int start_iter, int average_loss) {
  const int count = static_cast<int>(losses_.size());
  if (count < average_loss) {
    losses_.push_back(loss);
    smoothed_loss_ = (smoothed_loss_ * count + loss) / (count + 1);
  } else {
    Dtype& oldest = losses_[(iter_ - start_iter) % average_loss];
    smoothed_loss_ += (loss - oldest) / average_loss;
    oldest = loss;
  }
}

// ---- Values that are not finite ----

template <typename Dtype>
void Solver<Dtype>::CheckLoss(Dtype loss) {
  if (std::isfinite(loss) || !Caffe::root_solver() || (warned_of_loss_ && !param_.stop_on_nan()))
    return;
  warned_of_loss_ = true;
  const string where = FirstNotFinite(*net_, true);
  const string what = "the loss is " + std::to_string(loss) +
                      (where.empty() ? ", and the values that can still be read do not show why"
                                     : "; the first value that is not finite is in " + where);
  if (param_.stop_on_nan()) StopAsNotFinite(iter_, what, snapshots_->LastText());
  LOG(WARNING) << "Iteration " << iter_ << ": " << what << ". Training goes on, and snapshots will "
               << "hold its results. " << snapshots_->LastText()
               << " stop_on_nan: true (--stop_on_nan) ends the training instead.";
}

// ---- Placement ----

template <typename Dtype>
layrub::Status Solver<Dtype>::Place() {
  return placement_->Place();
}

template <typename Dtype>
int64_t Solver<Dtype>::planned_device_bytes() const {
  return placement_->planned_device_bytes();
}

template <typename Dtype>
int64_t Solver<Dtype>::measured_device_bytes() const {
  return placement_->measured_device_bytes();
}

template <typename Dtype>
layrub::Result<PlacementOptions> Solver<Dtype>::WantedPlacement() const {
  return placement_->Wanted();
}

template <typename Dtype>
layrub::Result<SolverGraphs> Solver<Dtype>::MemoryGraphs(const PlacementOptions& options) {
  return placement_->Graphs(options);
}

template <typename Dtype>
PlacementOptions* Solver<Dtype>::mutable_placement_extra() {
  return placement_->mutable_extra();
}

template <typename Dtype>
const layrub::Machine& Solver<Dtype>::machine() const {
  return placement_->machine();
}

template <typename Dtype>
int Solver<Dtype>::histories() const {
  const typename Net<Dtype>::History history = ParameterHistory();
  return history.empty() ? 0 : static_cast<int>(history.front().size());
}

// ---- Snapshots ----

template <typename Dtype>
void Solver<Dtype>::CheckSnapshotWritePermissions() {
  snapshots_->CheckWritable();
}

template <typename Dtype>
string Solver<Dtype>::SnapshotFilename(const string& extension) {
  return snapshots_->Filename(extension);
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToBinaryProto() {
  return snapshots_->WriteWeights(SolverParameter_SnapshotFormat_BINARYPROTO);
}

template <typename Dtype>
string Solver<Dtype>::SnapshotToHDF5() {
  return snapshots_->WriteWeights(SolverParameter_SnapshotFormat_HDF5);
}

template <typename Dtype>
void Solver<Dtype>::Snapshot() {
  if (snapshot_) {
    snapshot_();
    return;
  }
  snapshots_->Take([this](const string& weights) { SnapshotSolverState(weights); });
}

template <typename Dtype>
ResumeState Solver<Dtype>::MakeResumeState(const string& model_filename) {
  ResumeState resume = Progress();
  snapshots_->FillChecksum(model_filename, &resume);
  return resume;
}

template <typename Dtype>
void Solver<Dtype>::CommitSnapshot(AtomicFile* state) {
  snapshots_->Commit(state);
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
  snapshots_->set_last(file);
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
      << state_file << " does not hold the state of random numbers, data and smoothed loss: these "
      << "start from the beginning, so this run will not be exactly the one that was stopped.";
}

INSTANTIATE_CLASS(Solver);

}  // namespace caffe
