#ifndef CAFFE_NET_FLAT_NET_HPP_
#define CAFFE_NET_FLAT_NET_HPP_

#include <algorithm>
#include <string>
#include <vector>

#include "caffe/net.hpp"

namespace caffe {

/// A net as it runs under a plan: the nets inside its layers (Layer::inner_net) are unfolded, and
/// layers that compute in place on what the one before has made are fused with that
/// (Layer::FusedWith). Points into the net, which must outlive it; valid for the shapes and need of
/// gradients that the net had when it was made.
template <typename Dtype>
struct FlatNet {
  struct LayerEntry {
    Layer<Dtype>* layer = nullptr;
    string name;          ///< "ip1", in a net inside lstm1 "lstm1/unit_3"; fused "bn1+scale1+relu1"
    int owner = -1;       ///< in Net::layers: the layer that this is, begins with, or belongs to
    int last_owner = -1;  ///< the one that it ends with
    shared_ptr<Layer<Dtype>> fused;  ///< `layer`, where it is fused from several
    bool need_backward = false;
    vector<int> bottom, top;  ///< indices of `blobs`
    vector<bool> propagate_down;
    vector<int> params;  ///< by Layer::blobs: indices of `params`
  };
  struct BlobEntry {
    string name;
    Blob<Dtype>* blob;
    /// Of the same shape, without values, its channels as they lie in private blobs; null: those of
    /// an array.
    shared_ptr<Blob<Dtype>> in_blocks = {};
  };

  vector<LayerEntry> layers;
  vector<BlobEntry> blobs;  ///< those of Net::blobs first, at the same indices
  /// Net::learnable_params first, at the same indices, then the state of nets inside.
  vector<BlobEntry> params;

  /// As layers under the plan see them, but for the values.
  vector<Blob<Dtype>*> Blobs(const vector<int>& ids) const {
    vector<Blob<Dtype>*> result;
    for (int id : ids)
      result.push_back(blobs[id].in_blocks ? blobs[id].in_blocks.get() : blobs[id].blob);
    return result;
  }
  /// Of the first layers, as many as `with` has entries: those that write a blob together with one
  /// that has `value`, in place, get it, too.
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
  /// Whether some of what it is given lies in blocks.
  bool TouchesBlocks(const LayerEntry& layer) const {
    const auto in_blocks = [&](int id) { return blobs[id].in_blocks != nullptr; };
    return std::any_of(layer.bottom.begin(), layer.bottom.end(), in_blocks) ||
           std::any_of(layer.top.begin(), layer.top.end(), in_blocks);
  }
};

/// The layer is one of the net's own, or fused from such, and not inside one.
template <typename Dtype>
bool IsOutermost(const Net<Dtype>& net, const typename FlatNet<Dtype>::LayerEntry& layer) {
  return layer.layer == net.layers()[layer.owner].get() || layer.last_owner > layer.owner;
}

/// Nobody looks at blobs between two layers of the net: it has no callbacks but ParameterCallbacks,
/// and prints no debug information.
template <typename Dtype>
bool Unwatched(const Net<Dtype>& net);

/// Fuses layers (Layer::FusedWith) if `fuse` says so and the net is Unwatched.
template <typename Dtype>
FlatNet<Dtype> Flatten(const Net<Dtype>& net, bool fuse);

}  // namespace caffe

#endif  // CAFFE_NET_FLAT_NET_HPP_
