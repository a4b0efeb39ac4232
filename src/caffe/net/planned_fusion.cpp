// Which operations of a plan put their loops off, to run fused with those of the next (FusedLoops).

#include <algorithm>

#include "layrub/device/backend.hpp"
#include "planned_captures.hpp"

namespace caffe {

/// The arrays of `step` if its loops may be put off; of no channels if they may not. Finishes
/// what was put off if `step` cannot go with that: channel by channel, an operation would meet
/// bytes of another one's channels.
template <typename Dtype>
FusedLoops::Shape PlannedNet<Dtype>::Fuse(const layrub::Step& step) {
  using Range = typename Memory::Range;
  const FusedLoops::Shape shape = memory_->net.fusible[step.op][step.form];
  const layrub::Form& form = memory_->net.graph.ops[step.op].forms[step.form];
  const auto outside = [this](layrub::TensorId tensor) {
    return memory_->net.outside.count(tensor) > 0;
  };
  if (shape.channels == 0 || backend_->device() != nullptr || IsWatched() ||
      std::any_of(form.reads.begin(), form.reads.end(), outside) ||
      std::any_of(form.writes.begin(), form.writes.end(), outside)) {
    FinishLoops();
    return {};
  }
  std::vector<Range>& touched = memory_->touched;
  const size_t before = touched.size();
  const auto add = [&](layrub::TensorId tensor, bool written) {
    const int64_t bytes = memory_->net.graph.tensors[tensor].bytes;
    const auto* begin = static_cast<const char*>(executor_->Address(tensor));
    if (begin != nullptr && bytes > 0) touched.push_back({begin, bytes, written});
  };
  for (const layrub::TensorId tensor : form.reads) add(tensor, false);
  for (const layrub::TensorId tensor : form.writes) add(tensor, true);
  if (!form.scratch.empty() && form.scratch[step.scratch].tensor != layrub::kNone)
    add(form.scratch[step.scratch].tensor, true);
  // Two arrays at one address are cut in the same way. Of other ranges nothing is known.
  const int64_t array = shape.outer * shape.channels * shape.inner * int64_t{sizeof(Dtype)};
  const auto mixed = [array](const Range& a, const Range& b) {
    const bool apart = a.begin + a.bytes <= b.begin || b.begin + b.bytes <= a.begin;
    const bool same = a.begin == b.begin && a.bytes == array && b.bytes == array;
    return (a.written || b.written) && !apart && !same;
  };
  bool fits = before == 0 || shape == memory_->fused.shape();
  for (size_t i = before; fits && i < touched.size(); ++i) {
    fits = std::none_of(touched.begin(), touched.begin() + static_cast<std::ptrdiff_t>(before),
                        [&](const Range& range) { return mixed(range, touched[i]); });
  }
  if (!fits) {
    memory_->fused.Finish();
    touched.erase(touched.begin(), touched.begin() + static_cast<std::ptrdiff_t>(before));
  }
  return shape;
}

/// Callbacks and debug information want values at once.
template <typename Dtype>
bool PlannedNet<Dtype>::IsWatched() const {
  return !net_->before_forward_.empty() || !net_->after_forward_.empty() ||
         !net_->before_backward_.empty() || !net_->after_backward_.empty() || net_->debug_info_;
}

template <typename Dtype>
void PlannedNet<Dtype>::FinishLoops() {
  memory_->fused.Finish();
  memory_->touched.clear();
}

/// Also what is captured or repeated, and the updates that the solver has gathered.
template <typename Dtype>
void PlannedNet<Dtype>::Finish() {
  captures_->End();
  FinishLoops();
  DeferredWork::FinishCurrent();
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::fused_loops() const {
  return memory_->fused.fused();
}

#define INSTANTIATE_FUSION(Dtype)                                               \
  template int64_t PlannedNet<Dtype>::fused_loops() const;                      \
  template FusedLoops::Shape PlannedNet<Dtype>::Fuse(const layrub::Step& step); \
  template bool PlannedNet<Dtype>::IsWatched() const;                           \
  template void PlannedNet<Dtype>::FinishLoops();                               \
  template void PlannedNet<Dtype>::Finish()
INSTANTIATE_FUSION(float);
INSTANTIATE_FUSION(double);

}  // namespace caffe
