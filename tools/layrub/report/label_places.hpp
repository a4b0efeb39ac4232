#ifndef TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_
#define TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_

#include <vector>

namespace layrub_tool {

/// A rectangle of a picture, in pixels; (x, y) is its top left corner.
struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

/// A label of a point of a picture, and the room that its text takes.
struct Label {
  double x = 0, y = 0;
  double width = 0, height = 0;
};

/// A place within `bounds` for each of `labels`, near its point: on none of the others, none of
/// `marks` and, if that can be had nearby, no `curves`. Where there is not room enough, the places
/// that overlap least. The same places for the same input.
std::vector<Box> PlaceLabels(const std::vector<Label>& labels, const std::vector<Box>& marks,
                             const std::vector<Box>& curves, const Box& bounds);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_LABEL_PLACES_HPP_
