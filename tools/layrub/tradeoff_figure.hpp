#ifndef TOOLS_LAYRUB_TRADEOFF_FIGURE_HPP_
#define TOOLS_LAYRUB_TRADEOFF_FIGURE_HPP_

#include <cstdint>
#include <string>
#include <vector>

namespace layrub_tool {

/// The shape of a mark.
enum class MarkShape { kCircle, kSquare, kTriangle, kDiamond, kLargeCircle };

/// The look of the points of a curve: a class of the style sheet for the colour, and a shape.
struct Look {
  const char* color;
  MarkShape shape;
};

struct TradeoffPoint {
  int64_t bytes = 0;
  double times = 0;   ///< the time of an iteration, in multiples of the picture's unit
  std::string title;  ///< shown when the pointer rests on the point
};

/// Points that are joined by a line, in rising bytes. The first has a mark and a label.
struct TradeoffCurve {
  std::string name;
  Look look;
  bool bold = false;
  std::vector<TradeoffPoint> points;
};

/// A picture of time against device memory, both axes as linear or logarithmic as their ends need.
struct TradeoffFigure {
  struct Key {
    Look look;
    std::string text;
  };
  /// A vertical line; its name is beside it, on its right unless `name_on_left`.
  struct Limit {
    int64_t bytes = 0;
    std::string name;
    bool name_on_left = false;
  };
  std::string description;  ///< for screen readers
  std::string heading, subheading;
  std::vector<Key> keys;
  std::vector<TradeoffCurve> curves;
  std::vector<TradeoffPoint> empty_marks;  ///< points that are only named by their titles
  /// No plan is below this curve, or left of its first point; empty: not drawn.
  std::vector<TradeoffPoint> floor;
  std::string floor_name;
  std::vector<Limit> limits;
};

std::string ToSvg(const TradeoffFigure& figure);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_TRADEOFF_FIGURE_HPP_
