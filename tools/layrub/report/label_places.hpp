#ifndef TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_
#define TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_

#include <vector>

namespace layrub_tool {

/// A rectangle of a picture, in pixels; (x, y) is its top left corner.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// The label of a point of a picture: the point, and the size of the text.
struct Label {
  double x = 0, y = 0;
  double width = 0, height = 0;
};

/// Finds a place for each of `labels` within `bounds`, near its point. Labels do not overlap each
/// other or `marks` and, if there is such a place nearby, no `curves`. If there is not enough
/// space, they overlap as little as possible. The result depends on the input only.
std::vector<Box> PlaceLabels(const std::vector<Label>& labels, const std::vector<Box>& marks,
                             const std::vector<Box>& curves, const Box& bounds);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_
