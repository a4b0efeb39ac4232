// SGDSolver: learning rates.
#include "learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "caffe/sgd_solvers.hpp"
#include "solver_problems.hpp"

namespace caffe {

namespace {

/// The first iterations, in which the rate rises linearly from `start` to base_lr.
struct Ramp {
  int iterations;
  float start;
};

/// Returns the ramp of a solver, for which two forks of Caffe have different fields.
Ramp RampOf(const SolverParameter& param) {
  if (param.rampup_interval() > 0) return {param.rampup_interval(), param.rampup_lr()};
  return {param.warmup_iter(), param.warmup_start_lr()};
}

}  // namespace

string RateWarning(const SolverParameter& param) {
  if (!param.has_base_lr()) return "base_lr is not set and counts as 0: nothing is learned.";
  if (param.base_lr() == 0) return "base_lr is 0: nothing is learned.";
  if (param.base_lr() < 0) return "base_lr is below 0: training drives the loss up.";
  const string& policy = param.lr_policy();
  const auto is_one_of = [&](std::initializer_list<const char*> policies) {
    return std::find(policies.begin(), policies.end(), policy) != policies.end();
  };
  const string name = "lr_policy \"" + policy + "\"";
  if (!param.has_gamma()) {
    const string unset = name + " has no gamma, which counts as 0: the learning rate ";
    if (is_one_of({"step", "exp", "multistep"})) return unset + "becomes 0 with the first step.";
    if (is_one_of({"inv", "sigmoid"})) return unset + "never changes.";
  }
  if (!param.has_power() && is_one_of({"inv", "poly"}))
    return name + " has no power, which counts as 0: the learning rate never changes.";
  if (policy != "multistep") return "";
  if (param.stepvalue_size() == 0)
    return name + " has no stepvalue: the learning rate never changes.";
  for (int i = 1; i < param.stepvalue_size(); ++i) {
    if (param.stepvalue(i) > param.stepvalue(i - 1)) continue;
    return "stepvalue: " + std::to_string(param.stepvalue(i)) + " is listed after " +
           std::to_string(param.stepvalue(i - 1)) +
           " and takes effect only from that iteration on.";
  }
  return "";
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::GetLearningRate() {
  Refuse(this->param_, RateProblems(this->param_));
  const Ramp ramp = RampOf(this->param_);
  const Dtype rate = PolicyRate();
  if (this->iter_ >= ramp.iterations) return rate;
  const Dtype start = ramp.start, base = this->param_.base_lr();
  return start + (base - start) * this->iter_ / ramp.iterations;
}

template <typename Dtype>
Dtype SGDSolver<Dtype>::PolicyRate() {
  const SolverParameter& param = this->param_;
  const string& policy = param.lr_policy();
  const Dtype base = param.base_lr(), gamma = param.gamma(), power = param.power();
  const Dtype iter = this->iter_;
  if (policy == "fixed") return base;
  if (policy == "step") {
    this->current_step_ = this->iter_ / param.stepsize();
    return base * std::pow(gamma, Dtype(this->current_step_));
  }
  if (policy == "exp") return base * std::pow(gamma, iter);
  if (policy == "inv") return base * std::pow(Dtype(1) + gamma * iter, -power);
  if (policy == "multistep") {
    if (this->current_step_ < param.stepvalue_size() &&
        this->iter_ >= param.stepvalue(this->current_step_)) {
      this->current_step_++;
      LOG_IF(INFO, Caffe::root_solver())
          << "MultiStep Status: Iteration " << this->iter_ << ", step = " << this->current_step_;
    }
    return base * std::pow(gamma, Dtype(this->current_step_));
  }
  if (policy == "plateau") return base * std::pow(gamma, Dtype(this->current_step_));
  if (policy == "poly") return base * std::pow(Dtype(1) - iter / Dtype(param.max_iter()), power);
  CHECK_EQ(policy, "sigmoid");
  return base * (Dtype(1) / (Dtype(1) + std::exp(-gamma * (iter - Dtype(param.stepsize())))));
}

template <typename Dtype>
void SGDSolver<Dtype>::StepOnPlateau() {
  const SolverParameter& param = this->param_;
  if (param.lr_policy() != "plateau") return;
  CHECK_EQ(Caffe::solver_count(), 1) << "lr_policy \"plateau\" cannot be used with several "
                                        "solvers, because their losses differ.";
  if (this->smoothed_loss_ < lowest_loss_) {
    lowest_loss_ = this->smoothed_loss_;
    plateau_iter_ = this->iter_;
  }
  if (this->current_step_ >= param.plateau_winsize_size() ||
      this->iter_ - plateau_iter_ < param.plateau_winsize(this->current_step_))
    return;
  this->current_step_++;
  plateau_iter_ = this->iter_;
  LOG_IF(INFO, Caffe::root_solver())
      << "Plateau Status: Iteration " << this->iter_ << ", step = " << this->current_step_;
}

#define INSTANTIATE_RATE(Dtype)                       \
  template Dtype SGDSolver<Dtype>::GetLearningRate(); \
  template void SGDSolver<Dtype>::StepOnPlateau()
INSTANTIATE_RATE(float);
INSTANTIATE_RATE(double);

}  // namespace caffe
