// RMSPropSolver: rates by the mean of squared gradients.
#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/sgd_solvers.hpp"
#include "solver_problems.hpp"

namespace caffe {

template <typename Dtype>
void RMSPropSolver<Dtype>::constructor_sanity_check() {
  Refuse(this->param_, TypeProblems(type(), this->param_));
}

template <typename Dtype>
void RMSPropSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  const Dtype local_rate = rate * this->net_->params_lr()[param_id];
  kernels::RmsPropUpdate(context, param->count(), local_rate, Dtype(this->param_.rms_decay()),
                         Dtype(this->param_.delta()), MutableDiff(context, param),
                         MutableData(context, this->history_[param_id].get()));
}

INSTANTIATE_CLASS(RMSPropSolver);
REGISTER_SOLVER_CLASS(RMSProp);

}  // namespace caffe
