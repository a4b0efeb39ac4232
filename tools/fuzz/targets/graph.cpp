// graph.txt, and plan.txt for it: what scripts and time_plans read.
#include "layrub/placement/ir/graph.hpp"

#include <google/protobuf/text_format.h>

#include <stdexcept>
#include <string>

#include "caffe/net.hpp"
#include "caffe/util/shape_only.hpp"
#include "fuzz/target.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace layrub_fuzz {
namespace {

constexpr size_t kPlannedOps = 64;  ///< larger graphs are only read, not planned
constexpr char kPlanHeader[] = "layrub-plan 5\n";

template <typename Value>
Value ValueOf(const layrub::Result<Value>& result) {
  Require(result.status());
  return result.value();
}

layrub::Graph GraphOf(const std::string& text) {
  const layrub::Graph graph = ValueOf(layrub::GraphFromText(text));
  Require(layrub::Validate(graph));
  return graph;
}

/// The graph of kSmallNet, as text.
const std::string& SmallGraph() {
  static const std::string text = [] {
    caffe::NetParameter net;
    google::protobuf::TextFormat::ParseFromString(kSmallNet, &net);
    const caffe::ShapeOnlyScope shapes_only;
    return layrub::ToText(caffe::Net<float>(net).MemoryGraph(1, {"ip"}));
  }();
  return text;
}

layrub::Plan PlanOf(const layrub::Graph& graph, const std::string& strategy, int64_t budget) {
  return ValueOf(layrub::MakePlan(graph, layrub::Machine(), {.device = budget}, strategy));
}

void Prove(bool true_of_all, const char* what) {
  if (!true_of_all) throw std::logic_error(what);
}

void ReadGraph(const std::string& text) {
  const layrub::Graph graph = GraphOf(text);
  Prove(GraphOf(layrub::ToText(graph)) == graph, "a graph is another one after writing it");
  const int64_t floor = layrub::FloorBytes(graph);
  if (graph.ops.size() > kPlannedOps || floor > int64_t{1} << 50) return;
  const layrub::Plan plan = PlanOf(graph, "auto", layrub::Budget().device);
  Prove(layrub::Check(graph, plan).empty(), "a plan is not proved");
  Prove(plan.device_bytes >= layrub::StateFloorBytes(graph), "a plan takes less than any can");
}

/// Reads the text of a graph followed by that of a plan for it.
void ReadPlan(const std::string& text) {
  const size_t end = text.find(kPlanHeader);
  const bool whole = end != std::string::npos;
  const layrub::Graph graph = GraphOf(whole ? text.substr(0, end) : SmallGraph());
  const layrub::Plan plan = ValueOf(layrub::PlanFromText(whole ? text.substr(end) : text, graph));
  Prove(ValueOf(layrub::PlanFromText(layrub::ToText(plan, graph), graph)) == plan,
        "a plan is another one after writing it");
  if (!layrub::Check(graph, plan).empty()) return;
  layrub::FindPeak(graph, plan);
}

std::vector<std::string> GraphSeeds() { return {SmallGraph()}; }

std::vector<std::string> PlanSeeds() {
  const layrub::Graph graph = GraphOf(SmallGraph());
  const int64_t floor = layrub::FloorBytes(graph);
  std::vector<std::string> seeds;
  for (const std::string& strategy : layrub::StrategyNames()) {
    const auto plan = layrub::MakePlan(graph, layrub::Machine(), {.device = 2 * floor}, strategy);
    if (plan.ok()) seeds.push_back(SmallGraph() + layrub::ToText(plan.value(), graph));
  }
  return seeds;
}

std::vector<std::string> Words() {
  std::vector<std::string> words = {"layrub-graph 4",
                                    "layrub-plan 5",
                                    "graph ",
                                    "tensor ",
                                    "op ",
                                    "variant ",
                                    "reads ",
                                    "writes ",
                                    "alias ",
                                    "algorithm ",
                                    "flops=",
                                    "bytes=",
                                    "seconds=",
                                    "deterministic=",
                                    " name=",
                                    "blob=",
                                    " state",
                                    " keep",
                                    " host",
                                    " feed",
                                    " fill",
                                    " compute",
                                    " update",
                                    " forward",
                                    " backward",
                                    " repeatable",
                                    "strategy ",
                                    "device_bytes ",
                                    "host_bytes ",
                                    "spill_bytes ",
                                    "pass_end ",
                                    "readable ",
                                    "home ",
                                    " device ",
                                    " host ",
                                    " variant=",
                                    " algorithm=",
                                    " on ",
                                    " for ",
                                    " recompute",
                                    " save ",
                                    " load ",
                                    "9223372036854775807",
                                    "-1",
                                    "1e308",
                                    "nan",
                                    "inf"};
  for (int i = 0; i < 6; ++i)
    words.push_back(std::string(" ") + layrub::Name(static_cast<layrub::StepKind>(i)) + " ");
  for (int i = 0; i < 8; ++i) words.push_back(layrub::Name(static_cast<layrub::Role>(i)));
  return words;
}

const Registration graph({"graph", &ReadGraph, &GraphSeeds, &Words});
const Registration plan({"plan", &ReadPlan, &PlanSeeds, &Words});

}  // namespace
}  // namespace layrub_fuzz
