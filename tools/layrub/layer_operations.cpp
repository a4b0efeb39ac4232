// Assigns the operations of a graph to the layers of its net.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "caffe/layers/base_data_layer.hpp"
#include "layrub/base/algorithm_cost.hpp"
#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/time_report.hpp"

namespace layrub_tool {

using layrub::Graph;
using layrub::Op;
using layrub::OpKind;
using layrub::Variant;

namespace {

int64_t WorkspaceBytes(const Graph& graph, const layrub::Algorithm& algorithm) {
  return algorithm.workspace == layrub::kNone ? 0 : graph.tensors[algorithm.workspace].bytes;
}

/// Whether `flops` was counted. If not, it is one per value that the variant reads or writes.
bool FlopsKnown(const Variant& variant) {
  return variant.flops > 0 && variant.flops != variant.bytes_moved / double{sizeof(float)};
}

/// `name` as graphs spell it, without white space.
std::string Word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isspace(c); }, '_');
  return name;
}

/// Adds the parts of `engine`, which are joined by "+" if the operation combines several (Combine),
/// to the list `engines`.
void AddEngine(const std::string& engine, std::string* engines) {
  std::istringstream parts(engine);
  for (std::string part; std::getline(parts, part, '+');) {
    if ((", " + *engines + ", ").find(", " + part + ", ") != std::string::npos) continue;
    *engines += (engines->empty() ? "" : ", ") + part;
  }
}

}  // namespace

std::vector<LayerTime> LayersOf(const caffe::Net<float>& net) {
  std::vector<LayerTime> layers;
  for (size_t i = 0; i < net.layers().size(); ++i) {
    LayerTime layer;
    layer.name = net.layer_names()[i];
    layer.type = net.layers()[i]->type();
    const auto& bottom = net.bottom_vecs()[i];
    layer.source = bottom.empty() &&
                   net.layers()[i]->Traits(bottom, net.top_vecs()[i], {}).param_views.empty();
    layer.trained = net.phase() == caffe::TRAIN && net.layer_need_backward()[i];
    const auto* source =
        dynamic_cast<const caffe::BasePrefetchingDataLayer<float>*>(net.layers()[i].get());
    const caffe::LoadedData loaded = source ? source->loaded() : caffe::LoadedData();
    if (loaded.images > 0 && loaded.seconds > 0) {
      layer.images = net.top_vecs()[i][0]->shape(0);
      layer.loaded = static_cast<double>(loaded.images) / loaded.seconds;
    }
    layers.push_back(layer);
  }
  return layers;
}

void JoinFused(const Graph& graph, std::vector<LayerTime>* layers) {
  std::set<std::string> of_operations;
  for (const Op& op : graph.ops) of_operations.insert(LayerOf(op));
  std::vector<LayerTime> joined;
  for (size_t i = 0; i < layers->size(); ++i) {
    joined.push_back((*layers)[i]);
    LayerTime sum = (*layers)[i];
    const auto in_operation = [&] {
      const std::string name = Word(sum.name);
      const auto found = of_operations.lower_bound(name);
      return found != of_operations.end() && found->compare(0, name.size(), name) == 0;
    };
    for (size_t k = i; of_operations.count(Word(sum.name)) == 0 && in_operation();) {
      if (++k == layers->size()) break;
      const LayerTime& next = (*layers)[k];
      sum.name += "+" + next.name;
      sum.type += "+" + next.type;
      sum.trained = sum.trained || next.trained;
      if (of_operations.count(Word(sum.name)) == 0) continue;
      joined.back() = sum;
      i = k;
    }
  }
  *layers = std::move(joined);
}

std::vector<int> LayersOfOperations(const Graph& graph, const std::vector<LayerTime>& layers) {
  std::map<std::string, int> index;
  for (size_t i = 0; i < layers.size(); ++i)
    index.emplace(Word(layers[i].name), static_cast<int>(i));
  std::vector<int> owners(graph.ops.size(), layrub::kNone);
  int next = layrub::kNone;
  for (size_t o = graph.ops.size(); o-- > 0;) {
    const Op& op = graph.ops[o];
    if (op.kind == OpKind::kUpdate) continue;
    // A fill belongs to the layer of the operation after it. "lstm/unit_3/forward" and
    // "lstm/bn+lstm/scale/forward" belong to lstm.
    std::string name = op.kind == OpKind::kFill ? "" : op.name;
    if (!name.empty()) next = layrub::kNone;
    for (size_t cut = name.rfind('/'); cut != std::string::npos; cut = name.find_last_of("/+")) {
      name.resize(cut);
      const auto found = index.find(name);
      if (found == index.end()) continue;
      next = found->second;
      break;
    }
    owners[o] = next;
  }
  return owners;
}

std::vector<OperandChoice> DirectChoices(const Graph& graph) {
  std::vector<OperandChoice> choices;
  for (const Op& op : graph.ops) {
    std::vector<layrub::AlgorithmCost> costs;
    for (const layrub::Algorithm& algorithm : op.variants[0].algorithms)
      costs.push_back(
          {WorkspaceBytes(graph, algorithm), algorithm.seconds, algorithm.deterministic});
    const int granted = costs.empty() ? 0 : layrub::DefaultAlgorithm(costs);
    choices.push_back({0, std::max(granted, 0)});
  }
  return choices;
}

void AddOperations(const Graph& graph, const std::vector<OperandChoice>& choices,
                   std::vector<LayerTime>* layers) {
  const std::vector<int> owners = LayersOfOperations(graph, *layers);
  for (size_t o = 0; o < graph.ops.size(); ++o) {
    if (owners[o] == layrub::kNone) continue;
    LayerTime& layer = (*layers)[owners[o]];
    const Variant& variant = graph.ops[o].variants[choices[o].variant];
    layer.bytes += variant.bytes_moved;
    if (FlopsKnown(variant)) layer.flops += variant.flops;
    if (variant.algorithms.empty()) continue;
    const layrub::Algorithm& algorithm = variant.algorithms[choices[o].algorithm];
    layer.workspace = std::max(layer.workspace, WorkspaceBytes(graph, algorithm));
    AddEngine(algorithm.name, &layer.engine);
  }
  for (LayerTime& layer : *layers) {
    if (layer.engine.empty())
      layer.engine = caffe::Caffe::mode() == caffe::Caffe::GPU ? "gpu" : "cpu";
  }
}

}  // namespace layrub_tool
