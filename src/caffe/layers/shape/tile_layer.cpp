#include "caffe/layers/tile_layer.hpp"

#include "caffe/kernels/shape/tile.hpp"
#include "caffe/layer_axes.hpp"
#include "caffe/layers/derived.hpp"

namespace caffe {

template <typename Dtype>
void TileLayer<Dtype>::Reshape(const vector<Blob<Dtype>*>& bottom,
                               const vector<Blob<Dtype>*>& top) {
  const TileParameter& param = this->layer_param_.tile_param();
  const string& name = this->layer_param_.name();
  CHECK_GT(param.tiles(), 0) << "Layer " << name << ": Number of tiles must be positive.";
  CHECK(top[0] != bottom[0]) << "Layer " << name << ": Tile cannot run in place.";
  tiles_ = static_cast<unsigned int>(param.tiles());
  axis_ = static_cast<unsigned int>(bottom[0]->CanonicalAxisIndex(param.axis()));
  vector<int> shape = bottom[0]->shape();
  const int64_t tiled = int64_t{shape[axis_]} * tiles_;
  CHECK_LE(tiled, INT_MAX) << "Layer " << name << ": axis " << axis_ << " is too large.";
  shape[axis_] = static_cast<int>(tiled);
  top[0]->Reshape(shape);
  outer_dim_ = static_cast<unsigned int>(bottom[0]->count(0, static_cast<int>(axis_)));
  inner_dim_ = static_cast<unsigned int>(bottom[0]->count(static_cast<int>(axis_)));
}

template <typename Dtype>
MemoryTraits TileLayer<Dtype>::Traits(const vector<Blob<Dtype>*>& /*bottom*/,
                                      const vector<Blob<Dtype>*>& /*top*/,
                                      const vector<bool>& propagate_down) const {
  MemoryTraits traits;
  traits.declared = true;
  traits.inherited = IsDerived(*this);
  traits.capturable = true;
  traits.forward.reads = {BottomData(0)};
  traits.forward.writes = {TopData(0)};
  if (!propagate_down[0]) return traits;
  OperandVariant backward;
  backward.reads = {TopDiff(0)};
  backward.writes = {BottomDiff(0)};
  traits.backward.push_back(backward);
  return traits;
}

template <typename Dtype>
void TileLayer<Dtype>::ForwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& bottom,
                                 const vector<Blob<Dtype>*>& top) {
  kernels::TileForward(context, outer_dim_, inner_dim_, tiles_, Data(context, *bottom[0]),
                       MutableData(context, top[0]));
}

template <typename Dtype>
void TileLayer<Dtype>::BackwardOn(const DeviceContext& context, const vector<Blob<Dtype>*>& top,
                                  const vector<bool>& propagate_down,
                                  const vector<Blob<Dtype>*>& bottom) {
  if (!propagate_down[0]) return;
  kernels::TileBackward(context, outer_dim_, inner_dim_, tiles_, Diff(context, *top[0]),
                        MutableDiff(context, bottom[0]));
}

/// All dimensions except the repeated one.
static LayerRule TileRule(const LayerShapes& shapes) {
  const int axes = static_cast<int>(shapes.bottom[0].size()),
            axis = shapes.param.tile_param().axis();
  LayerRule rule;
  for (int d = 0; d < axes; ++d) {
    if (d != (axis < 0 ? axis + axes : axis))
      rule.axes.push_back(AxisOf(d == 0 ? "item" : "dim " + std::to_string(d), shapes, d));
  }
  return rule;
}

INSTANTIATE_CLASS(TileLayer);
REGISTER_LAYER_CLASS(Tile);
REGISTER_LAYER_AXES(Tile, TileRule);

}  // namespace caffe
