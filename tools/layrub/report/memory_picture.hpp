#ifndef TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_
#define TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_

#include <cstdint>
#include <string>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/report/stays.hpp"

namespace layrub_tool {

/// Runs [begin, end), drawn as one column that shows `run`, the one with the most bytes.
struct MemoryColumn {
  int begin = 0;
  int end = 0;
  int run = 0;
};

/// As many columns as the picture has space for; one for each run if possible.
std::vector<MemoryColumn> MemoryColumns(const Stays& stays);

/// A horizontal line at a number of bytes, to compare with.
struct MemoryLine {
  std::string name;
  int64_t bytes = 0;
};

/// Draws the live device bytes at each run, stacked by role, with the peak and `lines`. A line so
/// high that the rest would be too low to see is given in words instead.
std::string DrawMemory(const std::string& heading, const layrub::Graph& graph, const Stays& stays,
                       std::vector<MemoryLine> lines);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_MEMORY_PICTURE_HPP_
