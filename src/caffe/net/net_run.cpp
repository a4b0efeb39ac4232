// Net: passes, planned and unplanned.
#include <algorithm>

#include "caffe/net.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/math_functions.hpp"
#include "dropped_value.hpp"

namespace caffe {

template <typename Dtype>
Dtype Net<Dtype>::ForwardFromTo(int start, int end) {
  return LossOf<Dtype>(
      [&](PendingReads* reads, Dtype* loss) { RunLayers(start, end, reads, loss); });
}

template <typename Dtype>
void Net<Dtype>::RunLayers(int start, int end, PendingReads* reads, Dtype* loss) {
  CHECK_GE(start, 0);
  CHECK_LT(end, static_cast<int>(layers_.size()));
  LeavePlan();
  for (int i = start; i <= end; ++i) {
    for (Callback* callback : before_forward_) callback->run(i);
    // Derivatives of what is computed anew, of a pass that is over, are nobody's: zero.
    for (const Blob<Dtype>* top : top_vecs_[i]) {
      if (top->HasShape()) DroppedValue::Forget(top->diff().get());
    }
    layers_[i]->Forward(bottom_vecs_[i], top_vecs_[i], reads, loss);
    if (debug_info_) ForwardDebugInfo(i);
    for (Callback* callback : after_forward_) callback->run(i);
  }
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardFrom(int start) {
  return ForwardFromTo(start, static_cast<int>(layers_.size()) - 1);
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardTo(int end) {
  return ForwardFromTo(0, end);
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(Dtype* loss) {
  const Dtype sum =
      LossOf<Dtype>([&](PendingReads* reads, Dtype* adds) { RunForward(reads, adds); });
  if (loss) *loss = sum;
  return net_output_blobs_;
}

template <typename Dtype>
Dtype Net<Dtype>::ForwardBackward() {
  return LossOf<Dtype>([&](PendingReads* reads, Dtype* loss) {
    RunForward(reads, loss);
    Backward();
  });
}

template <typename Dtype>
void Net<Dtype>::RunForward(PendingReads* reads, Dtype* loss) {
  const int last = static_cast<int>(layers_.size()) - 1;
  if (placement_wanted_ && (!planned_ || !planned_->IsUpToDate())) {
    LeavePlan(true);
    PlacementOptions options = placement_;
    options.plan.reset();  // is of other shapes
    const layrub::Status status = Place(options, history_);
    CHECK(status.ok()) << status.message;
  }
  const int next = planned_ ? planned_->Forward(reads, loss) : 0;
  if (next <= last) RunLayers(next, last, reads, loss);
}

template <typename Dtype>
const vector<Blob<Dtype>*>& Net<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, Dtype* loss) {
  LOG_EVERY_N(WARNING, 1000)
      << "DEPRECATED: Forward(bottom, loss) will be removed in a future version. Use "
         "Forward(loss).";
  CHECK_LE(bottom.size(), net_input_blobs_.size())
      << "net " << name_ << " has fewer inputs than it is given";
  for (size_t i = 0; i < bottom.size(); ++i) net_input_blobs_[i]->CopyFrom(*bottom[i]);
  return Forward(loss);
}

template <typename Dtype>
void Net<Dtype>::BackwardFromTo(int start, int end) {
  CHECK_GE(end, 0);
  CHECK_LT(start, static_cast<int>(layers_.size()));
  if (planned_) planned_->LeaveForBackward();
  const auto is_computed = [&](int layer, int blob) {
    for (size_t i = layer + 1; i < layers_.size(); ++i) {
      for (size_t bottom = 0; bottom < bottom_vecs_[i].size(); ++bottom) {
        if (bottom_id_vecs_[i][bottom] == blob && bottom_need_backward_[i][bottom]) return true;
      }
    }
    return false;
  };
  for (int i = start; i >= end; --i) {
    for (Callback* callback : before_backward_) callback->run(i);
    if (layer_need_backward_[i]) {
      // A derivative that a whole backward has not written by now, or that no layer ever writes, is
      // nobody's: zero, as in Caffe.
      const bool whole = start == static_cast<int>(layers_.size()) - 1;
      for (size_t top = 0; top < top_vecs_[i].size(); ++top) {
        if (whole || !is_computed(i, top_id_vecs_[i][top]))
          DroppedValue::Forget(top_vecs_[i][top]->diff().get());
      }
      layers_[i]->Backward(top_vecs_[i], bottom_need_backward_[i], bottom_vecs_[i]);
      if (debug_info_) BackwardDebugInfo(i);
    }
    for (Callback* callback : after_backward_) callback->run(i);
  }
}

template <typename Dtype>
void Net<Dtype>::BackwardFrom(int start) {
  BackwardFromTo(start, 0);
}

template <typename Dtype>
void Net<Dtype>::BackwardTo(int end) {
  BackwardFromTo(static_cast<int>(layers_.size()) - 1, end);
}

template <typename Dtype>
void Net<Dtype>::Backward() {
  if (planned_ && !planned_->UserHasWrittenDerivatives()) {
    planned_->Backward();
  } else {
    BackwardFromTo(static_cast<int>(layers_.size()) - 1, 0);
  }
  if (!debug_info_) return;
  Dtype asum_data = 0, asum_diff = 0, sumsq_data = 0, sumsq_diff = 0;
  for (Blob<Dtype>* param : learnable_params_) {
    asum_data += param->asum_data();
    asum_diff += param->asum_diff();
    sumsq_data += param->sumsq_data();
    sumsq_diff += param->sumsq_diff();
  }
  LOG(ERROR) << "    [Backward] All net params (data, diff): L1 norm = (" << asum_data << ", "
             << asum_diff << "); "
             << "L2 norm = (" << std::sqrt(sumsq_data) << ", " << std::sqrt(sumsq_diff) << ")";
}

template <typename Dtype>
void Net<Dtype>::ForwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < top_vecs_[layer_id].size(); ++i) {
    const Blob<Dtype>& blob = *top_vecs_[layer_id][i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", top blob "
        << blob_names_[top_id_vecs_[layer_id][i]]
        << " data: " << (blob.count() ? blob.asum_data() / blob.count() : Dtype(0));
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    const Blob<Dtype>& blob = *layers_[layer_id]->blobs()[i];
    const string& name = param_display_names_[param_id_vecs_[layer_id][i]];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Forward] Layer " << layer_names_[layer_id] << ", param blob " << name
        << " data: " << (blob.count() ? blob.asum_data() / blob.count() : Dtype(0));
  }
}

template <typename Dtype>
void Net<Dtype>::BackwardDebugInfo(const int layer_id) {
  for (size_t i = 0; i < bottom_vecs_[layer_id].size(); ++i) {
    if (!bottom_need_backward_[layer_id][i]) continue;
    const Blob<Dtype>& blob = *bottom_vecs_[layer_id][i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", bottom blob "
        << blob_names_[bottom_id_vecs_[layer_id][i]]
        << " diff: " << (blob.count() ? blob.asum_diff() / blob.count() : Dtype(0));
  }
  for (size_t i = 0; i < layers_[layer_id]->blobs().size(); ++i) {
    if (!layers_[layer_id]->param_propagate_down(i)) continue;
    const Blob<Dtype>& blob = *layers_[layer_id]->blobs()[i];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Backward] Layer " << layer_names_[layer_id] << ", param blob " << i
        << " diff: " << (blob.count() ? blob.asum_diff() / blob.count() : Dtype(0));
  }
}

template <typename Dtype>
void Net<Dtype>::UpdateDebugInfo(const int param_id) {
  const Blob<Dtype>& blob = *params_[param_id];
  const int owner = param_owners_[param_id];
  const string& layer_name = layer_names_[param_layer_indices_[param_id].first];
  const Dtype diff = blob.count() ? blob.asum_diff() / blob.count() : Dtype(0);
  if (owner < 0) {
    const Dtype data = blob.count() ? blob.asum_data() / blob.count() : Dtype(0);
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer_name << ", param " << param_display_names_[param_id]
        << " data: " << data << "; diff: " << diff;
  } else {
    const string& owner_name = layer_names_[param_layer_indices_[owner].first];
    LOG_IF(INFO, Caffe::root_solver())
        << "    [Update] Layer " << layer_name << ", param blob " << param_display_names_[param_id]
        << " (owned by layer " << owner_name << ", param " << param_display_names_[owner]
        << ") diff: " << diff;
  }
}

template <typename Dtype>
void Net<Dtype>::Reshape() {
  for (size_t i = 0; i < layers_.size(); ++i) layers_[i]->Reshape(bottom_vecs_[i], top_vecs_[i]);
}

template <typename Dtype>
void Net<Dtype>::ClearParamDiffs() {
  for (const Blob<Dtype>* param : learnable_params_) param->diff()->SetZero();
}

template <typename Dtype>
void Net<Dtype>::Update() {
  for (Blob<Dtype>* param : learnable_params_) param->Update();
}

template <typename Dtype>
void Net<Dtype>::UpdateParams(const std::function<void(int)>& update) {
  const auto traced = [&](int id) {
    update(id);
    if (!debug_info_) return;
    for (size_t i = 0; i < params_.size(); ++i) {
      if (learnable_param_ids_[i] == id) UpdateDebugInfo(i);
    }
  };
  if (planned_) {
    planned_->Update(traced);
    return;
  }
  for (size_t i = 0; i < learnable_params_.size(); ++i) {
    if (params_lr_[i] != 0) traced(static_cast<int>(i));
  }
}

#define INSTANTIATE_RUN(Dtype)                                                                   \
  template Dtype Net<Dtype>::ForwardFromTo(int, int);                                            \
  template Dtype Net<Dtype>::ForwardFrom(int);                                                   \
  template Dtype Net<Dtype>::ForwardTo(int);                                                     \
  template const vector<Blob<Dtype>*>& Net<Dtype>::Forward(Dtype*);                              \
  template const vector<Blob<Dtype>*>& Net<Dtype>::Forward(const vector<Blob<Dtype>*>&, Dtype*); \
  template Dtype Net<Dtype>::ForwardBackward();                                                  \
  template void Net<Dtype>::RunForward(PendingReads*, Dtype*);                                   \
  template void Net<Dtype>::RunLayers(int, int, PendingReads*, Dtype*);                          \
  template void Net<Dtype>::BackwardFromTo(int, int);                                            \
  template void Net<Dtype>::BackwardFrom(int);                                                   \
  template void Net<Dtype>::BackwardTo(int);                                                     \
  template void Net<Dtype>::Backward();                                                          \
  template void Net<Dtype>::ForwardDebugInfo(const int);                                         \
  template void Net<Dtype>::BackwardDebugInfo(const int);                                        \
  template void Net<Dtype>::UpdateDebugInfo(const int);                                          \
  template void Net<Dtype>::Reshape();                                                           \
  template void Net<Dtype>::ClearParamDiffs();                                                   \
  template void Net<Dtype>::Update();                                                            \
  template void Net<Dtype>::UpdateParams(const std::function<void(int)>&)
INSTANTIATE_RUN(float);
INSTANTIATE_RUN(double);

}  // namespace caffe
