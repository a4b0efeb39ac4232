#include "planned_feeds.hpp"

#include <algorithm>

#include "layrub/base/bytes.hpp"
#include "layrub/device/backend.hpp"

namespace caffe {

using layrub::Lane;
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

template <typename Dtype>
PlannedFeeds<Dtype>::PlannedFeeds(const Net<Dtype>& net, const PlannedGraph<Dtype>& graph,
                                  PlannedValues<Dtype>* values, const PlacementOptions& options)
    : graph_(graph), backend_(&values->backend()) {
  if (backend_->device() == nullptr || net.phase() != TRAIN) return;
  room_ = options.budget.device - options.budget.reserved - values->plan().device_bytes -
          options.shared_excess;
  const std::vector<layrub::Op>& ops = graph.net.graph.ops;
  for (size_t op = 0; op < ops.size(); ++op) {
    if (ops[op].kind == layrub::OpKind::kFeed) sources_.push_back({graph.net.op_owner[op]});
  }
}

template <typename Dtype>
PlannedFeeds<Dtype>::~PlannedFeeds() {
  for (Source& source : sources_) Drop(&source);
}

template <typename Dtype>
void PlannedFeeds<Dtype>::CopyAhead() {
  for (Source& source : sources_) {
    const NextFeed next = graph_.flat.layers[source.layer].layer->next_feed();
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
bool PlannedFeeds<Dtype>::MakeRoom(const NextFeed& next, Source* source) {
  const int64_t bytes = BytesOf(next);
  if (source->missed > 1) Drop(source);
  if (source->memory != nullptr || source->refused)
    return !source->refused && bytes <= source->bytes;
  if (bytes <= room_) source->memory = static_cast<char*>(backend_->Allocate(Tier::kDevice, bytes));
  source->refused = source->memory == nullptr;
  if (source->refused) return false;
  source->bytes = bytes;
  source->emptied = backend_->Record(Lane::kCompute);
  room_ -= bytes;
  LOG_IF(INFO, Caffe::root_solver())
      << "The next batch of '" << graph_.flat.layers[source->layer].name
      << "' is copied to the device ahead of time, beside the plan: " << layrub::FormatBytes(bytes)
      << ".";
  return true;
}

template <typename Dtype>
void PlannedFeeds<Dtype>::Drop(Source* source) {
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

template <typename Dtype>
bool PlannedFeeds<Dtype>::Take(int layer, uint64_t number, const NextFeed::Values& values,
                               void* to) {
  for (Source& source : sources_) {
    if (source.layer != layer || number == 0 || source.next.number != number) continue;
    for (size_t top = 0; top < source.places.size(); ++top) {
      const NextFeed::Values& there = source.next.tops[top];
      if (there.memory != values.memory || there.bytes != values.bytes) continue;
      backend_->Wait(Lane::kCompute, source.filled);
      backend_->Copy(Lane::kCompute, to, source.places[top], static_cast<int64_t>(values.bytes));
      source.emptied = backend_->Record(Lane::kCompute);
      ++taken_;
      return source.used = true;
    }
  }
  return false;
}

template class PlannedFeeds<float>;
template class PlannedFeeds<double>;

}  // namespace caffe
