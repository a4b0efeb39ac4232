#ifndef CAFFE_NET_NET_WIRING_HPP_
#define CAFFE_NET_NET_WIRING_HPP_

#include <map>
#include <set>
#include <string>

#include "caffe/net.hpp"

namespace caffe {

/// Makes the layers of a net, connects them by blob names, and finds which layers a backward pass
/// needs. A friend of Net, whose members it fills.
template <typename Dtype>
class NetWiring {
 public:
  /// `available_blobs`: blobs that no layer has read so far. `blob_name_to_idx`: the newest blob of
  /// each name. All arguments must outlive this.
  NetWiring(Net<Dtype>* net, set<string>* available_blobs, map<string, int>* blob_name_to_idx)
      : net_(*net), available_blobs_(available_blobs), blob_name_to_idx_(blob_name_to_idx) {}

  /// Makes all layers and sets them up in their order.
  void CreateLayers(const NetParameter& param);
  /// Finds which layers run backward, and for which of their bottoms.
  void FindBackward(bool force_backward);

  // These add one top, bottom or parameter of an existing layer. See Net's functions of the same
  // names.
  void AppendTop(const NetParameter& param, int layer_id, int top_id, bool has_name);
  int AppendBottom(const NetParameter& param, int layer_id, int bottom_id);
  void AppendParam(int layer_id, int param_id);

 private:
  void SetUpLayer(int layer_id);
  void ShareParam(int param, const ParamSpec& spec, int owner);

  Net<Dtype>& net_;
  set<string>* const available_blobs_;
  map<string, int>* const blob_name_to_idx_;
};

}  // namespace caffe

#endif  // CAFFE_NET_NET_WIRING_HPP_
