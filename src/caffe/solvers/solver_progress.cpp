// Solver: the state that a resumed run needs besides weights and history.
#include <algorithm>
#include <utility>

#include "caffe/solver.hpp"
#include "caffe/util/rng.hpp"
#include "caffe/util/solver_number.hpp"
#include "net_progress.hpp"

namespace caffe {

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
void Solver<Dtype>::KeepProgress(const ResumeState& progress) {
  kept_progress_ = {iter_, progress};
}

template <typename Dtype>
SolverProgress Solver<Dtype>::OwnProgress() {
  ApplyRestored();
  SolverProgress progress;
  progress.set_smoothed_loss(smoothed_loss_);
  // Once there are average_loss losses, each new one replaces the oldest.
  const int count = static_cast<int>(losses_.size());
  const int oldest = count < param_.average_loss() ? 0 : std::max(0, iter_ - first_loss_) % count;
  for (int i = 0; i < count; ++i) progress.add_recent_loss(losses_[(oldest + i) % count]);
  *progress.add_net() = ProgressOf(*net_);
  for (const auto& net : test_nets_) *progress.add_net() = ProgressOf(*net);
  progress.set_random(StateOf(&Caffe::rng_stream()));
  return progress;
}

/// Does nothing if average_loss is now smaller: the mean starts anew.
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
  const int saved = progress.solver_size(), rank = NumberOfSolver();
  if (rank < saved) RestoreLosses(progress.solver(rank));
  if (saved != Caffe::solver_count()) {
    LOG_IF(WARNING, Caffe::root_solver())
        << state_file << " has the state of " << saved << (saved == 1 ? " solver" : " solvers")
        << ", but this training has " << Caffe::solver_count()
        << ": data and random numbers start from the beginning.";
    return;
  }
  restored_ = Restored{progress.solver(rank), state_file, iter_};
}

template <typename Dtype>
void Solver<Dtype>::ApplyRestored() {
  const auto restored = std::exchange(restored_, std::nullopt);
  if (!restored || restored->iter != iter_) return;
  const auto& [own, state_file, iter] = *restored;
  const bool logs = Caffe::root_solver();
  const int nets = static_cast<int>(test_nets_.size()) + 1;
  LOG_IF(WARNING, logs && own.net_size() != nets)
      << state_file << " has the state of " << own.net_size() << " nets, but this solver has "
      << nets << ", including the train net.";
  for (int i = 0; i < std::min(nets, own.net_size()); ++i) {
    const string name = i == 0 ? "train net" : "test net #" + std::to_string(i - 1);
    caffe::RestoreProgress(own.net(i), state_file + ", " + name + ": ",
                           i == 0 ? net_.get() : test_nets_[i - 1].get());
  }
  // Must be last: restoring may have drawn from the stream.
  const bool known = SetState(own.random(), &Caffe::rng_stream());
  LOG_IF(WARNING, logs && !known)
      << state_file << ": the state of the random generator cannot be read and is not restored.";
}

template <typename Dtype>
void Solver<Dtype>::CopyStateFrom(Solver& other) {
  iter_ = other.iter_;
  current_step_ = other.current_step_;
  losses_ = other.losses_;
  smoothed_loss_ = other.smoothed_loss_;
  first_loss_ = other.first_loss_;
  losses_restored_ = other.losses_restored_;
  restored_ = other.restored_;
  kept_progress_.reset();
}

#define INSTANTIATE_PROGRESS(Dtype)                                                \
  template ResumeState Solver<Dtype>::Progress();                                  \
  template void Solver<Dtype>::KeepProgress(const ResumeState&);                   \
  template SolverProgress Solver<Dtype>::OwnProgress();                            \
  template void Solver<Dtype>::RestoreLosses(const SolverProgress&);               \
  template void Solver<Dtype>::RestoreProgress(const ResumeState&, const string&); \
  template void Solver<Dtype>::ApplyRestored();                                    \
  template void Solver<Dtype>::CopyStateFrom(Solver&)
INSTANTIATE_PROGRESS(float);
INSTANTIATE_PROGRESS(double);

}  // namespace caffe
