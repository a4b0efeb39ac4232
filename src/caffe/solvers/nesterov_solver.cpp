// NesterovSolver: momentum, applied one iteration ahead.
#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/sgd_solvers.hpp"

namespace caffe {

template <typename Dtype>
void NesterovSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  const Dtype local_rate = rate * this->net_->params_lr()[param_id];
  kernels::NesterovUpdate(context, param->count(), local_rate, Dtype(this->param_.momentum()),
                          MutableDiff(context, param),
                          MutableData(context, this->history_[param_id].get()));
}

INSTANTIATE_CLASS(NesterovSolver);
REGISTER_SOLVER_CLASS(Nesterov);

}  // namespace caffe
