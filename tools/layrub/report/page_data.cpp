#include "layrub/report/page_data.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "layrub/placement/cost/layer_costs.hpp"
#include "layrub/report/layout.hpp"
#include "layrub/report/memory_picture.hpp"

namespace layrub_tool {

using Json = nlohmann::ordered_json;
using layrub::Graph;
using layrub::kNone;
using layrub::Timeline;

namespace {

template <typename T>
Json OrNull(const std::optional<T>& known) {
  return known ? Json(*known) : Json();
}

/// Layers by number, in the order in which they first run.
class Layers {
 public:
  explicit Layers(const Graph& graph) {
    for (const layrub::Op& op : graph.ops) {
      const auto [entry, added] =
          numbers_.try_emplace(LayerOf(op), static_cast<int>(names_.size()));
      if (added) names_.push_back(entry->first);
      of_ops_.push_back(entry->second);
    }
    of_tensors_.assign(graph.tensors.size(), kNone);
    for (size_t i = 0; i < graph.ops.size(); ++i) {
      for (const layrub::Variant& variant : graph.ops[i].variants) {
        for (const layrub::TensorId t : variant.writes) Touch(t, of_ops_[i]);
        for (const layrub::TensorId t : variant.reads) Touch(t, of_ops_[i]);
        for (const layrub::Algorithm& algorithm : variant.algorithms)
          Touch(algorithm.workspace, of_ops_[i]);
      }
    }
  }

  const std::vector<std::string>& names() const { return names_; }
  int OfOp(layrub::OpId op) const { return of_ops_[op]; }
  int OfTensor(layrub::TensorId t) const { return of_tensors_[t]; }

 private:
  void Touch(layrub::TensorId t, int layer) {
    if (t != kNone && of_tensors_[t] == kNone) of_tensors_[t] = layer;
  }

  std::unordered_map<std::string, int> numbers_;
  std::vector<std::string> names_;
  std::vector<int> of_ops_;
  std::vector<int> of_tensors_;  ///< kNone: no operation uses the tensor
};

Json Summary(const ReportInput& input, const Stays& stays) {
  const bool limited = input.budget.device != std::numeric_limits<int64_t>::max();
  const Run peak = stays.peak < 0 ? Run() : stays.runs[stays.peak];
  return {{"net", input.net_name},
          {"strategy", input.plan->strategy},
          {"verdict", input.verdict},
          {"fits", input.fits},
          {"machine", input.machine_name},
          {"device_peak_bytes", input.plan->device_bytes},
          {"total_device_bytes", input.total_device_bytes},
          {"host_peak_bytes", input.plan->host_bytes},
          {"spill_bytes", input.plan->spill_bytes},
          {"keep_peak_bytes", input.keep_bytes},
          {"floor_bytes", input.floor_bytes},
          {"state_floor_bytes", input.state_floor_bytes},
          {"budget_bytes", limited ? Json(input.budget.device) : Json()},
          {"peak_bytes", peak.bytes},
          {"peak_op", peak.op == kNone ? "" : input.graph->ops[peak.op].name},
          {"peak_run", stays.peak},
          {"predicted_seconds", input.predicted.seconds},
          {"predicted_stalled", input.predicted.stalled},
          {"keep_seconds", OrNull(input.keep_seconds)},
          {"measured_seconds", input.measured ? Json(input.measured->seconds) : Json()},
          {"measured_stalled", input.measured ? Json(input.measured->stalled) : Json()},
          {"measured_device_bytes", OrNull(input.measured_device_bytes)},
          {"items", OrNull(input.items)},
          {"items_name", input.items_name}};
}

/// By number of the tensor: [name, layer, role, bytes, begin of its first stay, end of its last].
Json Tensors(const Graph& graph, const Stays& stays, const Layers& layers,
             const std::set<layrub::TensorId>& shown) {
  std::vector<int> begin(graph.tensors.size(), kNone), end(graph.tensors.size(), kNone);
  for (const Stay& stay : stays.stays) {
    if (begin[stay.tensor] == kNone) begin[stay.tensor] = stay.begin;
    end[stay.tensor] = std::max(end[stay.tensor], stay.end);
  }
  Json tensors = Json::object();
  for (const layrub::TensorId t : shown) {
    const layrub::Tensor& tensor = graph.tensors[t];
    tensors[std::to_string(t)] = {tensor.name,  layers.OfTensor(t), static_cast<int>(tensor.role),
                                  tensor.bytes, begin[t],           end[t]};
  }
  return tensors;
}

/// The names of operations, the operation of each run, and the numbers of the runs that recompute.
Json Operations(const Graph& graph, const Stays& stays) {
  Json names = Json::array(), runs = Json::array(), again = Json::array();
  for (const layrub::Op& op : graph.ops) names.push_back(op.name);
  for (size_t run = 0; run < stays.runs.size(); ++run) {
    runs.push_back(stays.runs[run].op);
    if (stays.runs[run].again) again.push_back(run);
  }
  return {{"names", names}, {"runs", runs}, {"again", again}, {"pass_end", stays.pass_end}};
}

/// Columns of the memory picture: [begin, run that is shown, bytes by role...].
Json Memory(const Stays& stays) {
  Json columns = Json::array();
  for (const MemoryColumn& column : MemoryColumns(stays)) {
    Json values = {column.begin, column.run};
    for (const int64_t bytes : stays.runs[column.run].by_role) values.push_back(bytes);
    columns.push_back(values);
  }
  return columns;
}

/// Rounded to nanoseconds, so that it prints with few digits.
double Rounded(double seconds) { return std::round(seconds * 1e9) / 1e9; }

/// Seconds that the operations of each layer take.
std::vector<double> ComputeSeconds(const ReportInput& input, const Timeline& timeline,
                                   const Layers& layers) {
  std::vector<double> seconds(layers.names().size());
  for (const layrub::Span& span : timeline.spans) {
    const layrub::Step& step = input.plan->steps[span.step];
    if (span.lane == layrub::Lane::kCompute && step.op != kNone)
      seconds[layers.OfOp(step.op)] += span.end - span.begin;
  }
  return seconds;
}

Json Division(const std::optional<ReportDivision>& division) {
  if (!division) return {};
  return {{"devices", division->devices},
          {"partition", division->partition},
          {"received_bytes", division->received_bytes},
          {"whole_seconds", division->whole_seconds}};
}

/// The axes along which the layer is divided; "" for a layer that moves data between devices.
std::string AxesOf(const std::optional<ReportDivision>& division, const std::string& layer) {
  if (!division) return "";
  const auto found = division->layers.find(layer);
  return found == division->layers.end() ? "" : found->second;
}

/// A row for each layer: its number, bytes and seconds of LayerCost, predicted and measured
/// seconds, and how it is divided.
Json LayerRows(const ReportInput& input, const Layers& layers) {
  std::unordered_map<std::string, const layrub::LayerCost*> costs;
  for (const layrub::LayerCost& cost : input.layers) costs.emplace(cost.layer, &cost);
  const std::vector<double> predicted = ComputeSeconds(input, input.predicted, layers);
  std::vector<double> measured;
  if (input.measured) measured = ComputeSeconds(input, *input.measured, layers);
  Json rows = Json::array();
  for (size_t i = 0; i < layers.names().size(); ++i) {
    const auto known = costs.find(layers.names()[i]);
    const layrub::LayerCost cost = known == costs.end() ? layrub::LayerCost() : *known->second;
    rows.push_back({i, cost.kept, cost.aliased, cost.offloaded, cost.recomputed, cost.traffic,
                    Rounded(cost.copying), Rounded(cost.exposed), Rounded(cost.again),
                    Rounded(predicted[i]), input.measured ? Json(Rounded(measured[i])) : Json(),
                    AxesOf(input.division, layers.names()[i])});
  }
  return rows;
}

}  // namespace

Json PageData(const ReportInput& input, const Stays& stays,
              const std::set<layrub::TensorId>& shown) {
  const Layers layers(*input.graph);
  Json roles = Json::array();
  for (int role = 0; role < kRoles; ++role)
    roles.push_back(RoleWords(static_cast<layrub::Role>(role)));
  return {{"summary", Summary(input, stays)},
          {"roles", roles},
          {"layer_names", layers.names()},
          {"tensors", Tensors(*input.graph, stays, layers, shown)},
          {"operations", Operations(*input.graph, stays)},
          {"memory", Memory(stays)},
          {"layers", LayerRows(input, layers)},
          {"division", Division(input.division)},
          {"metrics", input.metrics}};
}

}  // namespace layrub_tool
