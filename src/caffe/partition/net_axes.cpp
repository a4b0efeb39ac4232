#include <algorithm>
#include <map>
#include <numeric>

#include "caffe/net.hpp"
#include "caffe/partition.hpp"
#include "caffe/util/shape_only.hpp"
#include "caffe/util/split_loss.hpp"

namespace caffe {
namespace {

using layrub::partition::Operation;
using layrub::partition::Parameter;
using layrub::partition::Value;

vector<int64_t> DimsOf(const Blob<float>& blob) {
  return vector<int64_t>(blob.shape().begin(), blob.shape().end());
}

int64_t BytesOf(const Blob<float>& blob) {
  return std::accumulate(blob.shape().begin(), blob.shape().end(), int64_t{sizeof(float)},
                         [](int64_t a, int64_t b) { return a * b; });
}

/// Returns the sizes of the parts joined along dimension `dim`, just one if nothing is joined
/// there.
vector<int64_t> JoinedAlong(const vector<vector<int64_t>>& joined, const vector<int64_t>& dims,
                            int dim) {
  const auto d = static_cast<size_t>(dim);
  if (d < joined.size() && !joined[d].empty()) return joined[d];
  return {dims[d]};
}

void SetJoined(const vector<int64_t>& sizes, int dim, const vector<int64_t>& dims,
               vector<vector<int64_t>>* joined) {
  if (sizes.size() < 2) return;
  const int64_t sum = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (dims[dim] % sum != 0) return;
  joined->resize(dims.size());
  vector<int64_t>& scaled = (*joined)[dim] = sizes;
  for (int64_t& size : scaled) size *= dims[dim] / sum;
}

/// Passes on the parts that are joined along the inputs of an axis to the outputs and parameters
/// along it, and reduces the extent of the axis to one that divides all of these parts.
void Join(LayerAxis* axis, Operation* op, vector<Value>* values) {
  vector<int64_t> sizes;
  bool agree = true;
  for (size_t i = 0; i < op->inputs.size(); ++i) {
    if (axis->inputs[i] < 0) continue;
    const Value& value = (*values)[op->inputs[i]];
    const vector<int64_t> of_input = JoinedAlong(value.joined, value.dims, axis->inputs[i]);
    if (axis->joins) {
      sizes.insert(sizes.end(), of_input.begin(), of_input.end());
    } else {
      agree = agree && (sizes.empty() || sizes == of_input);
      sizes = of_input;
    }
  }
  const bool gathers =
      std::count(axis->outputs.begin(), axis->outputs.end(), layrub::partition::kGathered) > 0;
  if (!agree || (gathers && sizes.size() > 1)) axis->extent = 1;
  if (sizes.size() > 1) {
    for (const int64_t size : sizes) axis->extent = std::gcd(axis->extent, size);
  } else {
    sizes = {1};
  }
  for (size_t i = 0; i < op->outputs.size(); ++i) {
    Value& value = (*values)[op->outputs[i]];
    if (axis->outputs[i] >= 0) SetJoined(sizes, axis->outputs[i], value.dims, &value.joined);
  }
  vector<int64_t> in_params;
  for (int i = 0; i < axis->arrays_in_params; ++i)
    in_params.insert(in_params.end(), sizes.begin(), sizes.end());
  for (size_t i = 0; i < op->params.size(); ++i) {
    Parameter& param = op->params[i];
    if (axis->params[i] >= 0) SetJoined(in_params, axis->params[i], param.dims, &param.joined);
  }
}

/// Whether all blobs and parameters have the dimensions of an axis. A scalar has none.
bool Exists(const LayerAxis& axis, const LayerShapes& shapes) {
  const auto within = [](const vector<int>& walked, const auto& dims) {
    for (size_t i = 0; i < walked.size(); ++i) {
      if (walked[i] >= static_cast<int>(dims[i].size())) return false;
    }
    return true;
  };
  return within(axis.inputs, shapes.bottom) && within(axis.outputs, shapes.top) &&
         within(axis.params, shapes.params);
}

double Seconds(const OperandVariant& variant, double bytes, const layrub::Machine& machine) {
  return std::max(std::max(variant.flops, bytes / sizeof(float)) / machine.flops,
                  bytes / machine.memory_bandwidth);
}

/// Estimates the seconds of a forward and a backward from the layer's traits.
double SecondsOf(const Net<float>& net, size_t index, const layrub::Machine& machine) {
  const auto &bottom = net.bottom_vecs()[index], &top = net.top_vecs()[index];
  Layer<float>& layer = *net.layers()[index];
  double bytes = 0, weights = 0;
  for (const Blob<float>* blob : bottom) bytes += static_cast<double>(BytesOf(*blob));
  for (const Blob<float>* blob : top) bytes += static_cast<double>(BytesOf(*blob));
  for (const auto& blob : layer.blobs()) weights += static_cast<double>(BytesOf(*blob));
  if (layer.inner_net().net) {
    // A matrix product for each step; the two leading dimensions are steps and items.
    OperandVariant variant;
    if (!bottom.empty()) variant.flops = 2.0 * weights / sizeof(float) * bottom[0]->count(0, 2);
    return 3 * Seconds(variant, bytes + weights, machine);
  }
  const MemoryTraits traits = layer.Traits(bottom, top, net.bottom_need_backward()[index]);
  double seconds = Seconds(traits.forward, bytes + weights, machine);
  if (!traits.backward.empty() && net.layer_need_backward()[index])
    seconds += Seconds(traits.backward.front(), 2 * (bytes + weights), machine);
  return seconds;
}

class AxesReader {
 public:
  AxesReader(const NetParameter& net, const Net<float>& whole, const layrub::Machine& machine)
      : whole_(whole), machine_(machine) {
    out_.net = net;
  }

  NetAxes Read() {
    size_t at = 0;
    for (LayerParameter& layer : *out_.net.mutable_layer()) {
      while (whole_.layer_names()[at] != layer.name() ||
             (string(whole_.layers()[at]->type()) == "Split" && layer.type() != "Split"))
        ++at;
      // The layer's own param specs, where the net gives none.
      const LayerParameter& own = whole_.layers()[at]->layer_param();
      for (int i = layer.param_size(); i < own.param_size(); ++i) *layer.add_param() = own.param(i);
      AddLayer(layer, at++);
    }
    return std::move(out_);
  }

 private:
  void AddLayer(const LayerParameter& layer, size_t index) {
    const auto &bottom = whole_.bottom_vecs()[index], &top = whole_.top_vecs()[index];
    LayerShapes shapes;
    shapes.param = layer;
    for (const Blob<float>* blob : bottom) shapes.bottom.push_back(DimsOf(*blob));
    for (const Blob<float>* blob : top) shapes.top.push_back(DimsOf(*blob));
    Operation op;
    op.name = layer.name();
    for (int i = 0; i < layer.bottom_size(); ++i) {
      const int value = value_of_.at(layer.bottom(i));
      op.inputs.push_back(value);
      if (whole_.bottom_need_backward()[index][i]) out_.network.values[value].gradient = true;
    }
    for (int i = 0; i < layer.top_size(); ++i) {
      op.outputs.push_back(static_cast<int>(out_.network.values.size()));
      value_of_[layer.top(i)] = op.outputs.back();
      out_.network.values.push_back({layer.top(i), DimsOf(*top[i]), {}, BytesOf(*top[i]), false});
    }
    AddParams(layer, index, &op);
    for (const Parameter& param : op.params) shapes.params.push_back(param.dims);
    op.seconds = SecondsOf(whole_, index, machine_);
    LayerRule rule = RuleOf(shapes);
    const bool weighed = std::any_of(layer.loss_weight().begin(), layer.loss_weight().end(),
                                     [](float weight) { return weight != 0; });
    if (weighed && !rule.axes.empty()) rule = NoAxes("its top counts as a loss");
    const size_t axes = rule.axes.size();
    std::erase_if(rule.axes, [&](const LayerAxis& axis) { return !Exists(axis, shapes); });
    if (rule.axes.empty() && axes > 0) rule = NoAxes("it works on a scalar");
    for (LayerAxis& axis : rule.axes) {
      Join(&axis, &op, &out_.network.values);
      op.axes.push_back(axis);
    }
    out_.rules.push_back(std::move(rule));
    out_.network.operations.push_back(std::move(op));
  }

  void AddParams(const LayerParameter& layer, size_t index, Operation* op) {
    const auto& blobs = whole_.layers()[index]->blobs();
    for (int i = 0; i < static_cast<int>(blobs.size()); ++i) {
      Parameter param{DimsOf(*blobs[i]), {}, BytesOf(*blobs[i]), false, -1};
      param.gradient = whole_.layers()[index]->param_propagate_down(i);
      if (i < layer.param_size() && !layer.param(i).name().empty()) {
        const auto number = static_cast<int>(shared_.size());
        param.shared = shared_.emplace(layer.param(i).name(), number).first->second;
      }
      op->params.push_back(std::move(param));
    }
  }

  const Net<float>& whole_;
  const layrub::Machine& machine_;
  NetAxes out_;
  std::map<string, int> value_of_;  ///< the newest value of each blob
  std::map<string, int> shared_;    ///< by ParamSpec::name
};

}  // namespace

NetAxes AxesOf(const NetParameter& net, const NetParameter& shapes,
               const layrub::Machine& machine) {
  NetParameter split = net, split_shapes = shapes;
  SplitLosses(&split);
  SplitLosses(&split_shapes);
  const ShapeOnlyScope shapes_only;
  const Net<float> whole(split_shapes);
  return AxesReader(split, whole, machine).Read();
}

}  // namespace caffe
