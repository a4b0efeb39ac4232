#include <algorithm>

#include "caffe/net.hpp"
#include "caffe/partition.hpp"

namespace caffe {

layrub::Layout FromProto(const Layout& proto) {
  layrub::Layout layout;
  layout.dims.assign(proto.dim().begin(), proto.dim().end());
  for (const Layout::Level& level : proto.level()) {
    layout.levels.push_back(level.has_cut()          ? layrub::Cut(level.cut())
                            : level.part()           ? layrub::Part()
                            : level.part_gradient()  ? layrub::PartGradient()
                                                     : layrub::Whole());
  }
  for (const Layout::Joined& joined : proto.joined()) {
    layout.joined.resize(layout.dims.size());
    layout.joined.at(joined.dim()).assign(joined.size().begin(), joined.size().end());
  }
  return layout;
}

Layout ToProto(const layrub::Layout& layout) {
  Layout proto;
  for (const int64_t dim : layout.dims) proto.add_dim(dim);
  for (const layrub::Level& level : layout.levels) {
    Layout::Level* const out = proto.add_level();
    if (level.share == layrub::Share::kCut) out->set_cut(level.dim);
    if (level.share == layrub::Share::kPart) out->set_part(true);
    if (level.share == layrub::Share::kPartGradient) out->set_part_gradient(true);
  }
  for (size_t d = 0; d < layout.joined.size(); ++d) {
    if (layout.joined[d].empty()) continue;
    Layout::Joined* const joined = proto.add_joined();
    joined->set_dim(static_cast<int>(d));
    for (const int64_t size : layout.joined[d]) joined->add_size(size);
  }
  return proto;
}

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
