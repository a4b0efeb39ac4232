#include "caffe/layer.hpp"

#include <utility>

#include "caffe/util/failure.hpp"
#include "layrub/device/device.hpp"

namespace caffe {

int FirstUsableVariant(const vector<OperandVariant>& variants,
                       const vector<bool>& bottom_overwritten,
                       const vector<bool>& top_overwritten) {
  const auto flag = [](const vector<bool>& flags, int i) {
    return i < static_cast<int>(flags.size()) && flags[i];
  };
  const auto overwritten = [&](const Operand& operand) {
    return (operand.kind == Operand::kBottomData && flag(bottom_overwritten, operand.index)) ||
           (operand.kind == Operand::kTopData && flag(top_overwritten, operand.index));
  };
  for (size_t i = 0; i < variants.size(); ++i) {
    if (std::none_of(variants[i].reads.begin(), variants[i].reads.end(), overwritten))
      return static_cast<int>(i);
  }
  return -1;
}

template <typename Dtype>
Layer<Dtype>::Layer(const LayerParameter& param) : layer_param_(param), phase_(param.phase()) {
  for (const BlobProto& stored : layer_param_.blobs()) {
    blobs_.emplace_back(new Blob<Dtype>());
    blobs_.back()->FromProto(stored);
  }
}

template <typename Dtype>
void Layer<Dtype>::SetUp(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  const FailureScope scope(layer_param_);
  CheckBlobCounts(bottom, top);
  LayerSetUp(bottom, top);
  Reshape(bottom, top);
  SetLossWeights(top);
}

template <typename Dtype>
Dtype Layer<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top) {
  return LossOf<Dtype>(
      [&](PendingReads* reads, Dtype* loss) { Forward(bottom, top, reads, loss); });
}

template <typename Dtype>
void Layer<Dtype>::Forward(const vector<Blob<Dtype>*>& bottom, const vector<Blob<Dtype>*>& top,
                           PendingReads* reads, Dtype* loss) {
  const FailureScope scope(layer_param_);
  const struct Reading {
    PendingReads*& now;
    PendingReads* const before;
    ~Reading() { now = before; }
  } reading{reads_, std::exchange(reads_, reads)};
  Reshape(bottom, top);
  if (!planned_ || run_.unplanned_buffers)
    PrepareDirect(bottom, top, vector<bool>(bottom.size(), true), true);
  if (Caffe::mode() == Caffe::GPU) {
    Caffe::device().MakeCurrent();  // for users' kernels; copies may have changed it
    Forward_gpu(bottom, top);
  } else {
    Forward_cpu(bottom, top);
  }
  if (!recomputing()) AddLoss(top, reads, loss);
}

template <typename Dtype>
void Layer<Dtype>::AddLoss(const vector<Blob<Dtype>*>& top, PendingReads* reads, Dtype* loss) {
  for (size_t i = 0; i < top.size(); ++i) {
    const Dtype weight = this->loss(static_cast<int>(i));
    if (weight == Dtype(0)) continue;
    const int count = top[i]->count();
    if (Caffe::mode() == Caffe::CPU) {
      *loss += caffe_cpu_dot(count, top[i]->cpu_data(), top[i]->cpu_diff());
      continue;
    }
    // The diff has held this weight since set-up, so the host need not wait for the diff too.
    const auto add = [=](const void* of_top) {
      const auto* const values = static_cast<const Dtype*>(of_top);
      Dtype sum = 0;
      for (int k = 0; k < count; ++k) sum += weight * values[k];
      *loss += sum;
    };
    if (top[i]->data()->IsOnDeviceAlone()) {
      reads->Add(DeviceContext::Current(), top[i]->gpu_data(), sizeof(Dtype) * count, add);
    } else {
      add(top[i]->cpu_data());
    }
  }
}

template <typename Dtype>
void Layer<Dtype>::Backward(const vector<Blob<Dtype>*>& top, const vector<bool>& propagate_down,
                            const vector<Blob<Dtype>*>& bottom) {
  const FailureScope scope(layer_param_);
  if (!planned_ || run_.unplanned_buffers) PrepareDirect(bottom, top, propagate_down, false);
  if (Caffe::mode() == Caffe::GPU) {
    Caffe::device().MakeCurrent();
    Backward_gpu(top, propagate_down, bottom);
  } else {
    Backward_cpu(top, propagate_down, bottom);
  }
}

template <typename Dtype>
int Layer<Dtype>::DirectVariant(const vector<OperandVariant>& variants,
                                const vector<Blob<Dtype>*>& bottom,
                                const vector<Blob<Dtype>*>& top) const {
  vector<bool> bottom_overwritten = bottom_overwritten_;
  bottom_overwritten.resize(bottom.size());
  for (size_t i = 0; i < bottom.size(); ++i) {
    if (std::find(top.begin(), top.end(), bottom[i]) != top.end()) bottom_overwritten[i] = true;
  }
  return FirstUsableVariant(variants, bottom_overwritten, top_overwritten_);
}

template <typename Dtype>
void Layer<Dtype>::PrepareDirect(const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top,
                                 const vector<bool>& propagate_down, bool forward) {
  const MemoryTraits traits = Traits(bottom, top, propagate_down);
  const OperandVariant* variant = &traits.forward;
  run_.variant = 0;
  if (traits.declared && !traits.backward.empty()) {
    if (forward) continued_variant_ = -1;
    if (continued_variant_ < 0) {
      run_.variant = DirectVariant(traits.backward, bottom, top);
    } else {
      const bool usable = DirectVariant({traits.backward[continued_variant_]}, bottom, top) == 0;
      run_.variant = usable ? continued_variant_ : -1;
    }
    const bool in_place = std::any_of(bottom.begin(), bottom.end(), [&](const Blob<Dtype>* blob) {
      return std::find(top.begin(), top.end(), blob) != top.end();
    });
    // In-place use of a user's class is its author's responsibility, as in Caffe.
    if (traits.inherited) run_.variant = std::max(run_.variant, 0);
    CHECK_GE(run_.variant, 0)
        << "Layer " << layer_param_.name() << " (" << type()
        << (in_place ? ") cannot run in place without a memory plan: its backward needs the values "
                       "it overwrites."
                     : ") cannot run without a memory plan: its backward needs values that a layer "
                       "in place overwrites; give that layer a top of its own.");
  }
  const auto address = [](SyncedMemory* memory) {
    return Caffe::mode() == Caffe::GPU ? memory->mutable_gpu_data() : memory->mutable_cpu_data();
  };
  run_.saved.assign(traits.saved.size(), nullptr);
  direct_saved_.resize(traits.saved.size());
  if (!traits.backward.empty() && (needs_backward_ || !forward)) {
    const OperandVariant& backward = traits.backward[run_.variant];
    for (const Operand& operand : backward.reads) {
      if (operand.kind != Operand::kSaved) continue;
      shared_ptr<SyncedMemory>& memory = direct_saved_[operand.index];
      const size_t bytes = traits.saved[operand.index].bytes;
      if (!memory || memory->size() < bytes) memory.reset(new SyncedMemory(bytes));
      run_.saved[operand.index] = address(memory.get());
    }
    if (!forward) variant = &backward;
  }
  Algorithm algorithm = DirectAlgorithm(*variant);
  const size_t bytes = algorithm.bytes;
  run_.algorithm = std::move(algorithm.name);
  if (bytes > 0 && (!direct_workspace_ || direct_workspace_->size() < bytes)) {
    direct_workspace_.reset(new SyncedMemory(bytes));
  }
  run_.workspace = bytes > 0 ? address(direct_workspace_.get()) : nullptr;
}

template <typename Dtype>
void Layer<Dtype>::ContinueDirect(int variant, const vector<pair<const void*, size_t>>& saved) {
  const DeviceContext context = DeviceContext::Current();
  continued_variant_ = variant;
  direct_saved_.assign(saved.size(), shared_ptr<SyncedMemory>());
  for (size_t i = 0; i < saved.size(); ++i) {
    if (!saved[i].first) continue;
    direct_saved_[i].reset(new SyncedMemory(saved[i].second));
    SyncedMemory& copy = *direct_saved_[i];
    CopyBytes(context, context.gpu ? copy.mutable_gpu_data() : copy.mutable_cpu_data(),
              saved[i].first, saved[i].second);
  }
}

template <typename Dtype>
MemoryTraits Layer<Dtype>::PlannedTraits(const vector<Blob<Dtype>*>& bottom,
                                         const vector<Blob<Dtype>*>& top,
                                         const vector<bool>& propagate_down) const {
  MemoryTraits traits = Traits(bottom, top, propagate_down);
  return traits.inherited ? Layer::Traits(bottom, top, propagate_down) : traits;
}

template <typename Dtype>
MemoryTraits Layer<Dtype>::Traits(const vector<Blob<Dtype>*>& bottom,
                                  const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& /*propagate_down*/) const {
  // Nothing is known: each body may read and write all its operands, including derivatives.
  MemoryTraits traits;
  traits.repeatable = false;
  OperandVariant all;
  all.name = "all";
  const auto touch = [&all](Operand operand, size_t count) {
    for (; operand.index < static_cast<int>(count); ++operand.index) {
      all.reads.push_back(operand);
      all.writes.push_back(operand);
    }
  };
  touch(BottomData(0), bottom.size());
  touch(BottomDiff(0), bottom.size());
  touch(TopData(0), top.size());
  touch(TopDiff(0), top.size());
  touch(ParamData(0), blobs_.size());
  touch(ParamDiff(0), blobs_.size());
  traits.forward = all;
  traits.backward = {all};
  return traits;
}

template <typename Dtype>
void Layer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                             const vector<Blob<Dtype>*>& top) {
  CHECK(context.gpu) << "Layer " << layer_param_.name() << " (" << type() << ") has no forward.";
  Forward_cpu(bottom, top);
}

template <typename Dtype>
void Layer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                              const vector<bool>& propagate_down,
                              const vector<Blob<Dtype>*>& bottom) {
  CHECK(context.gpu) << "Layer " << layer_param_.name() << " (" << type() << ") has no backward.";
  Backward_cpu(top, propagate_down, bottom);
}

template <typename Dtype>
void Layer<Dtype>::ToProto(LayerParameter* param, bool write_diff) {
  param->Clear();
  param->CopyFrom(layer_param_);
  param->clear_origin();
  param->clear_blobs();
  for (const auto& blob : blobs_) blob->ToProto(param->add_blobs(), write_diff);
}

template <typename Dtype>
void Layer<Dtype>::set_loss(const int top_index, const Dtype value) {
  if (static_cast<int>(loss_.size()) <= top_index) loss_.resize(top_index + 1, Dtype(0));
  loss_[top_index] = value;
}

template <typename Dtype>
void Layer<Dtype>::set_param_propagate_down(const int param_id, const bool value) {
  if (static_cast<int>(param_propagate_down_.size()) <= param_id)
    param_propagate_down_.resize(param_id + 1, true);
  param_propagate_down_[param_id] = value;
}

template <typename Dtype>
void Layer<Dtype>::CheckBlobCounts(const vector<Blob<Dtype>*>& bottom,
                                   const vector<Blob<Dtype>*>& top) {
  const auto check = [this](int exact, int least, int most, size_t size, const char* side) {
    const int count = static_cast<int>(size);
    if (exact >= 0) {
      CHECK_EQ(exact, count) << "Layer " << layer_param_.name() << ": " << type() << " Layer takes "
                             << exact << " " << side << " blob(s) as input/output; it has " << count
                             << ".";
    }
    if (least >= 0) {
      CHECK_LE(least, count) << "Layer " << layer_param_.name() << ": " << type()
                             << " Layer takes at least " << least << " " << side
                             << " blob(s); it has " << count << ".";
    }
    if (most >= 0) {
      CHECK_GE(most, count) << "Layer " << layer_param_.name() << ": " << type()
                            << " Layer takes at most " << most << " " << side << " blob(s); it has "
                            << count << ".";
    }
  };
  check(ExactNumBottomBlobs(), MinBottomBlobs(), MaxBottomBlobs(), bottom.size(), "bottom");
  check(ExactNumTopBlobs(), MinTopBlobs(), MaxTopBlobs(), top.size(), "top");
  if (EqualNumBottomTopBlobs()) {
    CHECK_EQ(bottom.size(), top.size())
        << "Layer " << layer_param_.name() << ": " << type()
        << " Layer produces one top blob as output for each bottom blob input; it has "
        << bottom.size() << " bottom and " << top.size() << " top blob(s).";
  }
}

template <typename Dtype>
void Layer<Dtype>::SetLossWeights(const vector<Blob<Dtype>*>& top) {
  const int weights = layer_param_.loss_weight_size();
  if (weights == 0) return;
  CHECK_EQ(static_cast<int>(top.size()), weights)
      << "Layer " << layer_param_.name()
      << ": loss_weight must be unspecified or specified once per top blob.";
  for (size_t i = 0; i < top.size(); ++i) {
    const Dtype weight = layer_param_.loss_weight(i);
    if (weight == Dtype(0)) continue;
    set_loss(i, weight);
    caffe_set(top[i]->count(), weight, top[i]->mutable_cpu_diff());
  }
}

INSTANTIATE_CLASS(Layer);

}  // namespace caffe
