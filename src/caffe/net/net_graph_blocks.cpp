// NetGraphBuilder: which values of a net have their channels in blocks.
#include <numeric>

#include "net_graph.hpp"

namespace caffe {
namespace {

/// Blocks of any size have whole numbers of channels then.
constexpr int kChannels = 16;

/// Whether blocks and an array differ.
template <typename Dtype>
bool Differs(const Blob<Dtype>& blob) {
  return blob.num_axes() < 3 || blob.count(2) > 1;
}

/// Sets of blobs that have one layout.
struct Groups {
  struct Group {
    bool refused = false;
    int block = MemoryTraits::kAnyBlock;  ///< that layers want
    int64_t spared = 0;                   ///< bytes of copies
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
  /// 1: an array.
  int Block(int blob) {
    const Group& group = Of(blob);
    return group.refused || group.spared <= 0 ? 1 : group.block;
  }

  std::vector<int> parent;
  std::vector<Group> groups;  ///< by root
};

}  // namespace

/// Whether `memory` is somebody else's. What a plan of this net has given up is not.
template <typename Dtype>
bool NetGraphBuilder<Dtype>::OfOthers(const SyncedMemory& memory) const {
  const auto dropped = net_.dropped_.find(&memory);
  const bool gone = dropped != net_.dropped_.end() && memory.binding() &&
                    memory.binding()->resolver == dropped->second.get();
  return !gone && External(memory);
}

/// A value lies in blocks, with all whose layout is tied to its own, where all layers that touch it
/// take them and more bytes of copies are spared than made. Nothing is copied from one layout to
/// the other but by such layers, which do it in pieces that stay in caches.
///
/// A layer may end the plan in the middle of a pass, by another shape of its tops: one without
/// bottoms, or without traits. What has run by then in blocks would have to run again
/// (PlannedNet::LayersToRunAgain): it may have saved something for its backward, which then goes
/// without the plan. That takes time, and cannot be where a bottom is gone. So no layer before such
/// a one has blocks.
template <typename Dtype>
void NetGraphBuilder<Dtype>::LayInBlocks() {
  if (!optimizations_.channel_blocks || last_varying_ >= 0) return;
  Groups groups(flat_.blobs.size());
  for (size_t i = 0; i < flat_.blobs.size(); ++i) {
    const Blob<Dtype>& blob = *flat_.blobs[i].blob;
    const bool whole = blob.num_axes() >= 3 && blob.shape(1) % kChannels == 0 && blob.count() > 0;
    if (!whole || OfOthers(*blob.data()) || OfOthers(*blob.diff())) groups.Of(i).refused = true;
  }
  bool may_end = false;  // the plan, at this layer or a later one
  for (int i = static_cast<int>(flat_.layers.size()) - 1; i >= 0; --i) {
    const auto& layer = flat_.layers[i];
    const MemoryTraits& traits = traits_[i];
    may_end = may_end || layer.bottom.empty() || !traits.declared;
    bool weighed = false;  // a loss, of which the net itself reads the top
    for (size_t t = 0; t < layer.top.size(); ++t) weighed |= layer.layer->loss(t) != Dtype(0);
    std::vector<int> touched;
    for (const std::vector<int>* blobs : {&layer.bottom, &layer.top}) {
      for (const int blob : *blobs) {
        if (Differs(*flat_.blobs[blob].blob)) touched.push_back(blob);
      }
    }
    const bool able = !may_end && !weighed;
    // Bodies ask the first bottom how channels lie.
    const bool takes =
        traits.takes_blocks && !layer.bottom.empty() && Differs(*flat_.blobs[layer.bottom[0]].blob);
    for (const int blob : touched) {
      if (able && takes) {
        groups.Unite(touched[0], blob);
      } else if (able && traits.block_wanted != MemoryTraits::kNoBlocks) {
        groups.Want(blob, traits.block_wanted);
        groups.Of(blob).spared += traits.copies_spared * BlobBytes(blob);
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
template void NetGraphBuilder<float>::LayInBlocks();
template void NetGraphBuilder<double>::LayInBlocks();

}  // namespace caffe
