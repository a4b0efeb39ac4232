#include "layrub/report/report.hpp"

#include <limits>
#include <map>
#include <utility>

#include "layrub/commands.hpp"
#include "layrub/report/map_picture.hpp"
#include "layrub/report/memory_picture.hpp"
#include "layrub/report/page_data.hpp"
#include "layrub/report/page_files.hpp"
#include "layrub/report/svg.hpp"
#include "layrub/report/trace.hpp"

namespace layrub_tool {
namespace {

/// `page` with each {{mark}} replaced by what `values` has for it.
std::string Fill(const std::string& page, const std::map<std::string, std::string>& values) {
  std::string filled;
  size_t done = 0;
  for (size_t begin; (begin = page.find("{{", done)) != std::string::npos;) {
    const size_t end = page.find("}}", begin);
    filled += page.substr(done, begin - done) + values.at(page.substr(begin + 2, end - begin - 2));
    done = end + 2;
  }
  return filled + page.substr(done);
}

/// JSON that can be put into a <script> element: nothing in it ends the element.
std::string ScriptText(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string Page(const ReportInput& input, const Stays& stays, const std::string& memory,
                 const MapPicture& map) {
  const std::string chart = input.metrics.empty() ? ""
                                                  : "<script>\n/*\n" + std::string(kChartLicence) +
                                                        "*/\n" + kChartJs + "</script>\n";
  return Fill(kPageHtml, {{"net", EscapeXml(input.net_name)},
                          {"verdict", EscapeXml(input.verdict)},
                          {"style", kPageCss},
                          {"memory", memory},
                          {"map", map.svg},
                          {"data", ScriptText(PageData(input, stays, map.tensors))},
                          {"chart", chart},
                          {"script", kPageScript},
                          {"version", LAYRUB_VERSION}});
}

/// The name of the net that the pictures show.
std::string NetWords(const ReportInput& input) {
  return input.net_name + (input.with_tests ? ", training net" : "");
}

std::vector<MemoryLine> Lines(const ReportInput& input) {
  std::vector<MemoryLine> lines = {{"keep", input.keep_bytes}, {"floor", input.floor_bytes}};
  if (input.state_floor_bytes < input.floor_bytes)
    lines.push_back({"state floor", input.state_floor_bytes});
  if (input.budget.device != std::numeric_limits<int64_t>::max())
    lines.push_back({"budget", input.budget.device});
  return lines;
}

}  // namespace

std::vector<std::string> ReportFiles(const std::string& folder) {
  std::vector<std::string> files;
  for (const char* name : {"report.html", "memory.svg", "map.svg", "trace.json"})
    files.push_back(folder + "/" + name);
  return files;
}

void CheckReportFolder(const std::string& folder) {
  MakeFolder("report", folder);
  for (const std::string& file : ReportFiles(folder)) CheckWritable(file);
}

void WriteReport(const std::string& folder, const ReportInput& input) {
  const Stays stays = CollectStays(*input.graph, *input.plan);
  const layrub::Plan& plan = *input.plan;
  const std::string memory =
      DrawMemory("Device memory in use: " + NetWords(input) + " under " + plan.strategy,
                 *input.graph, stays, Lines(input));
  const MapPicture map =
      DrawMap("Which bytes hold what: " + NetWords(input), *input.graph,
              {{plan.strategy, stays, plan.device_bytes, plan.host_bytes, plan.spill_bytes}});
  WriteFile(folder + "/memory.svg", memory);
  WriteFile(folder + "/map.svg", map.svg);
  WriteFile(folder + "/trace.json", TraceJson(*input.graph, plan, input.predicted,
                                              input.measured ? &*input.measured : nullptr));
  WriteFile(folder + "/report.html", Page(input, stays, memory, map));
}

}  // namespace layrub_tool
