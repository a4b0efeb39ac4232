#include "caffe/layers/reshape_layer.hpp"

#include "caffe/layer_axes.hpp"

namespace caffe {

template <typename Dtype>
vector<int> ReshapeLayer<Dtype>::ViewShape(const Blob<Dtype>& bottom) const {
  const ReshapeParameter& param = this->layer_param_.reshape_param();
  const string prefix = "Layer " + this->layer_param_.name() + ": ";
  const int axes = bottom.num_axes();
  const int begin = param.axis() >= 0 ? param.axis() : axes + param.axis() + 1;
  CHECK(begin >= 0 && begin <= axes)
      << prefix << "axis " << param.axis() << " out of range for a bottom of " << axes << " axes.";
  CHECK_GE(param.num_axes(), -1) << prefix << "num_axes must be >= 0, or -1 for all";
  CHECK_LE(param.num_axes(), axes - begin)
      << prefix << "axis + num_axes exceeds the number of axes of the bottom, " << axes << ".";
  const int end = param.num_axes() == -1 ? axes : begin + param.num_axes();

  vector<int> shape(bottom.shape().begin(), bottom.shape().begin() + begin);
  int inferred = -1;
  for (int i = 0; i < param.shape().dim_size(); ++i) {
    const int64_t dim = param.shape().dim(i);
    CHECK(dim >= -1 && dim <= INT_MAX) << prefix << "a dimension cannot be " << dim << ".";
    if (dim == -1) {
      CHECK_EQ(inferred, -1) << prefix << "new shape contains multiple -1 dims; at most a single "
                             << "(1) value of -1 may be specified";
      inferred = begin + i;
    }
    CHECK(dim != 0 || begin + i < axes)
        << prefix << "new shape contains a 0, but there was no corresponding bottom axis to copy";
    shape.push_back(dim == 0 ? bottom.shape(begin + i) : static_cast<int>(dim));
  }
  shape.insert(shape.end(), bottom.shape().begin() + end, bottom.shape().end());
  if (inferred == -1) return shape;

  shape[inferred] = 1;
  const int others = Blob<Dtype>(shape).count();
  CHECK(others > 0 && bottom.count() % others == 0)
      << prefix << "bottom count (" << bottom.count()
      << ") must be divisible by the product of the specified dimensions (" << others << ")";
  shape[inferred] = bottom.count() / others;
  return shape;
}

/// Items, if they remain the first dimension.
static LayerRule ReshapeRule(const LayerShapes& shapes) {
  const ReshapeParameter& param = shapes.param.reshape_param();
  if (shapes.bottom[0].empty() || shapes.top[0].empty() || shapes.bottom[0][0] != shapes.top[0][0])
    return NoAxes("its first dimension changes");
  LayerAxis item = ItemAxis(shapes);
  const bool named = param.axis() == 0 && param.shape().dim_size() > 0 && param.shape().dim(0) > 0;
  if (named) {
    item.narrow = [](LayerParameter* layer, int parts) {
      BlobShape* const shape = layer->mutable_reshape_param()->mutable_shape();
      shape->set_dim(0, shape->dim(0) / parts);
    };
  }
  return Axes({item});
}

INSTANTIATE_CLASS(ReshapeLayer);
REGISTER_LAYER_CLASS(Reshape);
REGISTER_LAYER_AXES(Reshape, ReshapeRule);

}  // namespace caffe
