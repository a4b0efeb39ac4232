// AdamSolver: steps by the means of gradients and of their squares.
#include <cmath>

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void AdamSolver<Dtype>::AdamPreSolve() {
  this->AddHistory();
}

template <typename Dtype>
void AdamSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  Blob<Dtype>* second = this->history_[param_id + this->net_->learnable_params().size()].get();
  const double decay = this->param_.momentum(), decay2 = this->param_.momentum2();
  // The means begin at zero, so they are too small by these factors in early iterations.
  const int steps = this->iter_ + 1;
  const double correction = std::sqrt(1 - std::pow(decay2, steps)) / (1 - std::pow(decay, steps));
  const Dtype local_rate = rate * this->net_->params_lr()[param_id] * Dtype(correction);
  kernels::AdamUpdate(context, param->count(), local_rate, Dtype(decay), Dtype(decay2),
                      Dtype(this->param_.delta()), MutableDiff(context, param),
                      MutableData(context, this->history_[param_id].get()),
                      MutableData(context, second));
}

INSTANTIATE_CLASS(AdamSolver);
REGISTER_SOLVER_CLASS(Adam);

}  // namespace caffe
