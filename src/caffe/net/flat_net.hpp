#ifndef CAFFE_NET_FLAT_NET_HPP_
#define CAFFE_NET_FLAT_NET_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/placement.hpp"

namespace caffe {

/// A net as it runs under a plan. The nets inside its layers (Layer::inner_net) are unfolded, and a
/// layer that works in place on the output of the layer before may be fused with that
/// (Layer::FusedWith). Points into the net, which must outlive it. Valid as long as the net's
/// shapes and its need of gradients do not change.
template <typename Dtype>
struct FlatNet {
  struct LayerEntry {
    Layer<Dtype>* layer = nullptr;
    string name;     ///< "ip1"; in a net inside lstm1 "lstm1/unit_3"; if fused "bn1+scale1+relu1"
    int owner = -1;  ///< index in Net::layers of the layer that this is, begins with or belongs to
    int last_owner = -1;           ///< the layer that it ends with
    shared_ptr<Layer<Dtype>> own;  ///< owns `layer` if it is made for the plan
    bool sliced = false;           ///< it computes, cuts or joins parts of the batch (slices.hpp)
    bool need_backward = false;
    vector<int> bottom, top;  ///< indices of `blobs`
    vector<bool> propagate_down;
    vector<int> params;  ///< by Layer::blobs: indices of `params`
  };
  struct BlobEntry {
    string name;
    Blob<Dtype>* blob;
    /// A blob of the same shape, without values, with the channel layout of the private blobs. Null
    /// if that is the layout of an array.
    shared_ptr<Blob<Dtype>> in_blocks = {};
    shared_ptr<Blob<Dtype>> own = {};  ///< owns `blob` if it is a part of a blob of the net
  };

  vector<LayerEntry> layers;
  /// Those of Net::blobs first, at the same indices. No layer writes one of which only parts exist.
  vector<BlobEntry> blobs;
  /// Net::learnable_params first, at the same indices, then the state of nets inside.
  vector<BlobEntry> params;
  int slices = 1;  ///< the number of parts of sliced layers; 1: there are none

  /// Returns the blobs as layers see them under the plan, but without values.
  vector<Blob<Dtype>*> Blobs(const vector<int>& ids) const {
    vector<Blob<Dtype>*> result;
    for (int id : ids)
      result.push_back(blobs[id].in_blocks ? blobs[id].in_blocks.get() : blobs[id].blob);
    return result;
  }
  /// Considers the first with->size() layers. If a layer has `value`, all layers that write the
  /// same blob, in place, get it, too.
  void Spread(bool value, std::vector<bool>* with) const {
    std::vector<bool> written(blobs.size());
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < with->size(); ++i) {
        const vector<int>& top = layers[i].top;
        const auto in = [&](int blob) { return written[blob]; };
        if (std::any_of(top.begin(), top.end(), in)) (*with)[i] = value;
        if ((*with)[i] != value || std::all_of(top.begin(), top.end(), in)) continue;
        for (int blob : top) written[blob] = true;
        changed = true;
      }
    }
  }
  /// Whether a bottom or top of the layer lies in blocks.
  bool TouchesBlocks(const LayerEntry& layer) const {
    const auto in_blocks = [&](int id) { return blobs[id].in_blocks != nullptr; };
    return std::any_of(layer.bottom.begin(), layer.bottom.end(), in_blocks) ||
           std::any_of(layer.top.begin(), layer.top.end(), in_blocks);
  }
};

/// Whether the layer is one of the net's own or made from these, not one inside another layer.
template <typename Dtype>
bool IsOutermost(const Net<Dtype>& net, const typename FlatNet<Dtype>::LayerEntry& layer) {
  return layer.layer == net.layers()[layer.owner].get() || layer.last_owner > layer.owner ||
         layer.sliced;
}

/// Whether nothing reads blobs between two layers of the net: it has no callbacks except
/// ParameterCallbacks, and prints no debug information.
template <typename Dtype>
bool Unwatched(const Net<Dtype>& net);

/// Unfolds the net. If the net is Unwatched, also slices layers (SliceLayers) and, if `fuse`, fuses
/// them (Layer::FusedWith).
template <typename Dtype>
FlatNet<Dtype> Flatten(const Net<Dtype>& net, bool fuse, const vector<string>& keep = {},
                       const Slicing& slicing = {});

}  // namespace caffe

#endif  // CAFFE_NET_FLAT_NET_HPP_
