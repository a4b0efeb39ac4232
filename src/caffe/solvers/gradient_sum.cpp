// Sums the gradients of several solvers.
#include <map>
#include <utility>

#include "caffe/kernels/math/solver_update.hpp"
#include "caffe/operands.hpp"
#include "caffe/parallel.hpp"
#include "caffe/planned_net.hpp"

namespace caffe {

namespace {

/// The smallest number of bytes worth a sum of their own. With NCCL a sum costs the host about 100
/// us, in which about as many bytes pass over PCIe 5.0 x16.
constexpr int64_t kSumBytes = int64_t{8} << 20;

}  // namespace

template <typename Dtype>
GradientSum<Dtype>::GradientSum(Solver<Dtype>* solver, layrub::Communicator* communicator)
    : solver_(solver),
      communicator_(communicator),
      layer_wise_(solver->param().layer_wise_reduce()),
      sums_after_(solver->net()->layers().size()) {
  Net<Dtype>& net = *solver->net();
  // Of the layers that share a parameter, backward reaches the first one last.
  std::map<const SyncedMemory*, size_t> first_layer;
  for (size_t layer = 0; layer < net.layers().size(); ++layer) {
    for (const auto& blob : net.layers()[layer]->blobs())
      first_layer.emplace(blob->diff().get(), layer);
  }
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    if (net.params_lr()[i] == 0) continue;
    sums_after_[first_layer.at(net.learnable_params()[i]->diff().get())].push_back(
        static_cast<int>(i));
  }
  vector<int> gathered;
  int64_t bytes = 0;
  for (size_t layer = sums_after_.size(); layer-- > 0;) {
    for (const int id : std::exchange(sums_after_[layer], {})) {
      gathered.push_back(id);
      bytes += net.learnable_params()[id]->count() * static_cast<int64_t>(sizeof(Dtype));
    }
    if ((!layer_wise_ || bytes < kSumBytes) && layer > 0) continue;
    sums_after_[layer] = std::exchange(gathered, {});
    bytes = 0;
  }
  solver->add_callback(this);
  if (layer_wise_) net.add_after_backward(this);
}

template <typename Dtype>
void GradientSum<Dtype>::Broadcast() {
  const DeviceContext context = DeviceContext::Current();
  std::vector<layrub::Values> values;
  for (Blob<Dtype>* param : solver_->net()->learnable_params())
    values.push_back(layrub::ValuesOf(MutableData(context, param), param->count()));
  communicator_->Broadcast(values);
  communicator_->Synchronize();
}

template <typename Dtype>
void GradientSum<Dtype>::Sum(const vector<int>& params) {
  if (params.empty()) return;
  const DeviceContext context = DeviceContext::Current();
  std::vector<layrub::Values> values;
  for (int id : params) {
    Blob<Dtype>* param = solver_->net()->learnable_params()[id];
    values.push_back(layrub::ValuesOf(MutableDiff(context, param), param->count()));
  }
  communicator_->Sum(values);
}

template <typename Dtype>
void GradientSum<Dtype>::CheckForNewWork() {
  const PlannedNet<Dtype>* const planned = solver_->net()->planned();
  const int64_t newest = planned ? planned->newest() : 0;
  // Gradients that are offloaded within the pass do not wait for their sums.
  is_new_ |= newest != newest_ || (planned && planned->offloads_state());
  newest_ = newest;
}

/// Sums in the order of the backward, because members for which nothing is new do so too.
template <typename Dtype>
void GradientSum<Dtype>::SumAll() {
  for (size_t layer = sums_after_.size(); layer-- > 0;) Sum(sums_after_[layer]);
}

template <typename Dtype>
void GradientSum<Dtype>::on_start() {
  passes_ = 0;
  is_new_ = false;
}

template <typename Dtype>
bool GradientSum<Dtype>::Acts(int layer) const {
  return !sums_after_[layer].empty() || layer == 0 ||
         layer + 1 == static_cast<int>(sums_after_.size());
}

/// Called after the backward of `layer`. All sums are complete after the first layer's.
template <typename Dtype>
void GradientSum<Dtype>::run(int layer) {
  if (layer + 1 == static_cast<int>(sums_after_.size())) {
    ++passes_;
    CheckForNewWork();
  }
  if (is_new_ || passes_ < solver_->param().iter_size()) return;
  Sum(sums_after_[layer]);
  if (layer == 0) communicator_->Wait();
}

template <typename Dtype>
void GradientSum<Dtype>::on_gradients_ready() {
  if (!layer_wise_) CheckForNewWork();
  if (!layer_wise_ || is_new_) {
    SumAll();
    is_new_ ? communicator_->Synchronize() : communicator_->Wait();
  }
  const DeviceContext context = DeviceContext::Current();
  kernels::UpdateBatch<Dtype> batch;
  for (const vector<int>& sum : sums_after_) {
    for (const int id : sum) {
      Blob<Dtype>* param = solver_->net()->learnable_params()[id];
      kernels::Scale(context, param->count(), Dtype(1) / communicator_->size(),
                     MutableDiff(context, param));
    }
  }
  batch.Finish();
}

template <typename Dtype>
void GradientSum<Dtype>::on_test_batch(int /*net*/, int batch) {
  if (batch == 0) communicator_->Synchronize();
}

INSTANTIATE_CLASS(GradientSum);

}  // namespace caffe
