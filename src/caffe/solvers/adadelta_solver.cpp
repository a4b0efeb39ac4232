// AdaDeltaSolver: steps by the means of squared gradients and squared steps.
#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void AdaDeltaSolver<Dtype>::AdaDeltaPreSolve() {
  this->AddHistory();
}

template <typename Dtype>
void AdaDeltaSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  Blob<Dtype>* second = this->history_[param_id + this->net_->learnable_params().size()].get();
  const Dtype local_rate = rate * this->net_->params_lr()[param_id];
  kernels::AdaDeltaUpdate(context, param->count(), local_rate, Dtype(this->param_.momentum()),
                          Dtype(this->param_.delta()), MutableDiff(context, param),
                          MutableData(context, this->history_[param_id].get()),
                          MutableData(context, second));
}

INSTANTIATE_CLASS(AdaDeltaSolver);
REGISTER_SOLVER_CLASS(AdaDelta);

}  // namespace caffe
