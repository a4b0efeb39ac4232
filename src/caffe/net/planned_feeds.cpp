// PlannedNet: how batches of sources reach a device.
#include <algorithm>

#include "layrub/base/bytes.hpp"
#include "layrub/device/backend.hpp"
#include "planned_memory.hpp"

namespace caffe {

using layrub::Lane;
using layrub::Step;
using layrub::StepKind;
using layrub::Tier;

namespace {

/// Returns the bytes of all values of `next`, each aligned as an allocation.
int64_t BytesOf(const NextFeed& next) {
  int64_t bytes = 0;
  for (const NextFeed::Values& values : next.tops)
    bytes += layrub::Aligned(static_cast<int64_t>(values.bytes));
  return bytes;
}

}  // namespace

/// Runs the forward of a feed. The layer may also do its work on the compute lane, like any other
/// layer. So that lane waits for everything that the load lane waits for, and the step ends when
/// both lanes are done.
template <typename Dtype>
void PlannedNet<Dtype>::RunFeed(int layer, const Step& step) {
  const int32_t before = executor_->current_step() - 1;
  if (before >= 0 && plan().steps[before].kind == StepKind::kWait)
    backend_->Wait(Lane::kCompute, backend_->Record(Lane::kLoad));
  memory_->fed = 0;
  RunForward(layer, step);
  DropCopies();
  if (memory_->fed < graph().ops[step.op].variants[0].writes.size())
    backend_->Wait(Lane::kLoad, backend_->Record(Lane::kCompute));
}

/// Finds the feeds whose next batch may be copied ahead: on a device, in the TRAIN phase.
template <typename Dtype>
void PlannedNet<Dtype>::FindSources(const PlacementOptions& options) {
  if (backend_->device() == nullptr || net_->phase_ != TRAIN) return;
  memory_->room =
      options.budget.device - options.budget.reserved - plan().device_bytes - options.shared_excess;
  const layrub::Graph& graph = memory_->net.graph;
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    if (graph.ops[op].kind == layrub::OpKind::kFeed)
      memory_->sources.push_back({memory_->net.op_owner[op]});
  }
}

/// Copies the next batch to the device during the backward pass that has just been queued, if the
/// batch is loaded and the budget leaves memory for it beside the plan. Its forward copies it from
/// there to its planned place, which holds the previous batch until the backward is over.
template <typename Dtype>
void PlannedNet<Dtype>::FeedAhead() {
  for (Source& source : memory_->sources) {
    const NextFeed next = memory_->flat.layers[source.layer].layer->next_feed();
    if (next.number == 0) continue;
    source.missed = source.next.number == 0 || source.used ? 0 : source.missed + 1;
    source.used = false;
    if (source.next.number == next.number || !MakeRoom(next, &source)) continue;
    backend_->Wait(Lane::kLoad, source.emptied);
    source.places.clear();
    char* place = source.memory;
    for (const NextFeed::Values& values : next.tops) {
      const auto bytes = static_cast<int64_t>(values.bytes);
      backend_->Copy(Lane::kLoad, place, values.memory, bytes);
      source.places.push_back(place);
      place += layrub::Aligned(bytes);
    }
    source.filled = backend_->Record(Lane::kLoad);
    source.next = next;
  }
}

/// Whether there is memory for `next`. A source that has not used the batch copied ahead twice gets
/// no memory any more: it has its own forward.
template <typename Dtype>
bool PlannedNet<Dtype>::MakeRoom(const NextFeed& next, Source* source) {
  const int64_t bytes = BytesOf(next);
  if (source->missed > 1) DropAhead(source);
  if (source->memory != nullptr || source->refused)
    return !source->refused && bytes <= source->bytes;
  if (bytes <= memory_->room)
    source->memory = static_cast<char*>(backend_->Allocate(Tier::kDevice, bytes));
  source->refused = source->memory == nullptr;
  if (source->refused) return false;
  source->bytes = bytes;
  source->emptied = backend_->Record(Lane::kCompute);
  memory_->room -= bytes;
  LOG_IF(INFO, Caffe::root_solver())
      << "The next batch of '" << memory_->flat.layers[source->layer].name
      << "' is copied to the device ahead of time, beside the plan: " << layrub::FormatBytes(bytes)
      << ".";
  return true;
}

template <typename Dtype>
void PlannedNet<Dtype>::DropAhead(Source* source) {
  source->refused = true;
  source->next = {};
  if (source->memory == nullptr) return;
  try {
    backend_->Synchronize();
  } catch (...) {
    // A wait has already thrown this error.
  }
  backend_->Free(Tier::kDevice, source->memory);
  source->memory = nullptr;
}

/// Copies `values` of batch `number` to `to` on the compute lane, if they are on the device.
template <typename Dtype>
bool PlannedNet<Dtype>::CopyFromAhead(int layer, uint64_t number, const NextFeed::Values& values,
                                      void* to) {
  for (Source& source : memory_->sources) {
    if (source.layer != layer || number == 0 || source.next.number != number) continue;
    for (size_t top = 0; top < source.places.size(); ++top) {
      const NextFeed::Values& there = source.next.tops[top];
      if (there.memory != values.memory || there.bytes != values.bytes) continue;
      backend_->Wait(Lane::kCompute, source.filled);
      backend_->Copy(Lane::kCompute, to, source.places[top], static_cast<int64_t>(values.bytes));
      source.emptied = backend_->Record(Lane::kCompute);
      ++memory_->fed_ahead;
      return source.used = true;
    }
  }
  return false;
}

template <typename Dtype>
int64_t PlannedNet<Dtype>::fed_ahead() const {
  return memory_->fed_ahead;
}

#define INSTANTIATE_FEEDS(Dtype)                                         \
  template int64_t PlannedNet<Dtype>::fed_ahead() const;                 \
  template void PlannedNet<Dtype>::RunFeed(int, const layrub::Step&);    \
  template void PlannedNet<Dtype>::FindSources(const PlacementOptions&); \
  template void PlannedNet<Dtype>::FeedAhead();                          \
  template void PlannedNet<Dtype>::DropAhead(Source*);                   \
  template bool PlannedNet<Dtype>::CopyFromAhead(int, uint64_t, const NextFeed::Values&, void*)
INSTANTIATE_FEEDS(float);
INSTANTIATE_FEEDS(double);

}  // namespace caffe
