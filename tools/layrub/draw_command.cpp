#include <boost/algorithm/string/predicate.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "layrub/base/input.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/placement/check/check.hpp"
#include "layrub/report/map_picture.hpp"

namespace layrub_tool {

namespace {

template <typename Value>
Value ValueOrFail(const std::string& path, const layrub::Result<Value>& result) {
  if (!result.ok()) Fail(path + ": " + result.status().message);
  return result.value();
}

std::string Text(const std::string& path) {
  const layrub::Result<std::string> text = layrub::ReadText(path);
  if (!text.ok()) Fail(text.status().message);
  return text.value();
}

layrub::Graph ReadGraph(const std::string& path) {
  const layrub::Graph graph = ValueOrFail(path, layrub::GraphFromText(Text(path)));
  const layrub::Status valid = Validate(graph);
  if (!valid.ok()) Fail(path + ": " + valid.message);
  return graph;
}

/// Reads a plan and checks it. A plan that cannot run cannot be drawn.
layrub::Plan ReadPlan(const std::string& path, const layrub::Graph& graph) {
  const layrub::Plan plan = ValueOrFail(path, layrub::PlanFromText(Text(path), graph));
  const std::vector<std::string> objections = Check(graph, plan);
  if (!objections.empty()) Fail(path + " is not a plan that can run: " + objections[0]);
  return plan;
}

/// Refuses names of other picture formats, which would mislead the programs that open the file.
void CheckNamesSvg(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  for (const char* const other : {".png", ".jpg", ".jpeg", ".gif", ".pdf", ".html"}) {
    if (!boost::iequals(extension, other)) continue;
    const std::string svg = std::filesystem::path(path).replace_extension(".svg").string();
    Fail("--output=" + path.string() + ": 'draw' writes an SVG; name it " + svg +
         " and convert it to another format.");
  }
}

}  // namespace

int RunDraw(const std::vector<std::string>& arguments) {
  Require("draw", "output", FLAGS_output);
  if (const size_t plans = arguments.size() - 1; plans > MaxPlansPerMap()) {
    Fail("'draw' has room for " + std::to_string(MaxPlansPerMap()) + " plans side by side, not " +
         std::to_string(plans) + ": draw them in several pictures.");
  }
  CheckNamesSvg(FLAGS_output);
  CheckWritable(FLAGS_output);
  const layrub::Graph graph = ReadGraph(arguments[0]);
  std::vector<MapPlan> plans;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const layrub::Plan plan = ReadPlan(arguments[i], graph);
    plans.push_back({plan.strategy, CollectStays(graph, plan), plan.device_bytes, plan.host_bytes,
                     plan.spill_bytes});
  }
  WriteFile(FLAGS_output, DrawMap("Which bytes hold what: " + graph.name, graph, plans).svg);
  return kSuccess;
}

}  // namespace layrub_tool
