#include "caffe/layers/shuffle_channel_layer.hpp"

#include "caffe/layer_axes.hpp"
#include "caffe/layers/fork_type.hpp"

namespace caffe {

template <typename Dtype>
typename ShuffleChannelLayer<Dtype>::AxisOrder ShuffleChannelLayer<Dtype>::OrderOf(
    const Blob<Dtype>& bottom) const {
  const string& name = this->layer_param_.name();
  const uint32_t group = this->layer_param_.shuffle_channel_param().group();
  CHECK_GE(bottom.num_axes(), 2) << "Layer " << name
                                 << ": the bottom has no channels, its shape is "
                                 << bottom.shape_string() << ".";
  const int channels = bottom.shape(1);
  CHECK(group > 0 && int64_t{group} <= channels && channels % int64_t{group} == 0)
      << "Layer " << name << ": " << channels << " channels cannot be divided into " << group
      << " groups of the same size.";
  const int groups = static_cast<int>(group);
  AxisOrder result;
  result.dims = {bottom.shape(0), groups, channels / groups, bottom.count(2)};
  result.order = groups > 1 ? vector<int>{0, 2, 1, 3} : vector<int>{0, 1, 2, 3};
  result.top = bottom.shape();
  return result;
}

static LayerRule ShuffleChannelRule(const LayerShapes& shapes) { return Axes({ItemAxis(shapes)}); }

INSTANTIATE_CLASS(ShuffleChannelLayer);
REGISTER_FORK_LAYER_CLASS(ShuffleChannel);
REGISTER_LAYER_AXES(ShuffleChannel, ShuffleChannelRule);

}  // namespace caffe
