#include "caffe/util/synthetic_data.hpp"

#include <vector>

namespace caffe {

namespace {

/// num_output of a layer with weights, or 0.
int Outputs(const LayerParameter& layer) {
  uint32_t outputs = 0;
  if (layer.has_inner_product_param()) outputs = layer.inner_product_param().num_output();
  if (layer.has_convolution_param()) outputs = layer.convolution_param().num_output();
  if (layer.has_recurrent_param()) outputs = layer.recurrent_param().num_output();
  return static_cast<int>(outputs);
}

bool HasTop(const LayerParameter& layer, const string& name) {
  for (const string& top : layer.top())
    if (top == name) return true;
  return false;
}

/// Outputs of the last layer with weights on the way to `blob`, going up from layer `before` along
/// first bottoms; 1 if there is none.
int ClassesOf(const NetParameter& net, int before, string blob) {
  for (int i = before - 1; i >= 0; --i) {
    const LayerParameter& layer = net.layer(i);
    if (!HasTop(layer, blob)) continue;
    if (Outputs(layer) > 0) return Outputs(layer);
    if (layer.bottom_size() == 0) break;
    blob = layer.bottom(0);
  }
  return 1;
}

/// How many classes the label `name` tells apart: as many as there are scores beside it.
int Classes(const NetParameter& net, const string& name) {
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    if (layer.bottom_size() > 1 && layer.bottom(1) == name)
      return ClassesOf(net, i, layer.bottom(0));
  }
  return 1;
}

}  // namespace

NetParameter WithSyntheticData(const NetParameter& param, const DataShapes& given) {
  NetParameter result = param;
  for (LayerParameter& layer : *result.mutable_layer()) {
    if (!ReadsOutside(layer)) continue;
    DummyDataParameter dummy;
    dummy.set_refill(false);  // the times of a pass are not to be those of a random generator
    for (const vector<int>& shape : SourceTopShapes(layer, given)) {
      for (BlobShape* added = dummy.add_shape(); int dim : shape) added->add_dim(dim);
      FillerParameter* filler = dummy.add_data_filler();
      if (dummy.shape_size() == 1) {
        filler->set_type("gaussian");
        continue;
      }
      if (layer.type() == "AnnotatedData") {
        filler->set_value(-1);
        continue;
      }
      filler->set_type("integer");
      filler->set_max(static_cast<float>(Classes(param, layer.top(dummy.shape_size() - 1)) - 1));
    }
    layer.set_type("DummyData");
    *layer.mutable_dummy_data_param() = dummy;
  }
  return result;
}

int SetBatchSize(int batch, bool only_shapes_matter, NetParameter* param) {
  int sources = 0;
  for (LayerParameter& layer : *param->mutable_layer()) {
    if (!ReadsOutside(layer)) continue;
    if (only_shapes_matter || HasBatchSize(layer)) ++sources;
    SetSourceBatch(batch, &layer);
  }
  return sources;
}

}  // namespace caffe
