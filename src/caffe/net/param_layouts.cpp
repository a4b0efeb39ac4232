#include "param_layouts.hpp"

#include <algorithm>
#include <unordered_map>

#include "caffe/util/layout_proto.hpp"

namespace caffe {

template <typename Dtype>
vector<layrub::Layout> ParamLayouts(const Net<Dtype>& net) {
  std::unordered_map<const Blob<Dtype>*, layrub::Layout> given;
  for (const auto& layer : net.layers()) {
    const LayerParameter& of = layer->layer_param();
    for (int i = 0; i < std::min(static_cast<int>(layer->blobs().size()), of.param_size()); ++i) {
      if (of.param(i).has_layout())
        given[layer->blobs()[i].get()] = FromProto(of.param(i).layout());
    }
  }
  vector<layrub::Layout> layouts;
  for (const Blob<Dtype>* param : net.learnable_params()) {
    const auto found = given.find(param);
    if (found != given.end()) {
      layouts.push_back(found->second);
    } else {
      layouts.emplace_back();
      layouts.back().dims.assign(param->shape().begin(), param->shape().end());
    }
  }
  return layouts;
}

template vector<layrub::Layout> ParamLayouts(const Net<float>& net);
template vector<layrub::Layout> ParamLayouts(const Net<double>& net);

}  // namespace caffe
