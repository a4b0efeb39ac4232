#include "caffe/layers/reorg_layer.hpp"

#include "caffe/layer_axes.hpp"
#include "caffe/layers/fork_type.hpp"

#include <climits>

namespace caffe {

template <typename Dtype>
typename ReorgLayer<Dtype>::AxisOrder ReorgLayer<Dtype>::OrderOf(const Blob<Dtype>& bottom) const {
  const ReorgParameter& param = this->layer_param_.reorg_param();
  const string& name = this->layer_param_.name();
  CHECK_EQ(bottom.num_axes(), 4) << "Layer " << name
                                 << ": the bottom must have four axes, not shape "
                                 << bottom.shape_string() << ".";
  CHECK(param.stride() > 0 && param.stride() <= SHRT_MAX)
      << "Layer " << name << ": reorg_param.stride must be from 1 to " << SHRT_MAX << ", not "
      << param.stride() << ".";
  const int n = bottom.shape(0), c = bottom.shape(1), h = bottom.shape(2), w = bottom.shape(3);
  const int s = static_cast<int>(param.stride());
  CHECK_EQ(c % (s * s), 0) << "Layer " << name << ": " << c
                           << " channels cannot be divided by stride * stride = " << s * s << ".";
  AxisOrder result;
  if (param.reverse()) {
    CHECK(int64_t{h} * s <= INT_MAX && int64_t{w} * s <= INT_MAX)
        << "Layer " << name << ": shape " << bottom.shape_string() << " is too large for stride "
        << s << ".";
    result.dims = {n, s, s, c / (s * s), h, w};
    result.order = {0, 3, 4, 1, 5, 2};
    result.top = {n, c / (s * s), h * s, w * s};
  } else {
    CHECK(h % s == 0 && w % s == 0)
        << "Layer " << name << ": height and width of shape " << bottom.shape_string()
        << " cannot be divided by stride " << s << ".";
    CHECK_LE(int64_t{c} * s * s, INT_MAX) << "Layer " << name << ": shape " << bottom.shape_string()
                                          << " is too large for stride " << s << ".";
    result.dims = {n, c / (s * s), h, s, w, s};
    result.order = {0, 3, 5, 1, 2, 4};
    result.top = {n, c * s * s, h / s, w / s};
  }
  if (s == 1) result.order = {0, 1, 2, 3, 4, 5};
  return result;
}

static LayerRule ReorgRule(const LayerShapes& shapes) { return Axes({ItemAxis(shapes)}); }

INSTANTIATE_CLASS(ReorgLayer);
REGISTER_FORK_LAYER_CLASS(Reorg);
REGISTER_LAYER_AXES(Reorg, ReorgRule);

}  // namespace caffe
