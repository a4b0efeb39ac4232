// SGDSolver: updates.
#include <algorithm>

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/partition/parameter_parts.hpp"
#include "caffe/sgd_solvers.hpp"
#include "solver_problems.hpp"

namespace caffe {

namespace {

template <typename Dtype>
bool Learns(const Net<Dtype>& net, int param_id) {
  return net.params_lr()[param_id] != 0;
}

/// Appends a blob with the shape of each learnable parameter.
template <typename Dtype>
void AddBlobs(const Net<Dtype>& net, vector<shared_ptr<Blob<Dtype>>>* blobs) {
  for (const Blob<Dtype>* param : net.learnable_params())
    blobs->push_back(shared_ptr<Blob<Dtype>>(new Blob<Dtype>(param->shape())));
}

/// Aborts if the shape of a learned parameter has changed (as Python can do) since `made` was made
/// for it: the solver's blobs would not fit it.
template <typename Dtype>
void CheckShapes(const Net<Dtype>& net, const vector<shared_ptr<Blob<Dtype>>>& made) {
  const vector<Blob<Dtype>*>& params = net.learnable_params();
  for (size_t i = 0; i < std::min(params.size(), made.size()); ++i) {
    if (params[i]->shape() == made[i]->shape() || !Learns(net, static_cast<int>(i))) continue;
    for (const auto& layer : net.layers()) {
      for (size_t k = 0; k < layer->blobs().size(); ++k) {
        CHECK(layer->blobs()[k].get() != params[i])
            << "Layer " << layer->layer_param().name() << ": parameter " << k << " has the shape "
            << params[i]->shape_string() << ", and had " << made[i]->shape_string()
            << " when the solver was made. Make a net with the new shape, and a solver of it.";
      }
    }
  }
}

}  // namespace

template <typename Dtype>
void SGDSolver<Dtype>::PreSolve() {
  for (auto* blobs : {&history_, &update_, &temp_}) {
    blobs->clear();
    AddBlobs(*this->net_, blobs);
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::AddHistory() {
  AddBlobs(*this->net_, &history_);
}

template <typename Dtype>
typename Net<Dtype>::History SGDSolver<Dtype>::ParameterHistory() const {
  CheckShapes(*this->net_, update_);
  const vector<Blob<Dtype>*>& params = this->net_->learnable_params();
  const size_t count = params.size();
  typename Net<Dtype>::History result(count);
  if (count == 0) return result;
  for (size_t first = 0; first + count <= history_.size(); first += count) {
    bool fits = true;
    for (size_t i = 0; i < count; ++i)
      fits = fits && history_[first + i]->shape() == params[i]->shape();
    for (size_t i = 0; fits && i < count; ++i) result[i].push_back(history_[first + i].get());
  }
  return result;
}

template <typename Dtype>
void SGDSolver<Dtype>::CopyStateFrom(Solver<Dtype>& other) {
  Solver<Dtype>::CopyStateFrom(other);
  const auto& sgd = dynamic_cast<const SGDSolver&>(other);
  lowest_loss_ = sgd.lowest_loss_;
  plateau_iter_ = sgd.plateau_iter_;
}

template <typename Dtype>
void SGDSolver<Dtype>::ApplyUpdate() {
  CheckShapes(*this->net_, update_);
  StepOnPlateau();
  const Dtype rate = this->learning_rate_ = GetLearningRate();
  if (this->param_.display() && this->iter_ % this->param_.display() == 0) {
    LOG_IF(INFO, Caffe::root_solver()) << "Iteration " << this->iter_ << ", lr = " << rate;
  }
  ClipGradients();
  kernels::UpdateBatch<Dtype> batch;
  this->net_->UpdateParams([&](int param_id) {
    Blob<Dtype>* const param = this->net_->learnable_params()[param_id];
    Normalize(param_id);
    Regularize(param_id);
    ComputeUpdateValue(param_id, rate);
    param->Update();
    // while the values are in the cache
    if (Caffe::mode() == Caffe::CPU || this->net_->updates_within_backward()) batch.Finish();
  });
  batch.Finish();
  LogClipping();
  ++this->iter_;
}

/// Everything is queued on the device. The host reads the result after the update.
template <typename Dtype>
void SGDSolver<Dtype>::ClipGradients() {
  const Dtype limit = this->param_.clip_gradients();
  if (limit < 0) return;
  const DeviceContext context = DeviceContext::Current();
  const vector<Blob<Dtype>*>& params = this->net_->learnable_params();
  const auto count = static_cast<int>(params.size());
  if (clipping_.count() != count + 2) clipping_.Reshape({count + 2});
  Dtype* const squares = MutableData(context, &clipping_);  // 0 for parameters not learned
  Dtype* const norm = squares + count;
  Dtype* const factor = norm + 1;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!Learns(*this->net_, i)) continue;
    kernels::SumSquares(context, params[i]->count(), Diff(context, *params[i]), squares + i);
  }
  SumSquaresOverDevices(context, *this->net_, squares);
  kernels::ClipFactor(context, count, squares, limit, norm, factor);
  for (size_t i = 0; i < params.size(); ++i) {
    if (!Learns(*this->net_, i)) continue;
    kernels::ScaleBy(context, params[i]->count(), factor, MutableDiff(context, params[i]));
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::LogClipping() {
  const Dtype limit = this->param_.clip_gradients();
  if (limit < 0 || clipping_.count() == 0 || !Caffe::root_solver()) return;
  const Dtype* const norm = clipping_.cpu_data() + clipping_.count() - 2;
  if (!(norm[0] > limit)) return;  // also returns for NaN
  LOG(INFO) << "Gradient clipping: scaling down gradients (L2 norm " << norm[0] << " > " << limit
            << ") by scale factor " << norm[1];
}

template <typename Dtype>
void SGDSolver<Dtype>::Normalize(int param_id) {
  if (this->param_.iter_size() == 1) return;
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  kernels::Scale(context, param->count(), Dtype(1) / this->param_.iter_size(),
                 MutableDiff(context, param));
}

template <typename Dtype>
void SGDSolver<Dtype>::Regularize(int param_id) {
  const Dtype decay = this->param_.weight_decay() * this->net_->params_weight_decay()[param_id];
  if (decay == 0) return;
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  Refuse(this->param_, RegularizationProblems(this->param_));
  if (this->param_.regularization_type() == "L2") {
    kernels::AddDecayL2(context, param->count(), decay, Data(context, *param),
                        MutableDiff(context, param));
  } else {
    kernels::AddDecayL1(context, param->count(), decay, Data(context, *param),
                        MutableDiff(context, param));
  }
}

template <typename Dtype>
void SGDSolver<Dtype>::ComputeUpdateValue(int param_id, Dtype rate) {
  const DeviceContext context = DeviceContext::Current();
  Blob<Dtype>* param = this->net_->learnable_params()[param_id];
  const Dtype local_rate = rate * this->net_->params_lr()[param_id];
  kernels::SgdUpdate(context, param->count(), local_rate, Dtype(this->param_.momentum()),
                     MutableDiff(context, param), MutableData(context, history_[param_id].get()));
}

template <typename Dtype>
void SGDSolver<Dtype>::SnapshotSolverState(const string& model_filename) {
  if (this->param_.snapshot_format() == SolverParameter_SnapshotFormat_BINARYPROTO) {
    SnapshotSolverStateToBinaryProto(model_filename);
  } else {
    SnapshotSolverStateToHDF5(model_filename);
  }
}

INSTANTIATE_CLASS(SGDSolver);
REGISTER_SOLVER_CLASS(SGD);

}  // namespace caffe
