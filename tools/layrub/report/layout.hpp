#ifndef TOOLS_LAYRUB_REPORT_LAYOUT_HPP_
#define TOOLS_LAYRUB_REPORT_LAYOUT_HPP_

#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/report/stays.hpp"
#include "layrub/report/svg.hpp"

namespace layrub_tool {

// What the pictures of a plan have in common. From left to right go the runs of operations; with
// these margins, in pixels, pictures of one plan stand in line. What is at a run outside of a view
// has the attribute data-run, by which the page moves it when it zooms.
inline constexpr double kPictureWidth = 960;
inline constexpr double kPictureLeft = 76;
inline constexpr double kPictureRight = 14;
inline constexpr int kRoles = 8;

/// The roles from the bottom of a stack to its top, as they lie in most arenas.
const std::vector<layrub::Role>& RolesUpwards();
/// "activation gradients".
const char* RoleWords(layrub::Role role);

/// A rectangle of the picture for `runs` runs and `bytes` bytes.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  int runs = 1;
  double bytes = 1;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double X(double run) const { return left + run * width / runs; }
  double Y(double at) const { return bottom() - at * height / bytes; }
};

/// Runs that share a column, so that columns are a third of a pixel wide or more.
int RunsPerColumn(int runs, double width);

/// Entries of a legend, look and words, from (left, top) on, in lines that end before `right`.
/// Returns how high it is.
double DrawLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                  double right, double top, Svg* svg);
/// Lines at round numbers of bytes, which the numbers stand left of if `numbers`.
void DrawByteTicks(const Frame& frame, bool numbers, Svg* svg);
/// Begins a view of the frame in which x counts runs and y is in pixels from its top.
void BeginRunsView(const Frame& frame, const std::string& look, Svg* svg);
/// In such a view: dashed lines where passes end.
void DrawPassEnds(const Frame& frame, const Stays& stays, Svg* svg);
/// Below `frame`, 34 pixels high: names of passes, numbers of runs, and with `title` what they are.
void DrawRunAxis(const Frame& frame, const Stays& stays, bool title, Svg* svg);
/// Left and lower edge.
void DrawEdges(const Frame& frame, Svg* svg);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_LAYOUT_HPP_
