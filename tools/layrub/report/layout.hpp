#ifndef TOOLS_LAYRUB_REPORT_LAYOUT_HPP_
#define TOOLS_LAYRUB_REPORT_LAYOUT_HPP_

#include <string>
#include <utility>
#include <vector>

#include "layrub/placement/ir/graph.hpp"
#include "layrub/report/stays.hpp"
#include "layrub/report/svg.hpp"

namespace layrub_tool {

// Layout that the pictures of a plan share. Runs of operations go from left to right. All pictures
// have the same margins, in pixels, so that those of one plan line up. Elements outside of a view
// that belong to a run have the attribute data-run, by which the page moves them when it zooms.
inline constexpr double kPictureWidth = 960;
inline constexpr double kPictureLeft = 76;
inline constexpr double kPictureRight = 14;
inline constexpr int kRoles = 8;

/// The roles from the bottom of a stack to its top, in the order of addresses of most arenas.
const std::vector<layrub::Role>& RolesUpwards();
/// "activation gradients".
const char* RoleWords(layrub::Role role);

/// A rectangle of a picture in which x counts `runs` runs and y counts `bytes` bytes.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  int runs = 1;
  double bytes = 1;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
  double X(double run) const { return left + run * width / runs; }
  double Y(double at) const { return bottom() - at * height / bytes; }
};

/// The number of runs that share a column so that columns are at least a third of a pixel wide.
int RunsPerColumn(int runs, double width);

/// Draws a legend of `entries` (look and words), from (left, top) on, in lines that end before
/// `right`. Returns its height.
double DrawLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                  double right, double top, Svg* svg);
/// Draws lines at round numbers of bytes, with the numbers left of them if `numbers`.
void DrawByteTicks(const Frame& frame, bool numbers, Svg* svg);
/// Begins a view of the frame in which x counts runs and y counts pixels from the frame's top.
void BeginRunsView(const Frame& frame, const std::string& look, Svg* svg);
/// In such a view: draws dashed lines at the ends of passes.
void DrawPassEnds(const Frame& frame, const Stays& stays, Svg* svg);
/// Draws the axis of runs below `frame`, 34 pixels high: names of passes, numbers of runs, and the
/// axis title if `title`.
void DrawRunAxis(const Frame& frame, const Stays& stays, bool title, Svg* svg);
/// Draws the left and lower edge.
void DrawEdges(const Frame& frame, Svg* svg);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_LAYOUT_HPP_
