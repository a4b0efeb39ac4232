// Solver: what a resumed run needs besides weights and history, to be the run that never stopped.
#include <algorithm>
#include <set>
#include <utility>

#include "caffe/solver.hpp"
#include "caffe/util/rng.hpp"

namespace caffe {

namespace {

/// Nothing, where the layer has nothing to keep.
template <typename Dtype>
LayerProgress ProgressOf(const Layer<Dtype>& layer) {
  LayerProgress progress;
  layer.SaveProgress(&progress);
  return progress;
}

bool IsEmpty(const LayerProgress& progress) { return progress.ByteSizeLong() == 0; }

template <typename Dtype>
NetProgress ProgressOf(const Net<Dtype>& net) {
  NetProgress progress;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    LayerProgress of_layer = ProgressOf(*net.layers()[i]);
    if (IsEmpty(of_layer)) continue;
    of_layer.set_layer(net.layer_names()[i]);
    *progress.add_layer() = std::move(of_layer);
  }
  return progress;
}

/// `what` begins each line of the log: "run_iter_9.solverstate, train net: ".
template <typename Dtype>
void RestoreNet(const NetProgress& progress, const string& what, Net<Dtype>* net) {
  const bool logs = Caffe::root_solver();
  set<string> known;
  for (const LayerProgress& saved : progress.layer()) {
    known.insert(saved.layer());
    if (!net->has_layer(saved.layer())) {
      LOG_IF(WARNING, logs) << what << "there is no layer '" << saved.layer()
                            << "' any more: what was kept of it is left out.";
    } else if (!net->layer_by_name(saved.layer())->RestoreProgress(saved)) {
      LOG_IF(WARNING, logs) << what << "what was kept of layer '" << saved.layer()
                            << "' does not fit it: it begins anew.";
    }
  }
  for (size_t i = 0; i < net->layers().size(); ++i) {
    const string& name = net->layer_names()[i];
    if (known.count(name) > 0 || IsEmpty(ProgressOf(*net->layers()[i]))) continue;
    LOG_IF(WARNING, logs) << what << "nothing was kept of layer '" << name << "': it begins anew.";
  }
}

}  // namespace

template <typename Dtype>
ResumeState Solver<Dtype>::Progress() {
  if (kept_progress_ && kept_progress_->first == iter_) return kept_progress_->second;
  ResumeState progress;
  *progress.add_solver() = OwnProgress();
  if (!others_progress_) return progress;
  for (SolverProgress& other : others_progress_()) *progress.add_solver() = std::move(other);
  return progress;
}

template <typename Dtype>
SolverProgress Solver<Dtype>::OwnProgress() {
  GoWhereRestored();
  SolverProgress progress;
  progress.set_smoothed_loss(smoothed_loss_);
  // Once there are average_loss of them, each takes the place of the oldest.
  const int count = static_cast<int>(losses_.size());
  const int oldest = count < param_.average_loss() ? 0 : std::max(0, iter_ - first_loss_) % count;
  for (int i = 0; i < count; ++i) progress.add_recent_loss(losses_[(oldest + i) % count]);
  *progress.add_net() = ProgressOf(*net_);
  for (const auto& net : test_nets_) *progress.add_net() = ProgressOf(*net);
  progress.set_random(StateOf(&Caffe::rng_stream()));
  return progress;
}

/// Nothing changes where the mean is to be that of fewer losses now: it begins anew.
template <typename Dtype>
void Solver<Dtype>::RestoreLosses(const SolverProgress& progress) {
  if (progress.recent_loss_size() > param_.average_loss()) return;
  losses_.assign(progress.recent_loss().begin(), progress.recent_loss().end());
  smoothed_loss_ = static_cast<Dtype>(progress.smoothed_loss());
  first_loss_ = iter_ - progress.recent_loss_size();
  losses_restored_ = true;
}

template <typename Dtype>
void Solver<Dtype>::RestoreProgress(const ResumeState& progress, const string& state_file) {
  kept_progress_.reset();
  restored_.reset();
  losses_restored_ = false;
  const int saved = progress.solver_size(), rank = Caffe::solver_rank();
  if (rank < saved) RestoreLosses(progress.solver(rank));
  if (saved != Caffe::solver_count()) {
    LOG_IF(WARNING, Caffe::root_solver())
        << state_file << " says how far " << saved << (saved == 1 ? " solver" : " solvers")
        << " had come, and this training has " << Caffe::solver_count()
        << ": data and random numbers begin anew.";
    return;
  }
  restored_ = Restored{progress.solver(rank), state_file, iter_};
}

template <typename Dtype>
void Solver<Dtype>::GoWhereRestored() {
  const auto restored = std::exchange(restored_, std::nullopt);
  if (!restored || restored->iter != iter_) return;
  const auto& [own, state_file, iter] = *restored;
  const bool logs = Caffe::root_solver();
  const int nets = static_cast<int>(test_nets_.size()) + 1;
  LOG_IF(WARNING, logs && own.net_size() != nets)
      << state_file << " says how far " << own.net_size() << " nets had come; this solver has "
      << nets << ", the train net included.";
  for (int i = 0; i < std::min(nets, own.net_size()); ++i) {
    const string name = i == 0 ? "train net" : "test net #" + std::to_string(i - 1);
    RestoreNet(own.net(i), state_file + ", " + name + ": ",
               i == 0 ? net_.get() : test_nets_[i - 1].get());
  }
  // Last: what was restored may have drawn from it.
  const bool known = SetState(own.random(), &Caffe::rng_stream());
  LOG_IF(WARNING, logs && !known)
      << state_file << ": the state of the random generator cannot be read: it begins anew.";
}

#define INSTANTIATE_PROGRESS(Dtype)                                                \
  template ResumeState Solver<Dtype>::Progress();                                  \
  template SolverProgress Solver<Dtype>::OwnProgress();                            \
  template void Solver<Dtype>::RestoreLosses(const SolverProgress&);               \
  template void Solver<Dtype>::RestoreProgress(const ResumeState&, const string&); \
  template void Solver<Dtype>::GoWhereRestored()
INSTANTIATE_PROGRESS(float);
INSTANTIATE_PROGRESS(double);

}  // namespace caffe
