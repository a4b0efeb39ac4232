// What the operations of a net's layers are, by its graph.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "caffe/layers/base_data_layer.hpp"
#include "layrub/base/workspace.hpp"
#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/time_report.hpp"

namespace layrub_tool {

using layrub::Form;
using layrub::Graph;
using layrub::Op;
using layrub::OpKind;

namespace {

int64_t ScratchBytes(const Graph& graph, const layrub::Scratch& scratch) {
  return scratch.tensor == layrub::kNone ? 0 : graph.tensors[scratch.tensor].bytes;
}

/// A form of which no count is known has one operation for each value that it touches.
bool FlopsKnown(const Form& form) {
  return form.flops > 0 && form.flops != form.bytes_moved / double{sizeof(float)};
}

/// `name` as graphs have it: one word.
std::string Word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isspace(c); }, '_');
  return name;
}

/// Names of an operation of several passes are joined by "+" (Combine).
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
    // What is zeroed is for the operation after it. "lstm/unit_3/forward" is lstm's, and
    // "lstm/bn+lstm/scale/forward".
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
    std::vector<layrub::WorkspaceCost> costs;
    for (const layrub::Scratch& scratch : op.forms[0].scratch)
      costs.push_back({ScratchBytes(graph, scratch), scratch.seconds, scratch.deterministic});
    const int granted = costs.empty() ? 0 : layrub::GrantedWorkspace(costs);
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
    const Form& form = graph.ops[o].forms[choices[o].form];
    layer.bytes += form.bytes_moved;
    if (FlopsKnown(form)) layer.flops += form.flops;
    if (form.scratch.empty()) continue;
    const layrub::Scratch& scratch = form.scratch[choices[o].scratch];
    layer.workspace = std::max(layer.workspace, ScratchBytes(graph, scratch));
    AddEngine(scratch.name, &layer.engine);
  }
  for (LayerTime& layer : *layers) {
    if (layer.engine.empty())
      layer.engine = caffe::Caffe::mode() == caffe::Caffe::GPU ? "gpu" : "cpu";
  }
}

}  // namespace layrub_tool
