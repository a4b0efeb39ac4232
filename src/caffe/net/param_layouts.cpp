#include "param_layouts.hpp"

#include <algorithm>

#include "caffe/util/layout_proto.hpp"

namespace caffe {

template <typename Dtype>
vector<layrub::Layout> ParamLayouts(const Net<Dtype>& net) {
  vector<layrub::Layout> layouts;
  for (const Blob<Dtype>* param : net.learnable_params()) {
    layouts.emplace_back();
    layouts.back().dims.assign(param->shape().begin(), param->shape().end());
    for (const auto& layer : net.layers()) {
      const LayerParameter& of = layer->layer_param();
      for (int i = 0; i < std::min(static_cast<int>(layer->blobs().size()), of.param_size()); ++i) {
        if (layer->blobs()[i].get() == param && of.param(i).has_layout())
          layouts.back() = FromProto(of.param(i).layout());
      }
    }
  }
  return layouts;
}

template vector<layrub::Layout> ParamLayouts(const Net<float>& net);
template vector<layrub::Layout> ParamLayouts(const Net<double>& net);

}  // namespace caffe
