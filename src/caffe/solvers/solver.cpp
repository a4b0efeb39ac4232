// Solver: set-up, iterations and tests.
#include "caffe/solver.hpp"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <climits>
#include <cmath>
#include <utility>

#include "caffe/solver_nets.hpp"
#include "caffe/util/origins.hpp"
#include "caffe/util/set_up_log.hpp"
#include "caffe/util/upgrade_proto.hpp"
#include "detection_scores.hpp"
#include "learning_rate.hpp"
#include "solver_problems.hpp"

namespace caffe {

namespace {

/// Copies the parameters in the files of a comma list into the layers of the same names.
template <typename Dtype>
void LoadNetWeights(Net<Dtype>* net, const string& model_list) {
  vector<string> names;
  boost::split(names, model_list, boost::is_any_of(","));
  for (string& name : names) {
    boost::trim(name);
    LOG(INFO) << "Finetuning from " << name;
    net->CopyTrainedLayersFrom(name);
  }
}

/// " (* 1 = 0.42 loss)" for outputs that count towards the loss.
template <typename Dtype>
string LossMessage(Dtype weight, Dtype value) {
  if (weight == Dtype(0)) return "";
  ostringstream text;
  text << " (* " << weight << " = " << weight * value << " loss)";
  return text.str();
}

}  // namespace

template <typename Dtype>
Solver<Dtype>::Solver(const SolverParameter& param)
    : iter_(0),
      current_step_(0),
      smoothed_loss_(0),
      requested_early_exit_(false),
      iterations_last_(0) {
  Init(param);
}

template <typename Dtype>
Solver<Dtype>::Solver(const string& param_file)
    : iter_(0),
      current_step_(0),
      smoothed_loss_(0),
      requested_early_exit_(false),
      iterations_last_(0) {
  SolverParameter param;
  ReadSolverParamsFromTextFileOrDie(param_file, &param);
  Init(param);
}

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
    Caffe::set_random_seed(static_cast<unsigned int>(param_.random_seed() + Caffe::solver_rank()));
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
  net_placement_ = source.param.placement();
  net_.reset(new Net<Dtype>(source.param));
  for (const string& weights : param_.weights()) LoadNetWeights(net_.get(), weights);
}

template <typename Dtype>
void Solver<Dtype>::InitTestNets() {
  if (!Caffe::root_solver()) return;
  test_nets_.clear();
  for (const SolverNet& source : TestNetsOf(param_)) {
    LOG(INFO) << "Creating test net (#" << test_nets_.size() << ") specified by " << source.source;
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
  if (param_.snapshot() > 0 && !snapshots_checked_) CheckSnapshotWritePermissions();
  GoWhereRestored();
  EnsurePlaced();
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
    if (Caffe::root_solver()) TestAll();
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
  LookAtLoss(loss);
  UpdateSmoothedLoss(loss, start_iter, param_.average_loss());
  if (display) DisplayProgress();
  for (Callback* callback : callbacks_) callback->on_gradients_ready();
  ApplyUpdate();
  for (Callback* callback : callbacks_) callback->on_update_done();
  if (measuring_) RecordIteration();

  const SolverAction::Enum request = GetRequestedAction();
  SnapshotIfDue(request == SolverAction::SNAPSHOT);
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
          << values[k] << LossMessage(weight, values[k]);
    }
  }
}

template <typename Dtype>
void Solver<Dtype>::Solve(const char* resume_file) {
  CHECK(Caffe::root_solver());
  LOG(INFO) << "Solving " << net_->name();
  LOG(INFO) << "Learning Rate Policy: " << param_.lr_policy();
  const string warning = RateWarning(param_);
  LOG_IF(WARNING, !warning.empty()) << warning;
  LOG_IF(WARNING, !param_.has_max_iter()) << "max_iter is not set: no iteration is trained.";
  if (param_.snapshot_after_train() && !snapshots_checked_) CheckSnapshotWritePermissions();
  requested_early_exit_ = false;
  if (resume_file) {
    LOG(INFO) << "Restoring previous solver status from " << resume_file;
    Restore(resume_file);
  }
  Step(param_.max_iter() - iter_);
  if (param_.snapshot_after_train() && (!param_.snapshot() || iter_ % param_.snapshot() != 0))
    SnapshotInTraining();
  if (requested_early_exit_) {
    MakeUpForSnapshot();
    LOG(INFO) << "Optimization stopped early.";
    return;
  }
  KeepProgress();
  // The loop displays and tests before its updates; once more for what the last one has changed.
  if (param_.display() && iter_ % param_.display() == 0) {
    Dtype loss;
    net_->Forward(&loss);
    UpdateSmoothedLoss(loss, first_loss_, param_.average_loss());
    LOG(INFO) << "Iteration " << iter_ << ", loss = " << smoothed_loss_;
  }
  if (DueForTest()) TestAll();
  MakeUpForSnapshot();
  LOG(INFO) << "Optimization Done.";
}

template <typename Dtype>
void Solver<Dtype>::TestAll() {
  if (action_request_function_) KeepProgress();  // a snapshot may be asked for
  for (size_t id = 0; id < test_nets_.size() && !requested_early_exit_; ++id)
    Test(static_cast<int>(id));
}

template <typename Dtype>
void Solver<Dtype>::ServeRequests() {
  for (SolverAction::Enum request = GetRequestedAction(); request != SolverAction::NONE;
       request = GetRequestedAction()) {
    if (request == SolverAction::SNAPSHOT) SnapshotInTraining();
    if (request == SolverAction::STOP) requested_early_exit_ = true;
  }
}

namespace {

/// The mean over the classes, each of which is logged where show_per_class_result says so.
double MeanAveragePrecision(const SolverParameter& param, const DetectionScores& scores) {
  const std::map<int, double> precisions =
      scores.AveragePrecisions(*PrecisionMeanOf(param.ap_version()));
  double sum = 0;
  for (const auto& [label, precision] : precisions) {
    LOG_IF(INFO, param.show_per_class_result()) << "class" << label << ": " << precision;
    sum += precision;
  }
  return precisions.empty() ? 0 : sum / static_cast<double>(precisions.size());
}

}  // namespace

template <typename Dtype>
void Solver<Dtype>::Test(const int test_net_id) {
  CHECK(Caffe::root_solver());
  LOG(INFO) << "Iteration " << iter_ << ", Testing net (#" << test_net_id << ")";
  Net<Dtype>* net = test_nets_.at(test_net_id).get();
  net->ShareTrainedLayersWith(net_.get());
  const int batches = param_.test_iter(test_net_id);
  const bool detection = param_.eval_type() == "detection";
  vector<Dtype> sums;  // over the batches, of every value of every output
  vector<DetectionScores> detections(net->output_blobs().size());
  Dtype loss = 0;
  for (int batch = 0; batch < batches; ++batch) {
    ServeRequests();
    if (requested_early_exit_) {
      LOG(INFO) << "Test interrupted.";
      return;
    }
    for (Callback* callback : callbacks_) callback->on_test_batch(test_net_id, batch);
    Dtype batch_loss;
    const vector<Blob<Dtype>*>& outputs = net->Forward(&batch_loss);
    if (param_.test_compute_loss()) loss += batch_loss;
    size_t score = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Blob<Dtype>& output = *outputs[i];
      if (detection) {
        detections[i].Add(net->blob_names()[net->output_blob_indices()[i]], output);
        continue;
      }
      sums.resize(std::max(sums.size(), score + output.count()));
      for (int k = 0; k < output.count(); ++k) sums[score++] += output.cpu_data()[k];
    }
  }
  if (param_.test_compute_loss()) LOG(INFO) << "Test loss: " << loss / batches;
  test_scores_.resize(test_nets_.size());
  vector<pair<string, Dtype>>& scores = test_scores_[test_net_id];
  scores.clear();
  for (size_t i = 0; i < net->output_blobs().size(); ++i) {
    const int blob = net->output_blob_indices()[i];
    const string& name = net->blob_names()[blob];
    if (detection) {
      const auto mean = static_cast<Dtype>(MeanAveragePrecision(param_, detections[i]));
      LOG(INFO) << "    Test net output #" << i << ": " << name << " = " << mean;
      scores.emplace_back(name, mean);
      continue;
    }
    for (int k = 0; k < net->output_blobs()[i]->count() && scores.size() < sums.size(); ++k) {
      const Dtype mean = sums[scores.size()] / batches;
      LOG(INFO) << "    Test net output #" << scores.size() << ": " << name << " = " << mean
                << LossMessage(net->blob_loss_weights()[blob], mean);
      scores.emplace_back(name, mean);
    }
  }
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

INSTANTIATE_CLASS(Solver);

}  // namespace caffe
