#ifndef TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_
#define TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/report/stays.hpp"

namespace layrub_tool {

/// Runs that are shown as one, as that with the most bytes.
struct MemoryColumn {
  int begin = 0;
  int end = 0;
  int run = 0;
};

/// As many as the picture has room for: each run where that is possible.
std::vector<MemoryColumn> MemoryColumns(const Stays& stays);

/// Bytes to compare with.
struct MemoryLine {
  std::string name;
  int64_t bytes = 0;
};

/// A picture of the device bytes that live at each run, stacked by role, with the peak and `lines`.
/// What would make the rest too low to see is told in words.
std::string DrawMemory(const std::string& heading, const layrub::Graph& graph, const Stays& stays,
                       std::vector<MemoryLine> lines);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_
