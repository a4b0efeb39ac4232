#include "caffe/synthetic_data.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace caffe {

namespace {

/// Returns the number of outputs per position if the layer specifies it, or 0.
int Outputs(const LayerParameter& layer) {
  uint32_t outputs = 0;
  if (layer.has_inner_product_param()) outputs = layer.inner_product_param().num_output();
  if (layer.has_convolution_param()) outputs = layer.convolution_param().num_output();
  if (layer.has_psroi_pooling_param()) outputs = layer.psroi_pooling_param().output_dim();
  if (layer.has_recurrent_param()) outputs = layer.recurrent_param().num_output();
  return static_cast<int>(outputs);
}

bool HasTop(const LayerParameter& layer, const string& name) {
  for (const string& top : layer.top())
    if (top == name) return true;
  return false;
}

/// Returns the number of classes of the scores in `blob`: the outputs of the nearest layer with
/// weights, going up from layer `before` along first bottoms; 1 if there is none. Returns two if
/// another axis may have become that of the classes.
int ClassesOf(const NetParameter& net, int before, string blob) {
  static const std::set<string> regrouped{"Reshape", "Slice"};
  bool two = false;
  for (int i = before - 1; i >= 0; --i) {
    const LayerParameter& layer = net.layer(i);
    if (!HasTop(layer, blob)) continue;
    if (Outputs(layer) > 0) return two ? std::min(Outputs(layer), 2) : Outputs(layer);
    two = two || regrouped.count(layer.type());
    if (layer.bottom_size() == 0) break;
    blob = layer.bottom(0);
  }
  return 1;
}

/// If the values of `layer`'s bottom `bottom` must be integers in [0, n), returns n. Returns 0 if
/// they may be any values.
int IndexRangeOfBottom(const NetParameter& net, int layer, int bottom) {
  static const std::set<string> labels{"Accuracy", "HingeLoss", "InfogainLoss",
                                       "MultinomialLogisticLoss", "SoftmaxWithLoss"};
  static const std::set<string> items{"BatchReindex", "PSROIPooling", "ROIPooling"};
  static const std::set<string> continued{"LSTM", "RNN"};
  const LayerParameter& param = net.layer(layer);
  if (bottom == 0)
    return param.type() == "Embed" ? static_cast<int>(param.embed_param().input_dim()) : 0;
  if (bottom > 1) return 0;
  if (labels.count(param.type())) return ClassesOf(net, layer, param.bottom(0));
  if (items.count(param.type())) return 1;  // item 0, which every batch has
  return continued.count(param.type()) ? 2 : 0;
}

/// Returns the smallest IndexRangeOfBottom of the readers of `name` from layer `from` on; 0 if all
/// take any values.
int NumbersOf(const NetParameter& net, const string& name, int from = 0) {
  static const std::set<string> views{"Crop",  "Flatten", "Permute", "Reshape",
                                      "Slice", "Split",   "Tile"};
  int fewest = 0;
  const auto add = [&](int numbers) {
    if (numbers > 0 && (fewest == 0 || numbers < fewest)) fewest = numbers;
  };
  for (int i = from; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    for (int k = 0; k < layer.bottom_size(); ++k) {
      if (layer.bottom(k) != name) continue;
      add(IndexRangeOfBottom(net, i, k));
      if (k > 0 || !views.count(layer.type())) continue;
      for (const string& top : layer.top()) add(NumbersOf(net, top, i + 1));
    }
  }
  return fewest;
}

/// Returns the number of classes of the label `name`: that of the scores with which it is read.
int Classes(const NetParameter& net, const string& name) {
  for (int i = 0; i < net.layer_size(); ++i) {
    const LayerParameter& layer = net.layer(i);
    if (layer.bottom_size() > 1 && layer.bottom(1) == name)
      return ClassesOf(net, i, layer.bottom(0));
  }
  return 1;
}

/// Whether the layer may be in a net of one of `phases`.
bool MayBeIn(const LayerParameter& layer, const set<Phase>& phases) {
  const auto allows = [&](const NetStateRule& rule) {
    return !rule.has_phase() || phases.count(rule.phase()) > 0;
  };
  return layer.include().empty() ||
         std::any_of(layer.include().begin(), layer.include().end(), allows);
}

}  // namespace

NetParameter WithSyntheticData(const NetParameter& param, const DataShapes& given,
                               const set<Phase>& phases) {
  NetParameter result = param;
  for (LayerParameter& layer : *result.mutable_layer()) {
    if (!ReadsOutside(layer) || !MayBeIn(layer, phases)) continue;
    DummyDataParameter dummy;
    dummy.set_refill(false);  // so that the random generator does not affect the times of a pass
    for (const vector<int>& shape : SourceTopShapes(layer, given)) {
      for (BlobShape* added = dummy.add_shape(); int dim : shape) added->add_dim(dim);
      FillerParameter* filler = dummy.add_data_filler();
      const bool first = dummy.shape_size() == 1;
      if (!first && layer.type() == "AnnotatedData") {
        filler->set_value(-1);
        LOG(WARNING) << "Layer " << layer.name()
                     << ": synthetic images hold no objects, so a loss finds none to learn from.";
        continue;
      }
      const string& top = layer.top(dummy.shape_size() - 1);
      int numbers = NumbersOf(param, top);
      if (numbers == 0 && first) {
        filler->set_type("gaussian");
        continue;
      }
      if (numbers == 0) numbers = Classes(param, top);
      filler->set_type("integer");
      filler->set_max(static_cast<float>(numbers - 1));
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
