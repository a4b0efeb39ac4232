// Gradients of several solvers become one.
#include <map>

#include "caffe/device_context.hpp"
#include "caffe/kernels/solver_update.hpp"
#include "caffe/parallel.hpp"

namespace caffe {

namespace {

template <typename Dtype>
layrub::Values ValuesOf(Dtype* first, int64_t count) {
  const bool single = sizeof(Dtype) == sizeof(float);
  return {first, count, single ? layrub::Element::kFloat : layrub::Element::kDouble};
}

}  // namespace

template <typename Dtype>
GradientSum<Dtype>::GradientSum(Solver<Dtype>* solver, layrub::Communicator* communicator)
    : solver_(solver),
      communicator_(communicator),
      layer_wise_(solver->param().layer_wise_reduce()),
      ready_after_(solver->net()->layers().size()) {
  Net<Dtype>& net = *solver->net();
  // Backward comes to the first of the layers that share a parameter last.
  std::map<const SyncedMemory*, size_t> first_layer;
  for (size_t layer = 0; layer < net.layers().size(); ++layer) {
    for (const auto& blob : net.layers()[layer]->blobs())
      first_layer.emplace(blob->diff().get(), layer);
  }
  for (size_t i = 0; i < net.learnable_params().size(); ++i) {
    if (net.params_lr()[i] == 0) continue;
    learning_.push_back(static_cast<int>(i));
    ready_after_[first_layer.at(net.learnable_params()[i]->diff().get())].push_back(
        static_cast<int>(i));
  }
  solver->add_callback(this);
  if (layer_wise_) net.add_after_backward(this);
}

template <typename Dtype>
void GradientSum<Dtype>::Broadcast() {
  const DeviceContext context = DeviceContext::Current();
  std::vector<layrub::Values> values;
  for (Blob<Dtype>* param : solver_->net()->learnable_params())
    values.push_back(ValuesOf(MutableData(context, param), param->count()));
  communicator_->Broadcast(values);
  communicator_->Wait();
}

template <typename Dtype>
void GradientSum<Dtype>::Sum(const vector<int>& params) {
  if (params.empty()) return;
  const DeviceContext context = DeviceContext::Current();
  std::vector<layrub::Values> values;
  for (int id : params) {
    Blob<Dtype>* param = solver_->net()->learnable_params()[id];
    values.push_back(ValuesOf(MutableDiff(context, param), param->count()));
  }
  communicator_->Sum(values);
}

/// The backward of `layer` has ended. When that of the net has, so have the sums.
template <typename Dtype>
void GradientSum<Dtype>::run(int layer) {
  if (layer + 1 == static_cast<int>(ready_after_.size())) ++passes_;
  if (passes_ < solver_->param().iter_size()) return;
  Sum(ready_after_[layer]);
  if (layer == 0) communicator_->Wait();
}

template <typename Dtype>
void GradientSum<Dtype>::on_gradients_ready() {
  if (!layer_wise_) {
    Sum(learning_);
    communicator_->Wait();
  }
  const DeviceContext context = DeviceContext::Current();
  for (int id : learning_) {
    Blob<Dtype>* param = solver_->net()->learnable_params()[id];
    kernels::Scale(context, param->count(), Dtype(1) / communicator_->size(),
                   MutableDiff(context, param));
  }
}

INSTANTIATE_CLASS(GradientSum);

}  // namespace caffe
