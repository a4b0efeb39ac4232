// NetGraphBuilder: which values of a net have their channels in blocks.
#include <numeric>

#include "net_graph.hpp"

namespace caffe {
namespace {

/// Channels must be a multiple of this, so that they fill blocks of 8 and of 16.
constexpr int kChannels = 16;

/// Whether the layouts of blocks and of an array differ for this shape.
template <typename Dtype>
bool Differs(const Blob<Dtype>& blob) {
  return blob.num_axes() < 3 || blob.count(2) > 1;
}

/// Sets of blobs that must have the same layout.
struct Groups {
  struct Group {
    bool refused = false;
    int block = MemoryTraits::kAnyBlock;  ///< that layers prefer
    int64_t spared = 0;                   ///< bytes of copies that blocks save
  };

  explicit Groups(size_t blobs) : parent(blobs), groups(blobs) {
    std::iota(parent.begin(), parent.end(), 0);
  }
  int RootOf(int blob) const {
    while (parent[blob] != blob) blob = parent[blob];
    return blob;
  }
  Group& Of(int blob) { return groups[RootOf(blob)]; }
  void Unite(int a, int b) {
    a = RootOf(a), b = RootOf(b);
    if (a == b) return;
    parent[b] = a;
    groups[a].refused |= groups[b].refused;
    groups[a].spared += groups[b].spared;
    Want(a, groups[b].block);
  }
  void Want(int blob, int block) {
    Group& group = Of(blob);
    if (block == MemoryTraits::kAnyBlock) return;
    group.refused |= group.block > 1 && group.block != block;
    group.block = block;
  }
  /// Returns the block size, or 1 for an array.
  int Block(int blob) {
    const Group& group = Of(blob);
    return group.refused || group.spared <= 0 ? 1 : group.block;
  }

  std::vector<int> parent;
  std::vector<Group> groups;  ///< by root
};

}  // namespace

/// Whether `memory` belongs to someone else. Memory whose value a plan of this net has dropped does
/// not.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::OfOthers(const SyncedMemory& memory) const {
  return !net_.HasDropped(memory) && External(memory);
}

/// Puts a value in blocks, together with all values that must have the same layout, if all layers
/// that touch them accept blocks and this saves more bytes of copies than it causes. Only these
/// layers convert between the layouts, in pieces that stay in caches.
///
/// A layer without bottoms or without traits may end the plan in the middle of a pass, when its
/// tops get another shape. Layers that have run in blocks by then would have to run again
/// (LayersToRecompute), because their backward, which runs without the plan, may need
/// what they saved. That takes time, and is impossible if a bottom is gone. So no layer before such
/// a layer uses blocks.
template <typename Dtype>
void NetGraphBuilder<Dtype>::ChooseBlocks() {
  if (!optimizations_.channel_blocks || last_varying_ >= 0) return;
  Groups groups(flat_.blobs.size());
  for (size_t i = 0; i < flat_.blobs.size(); ++i) {
    const Blob<Dtype>& blob = *flat_.blobs[i].blob;
    const bool whole = blob.num_axes() >= 3 && blob.shape(1) % kChannels == 0 && blob.count() > 0;
    if (!whole || OfOthers(*blob.data()) || OfOthers(*blob.diff())) groups.Of(i).refused = true;
  }
  bool may_end = false;  // whether this layer or a later one may end the plan
  for (int i = static_cast<int>(flat_.layers.size()) - 1; i >= 0; --i) {
    const auto& layer = flat_.layers[i];
    const MemoryTraits& traits = traits_[i];
    may_end = may_end || layer.bottom.empty() || !traits.declared;
    bool weighed = false;  // whether a top is a loss, which the net itself reads
    for (size_t t = 0; t < layer.top.size(); ++t) weighed |= layer.layer->loss(t) != Dtype(0);
    std::vector<int> touched;
    for (const std::vector<int>* blobs : {&layer.bottom, &layer.top}) {
      for (const int blob : *blobs) {
        if (Differs(*flat_.blobs[blob].blob)) touched.push_back(blob);
      }
    }
    const bool able = !may_end && !weighed;
    // Layers look at their first bottom for the layout.
    const bool takes =
        traits.takes_blocks && !layer.bottom.empty() && Differs(*flat_.blobs[layer.bottom[0]].blob);
    for (const int blob : touched) {
      if (able && takes) {
        groups.Unite(touched[0], blob);
      } else if (able && traits.block_wanted != MemoryTraits::kNoBlocks) {
        groups.Want(blob, traits.block_wanted);
        groups.Of(blob).spared += traits.copies_saved * BlobBytes(blob);
      } else {
        groups.Of(blob).refused = true;
      }
    }
  }
  for (size_t i = 0; i < flat_.blobs.size(); ++i) {
    const int block = Differs(*flat_.blobs[i].blob) ? groups.Block(i) : 1;
    if (block == 1) continue;
    flat_.blobs[i].in_blocks.reset(new Blob<Dtype>(flat_.blobs[i].blob->shape()));
    flat_.blobs[i].in_blocks->set_channel_block(block);
  }
  for (size_t i = 0; i < flat_.layers.size(); ++i) {
    const auto& layer = flat_.layers[i];
    if (!flat_.TouchesBlocks(layer)) continue;
    traits_[i] = layer.layer->PlannedTraits(flat_.Blobs(layer.bottom), flat_.Blobs(layer.top),
                                            layer.propagate_down);
  }
}

template bool NetGraphBuilder<float>::OfOthers(const SyncedMemory&) const;
template bool NetGraphBuilder<double>::OfOthers(const SyncedMemory&) const;
template void NetGraphBuilder<float>::ChooseBlocks();
template void NetGraphBuilder<double>::ChooseBlocks();

}  // namespace caffe
