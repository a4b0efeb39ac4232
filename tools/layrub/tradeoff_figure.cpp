#include "layrub/tradeoff_figure.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "layrub/number_text.hpp"
#include "layrub/report/axis.hpp"
#include "layrub/report/label_places.hpp"
#include "layrub/report/svg.hpp"

namespace layrub_tool {

namespace {

constexpr double kFigureWidth = 860, kFigureHeight = 536;
constexpr double kLeft = 56, kRight = 836, kTop = 100, kBottom = 488;  ///< of the axes
constexpr double kRadius = 5;                                          ///< of a mark
constexpr double kLetter = 6.7, kLine = 14;                            ///< of text
constexpr size_t kLabelWidth = 30;                                     ///< characters
constexpr double kTogether = 12;                                       ///< marks with one label

struct Point {
  double x = 0, y = 0;
};

std::string Move(char command, double x, double y) { return command + Short(x) + " " + Short(y); }

/// The outline of a mark.
std::string Outline(MarkShape shape, double x, double y) {
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners)
      path += Move(path.empty() ? 'M' : 'L', x + dx * kRadius, y + dy * kRadius);
    return path + "Z";
  };
  if (shape == MarkShape::kSquare) return polygon({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
  if (shape == MarkShape::kTriangle) return polygon({{0, -1.15}, {1.1, .85}, {-1.1, .85}});
  if (shape == MarkShape::kDiamond) return polygon({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
  const double radius = shape == MarkShape::kLargeCircle ? 1.2 * kRadius : kRadius;
  const std::string r = Short(radius);
  return Move('M', x - radius, y) + "a" + r + " " + r + " 0 1 0 " + Short(2 * radius) + " 0a" + r +
         " " + r + " 0 1 0 " + Short(-2 * radius) + " 0Z";
}

class Drawing {
 public:
  explicit Drawing(const TradeoffFigure& figure)
      : figure_(figure),
        x_(LeastBytes(), MostBytes(), kLeft, kRight),
        y_(LeastTime(), MostTime(), kBottom, kTop),
        svg_(kFigureWidth, kFigureHeight, figure.description) {
    for (const TradeoffCurve& curve : figure.curves) {
      curves_.emplace_back();
      for (const TradeoffPoint& point : curve.points) curves_.back().push_back(At(point));
    }
  }

  std::string Draw() {
    Heading();
    Axes();
    Floors();
    Lines();
    Marks();
    Labels();
    if (curves_.empty())
      svg_.Text((kLeft + kRight) / 2, (kTop + kBottom) / 2, "No plan fits.", "", Anchor::kMiddle);
    return svg_.Finish();
  }

 private:
  Point At(const TradeoffPoint& point) const {
    return {x_.At(static_cast<double>(point.bytes)), y_.At(point.times)};
  }

  /// Those that the horizontal axis shows. The floor begins at fewer bytes than any plan, and is
  /// not drawn beyond the largest plan.
  std::vector<int64_t> AllBytes() const {
    std::vector<int64_t> all;
    for (const TradeoffCurve& curve : figure_.curves) {
      for (const TradeoffPoint& point : curve.points) all.push_back(point.bytes);
    }
    for (const TradeoffPoint& point : figure_.empty_marks) all.push_back(point.bytes);
    if (!figure_.floor.empty()) all.push_back(figure_.floor[0].bytes);
    if (all.empty()) all.push_back(1);
    return all;
  }
  double LeastBytes() const {
    const std::vector<int64_t> all = AllBytes();
    return static_cast<double>(*std::min_element(all.begin(), all.end()));
  }
  double MostBytes() const {
    const std::vector<int64_t> all = AllBytes();
    return static_cast<double>(*std::max_element(all.begin(), all.end()));
  }
  double LeastTime() const {
    double least = 0.95;
    for (const TradeoffPoint& point : figure_.floor) least = std::min(least, point.times);
    return least;
  }
  double MostTime() const {
    double most = 1.15;
    for (const TradeoffCurve& curve : figure_.curves) {
      for (const TradeoffPoint& point : curve.points) most = std::max(most, point.times);
    }
    return most;
  }

  void Heading() {
    svg_.Text(kLeft, 26, figure_.heading, "name");
    svg_.Text(kLeft, 44, figure_.subheading);
    double x = kLeft + 4;
    for (const TradeoffFigure::Key& key : figure_.keys) {
      svg_.Path(Outline(key.look.shape, x, 62), key.look.color);
      svg_.Text(x + 10, 66, key.text, "small");
      x += 36 + 5.6 * static_cast<double>(key.text.size());
    }
  }

  void Axes() {
    const int64_t range = std::llround(x_.most() - x_.least());
    for (const double tick :
         x_.log() ? LogTicks(x_) : LinearTicks(x_, static_cast<double>(ByteStep(range)))) {
      svg_.Line(x_.At(tick), kTop, x_.At(tick), kBottom, "grid");
      svg_.Text(x_.At(tick), kBottom + 17, SizeText(std::llround(tick)), "", Anchor::kMiddle);
    }
    const double step = DecimalStep(y_.most() - y_.least());
    const std::vector<double> ticks = y_.log() ? LogTicks(y_) : LinearTicks(y_, step);
    for (const double tick : ticks) {
      svg_.Line(kLeft, y_.At(tick), kRight, y_.At(tick), "grid");
      svg_.Text(kLeft - 8, y_.At(tick) + 4, Short(tick) + "×", "", Anchor::kEnd);
    }
    svg_.Text(kRight, kBottom + 36, "device memory", "", Anchor::kEnd);
  }

  /// Shades what no plan can reach: less than the least memory, and less than the least time in
  /// each budget. Draws the limits.
  void Floors() {
    if (!figure_.floor.empty()) {
      const double left = At(figure_.floor[0]).x;
      svg_.Path("M" + Short(kLeft) + " " + Short(kTop) + "H" + Short(left) + "V" + Short(kBottom) +
                    "H" + Short(kLeft) + "Z",
                "series3 shade");
      std::string line, area = Move('M', left, kBottom);
      for (const TradeoffPoint& point : figure_.floor) {
        const Point at = At(point);
        line += Move(line.empty() ? 'M' : 'L', at.x, at.y);
        area += Move('L', at.x, at.y);
        floor_.push_back(at);
      }
      const double end = floor_.back().y;
      svg_.Path(area + "H" + Short(kRight) + "V" + Short(kBottom) + "Z", "series3 shade");
      svg_.Path(line + "H" + Short(kRight), "axis dashed");
      floor_.push_back({kRight, end});
      svg_.Text(kRight - 6, kBottom - 6, figure_.floor_name, "small", Anchor::kEnd);
    }
    for (const TradeoffFigure::Limit& limit : figure_.limits) {
      const double x = x_.At(static_cast<double>(limit.bytes));
      svg_.Line(x, kTop, x, kBottom, "axis dashed");
      svg_.Text(x, kTop - 5, limit.name + " " + SizeText(limit.bytes), "small",
                limit.name_on_left ? Anchor::kEnd : Anchor::kStart);
    }
  }

  void Lines() {
    for (size_t i = 0; i < curves_.size(); ++i) {
      if (curves_[i].size() < 2) continue;
      std::string path;
      for (const Point& point : curves_[i])
        path += Move(path.empty() ? 'M' : 'L', point.x, point.y);
      const TradeoffCurve& curve = figure_.curves[i];
      svg_.Path(path, std::string(curve.look.color) + " stroke" + (curve.bold ? "" : " dotted"),
                curve.name);
    }
  }

  void Marks() {
    for (size_t i = 0; i < curves_.size(); ++i) {
      const TradeoffCurve& curve = figure_.curves[i];
      for (size_t k = 1; k < curves_[i].size(); ++k) {
        svg_.Circle(curves_[i][k].x, curves_[i][k].y, 2.5, curve.look.color, curve.points[k].title);
      }
    }
    svg_.BeginGroup("outlined");
    for (size_t i = 0; i < curves_.size(); ++i) {
      const Look& look = figure_.curves[i].look;
      svg_.Path(Outline(look.shape, curves_[i][0].x, curves_[i][0].y),
                std::string(look.color) + " point", figure_.curves[i].points[0].title);
    }
    svg_.EndGroup();
    for (const TradeoffPoint& mark : figure_.empty_marks)
      svg_.Circle(At(mark).x, At(mark).y, kRadius, "axis");
  }

  /// A name for each mark; marks that lie together share a label.
  struct Named {
    Point at;
    std::vector<std::string> lines;
  };
  std::vector<Named> Names() const {
    std::vector<Named> names;
    for (size_t i = 0; i < curves_.size(); ++i) {
      const Point at = curves_[i][0];
      const std::string& name = figure_.curves[i].name;
      const auto same = std::find_if(names.begin(), names.end(), [&](const Named& named) {
        return std::hypot(named.at.x - at.x, named.at.y - at.y) < kTogether;
      });
      if (same == names.end()) {
        names.push_back({at, {name}});
        continue;
      }
      std::string& last = same->lines.back();
      last += ",";
      if (last.size() + 1 + name.size() <= kLabelWidth) {
        last += " " + name;
      } else {
        same->lines.push_back(name);
      }
    }
    for (const TradeoffPoint& mark : figure_.empty_marks) names.push_back({At(mark), {mark.title}});
    return names;
  }

  void Labels() {
    const std::vector<Named> names = Names();
    std::vector<Label> labels;
    for (const Named& named : names) {
      size_t letters = 0;
      for (const std::string& line : named.lines) letters = std::max(letters, line.size());
      labels.push_back({named.at.x, named.at.y, kLetter * static_cast<double>(letters),
                        kLine * static_cast<double>(named.lines.size())});
    }
    const Box bounds = {kLeft, kTop, kRight - kLeft, kBottom - kTop};
    const std::vector<Box> places = PlaceLabels(labels, MarkBoxes(), CurveBoxes(), bounds);
    for (size_t i = 0; i < names.size(); ++i) Write(names[i], places[i]);
  }

  /// Draws the label at `place`, with a line to its point unless the point is next to it.
  void Write(const Named& named, const Box& place) {
    constexpr double kNear = 16;
    const double x = std::clamp(named.at.x, place.x, place.x + place.width);
    const double y = std::clamp(named.at.y, place.y, place.y + place.height);
    if (std::hypot(x - named.at.x, y - named.at.y) > kNear)
      svg_.Line(named.at.x, named.at.y, x, y, "axis");
    // The label is aligned towards its point.
    const double middle = place.x + place.width / 2;
    const Anchor anchor = std::abs(middle - named.at.x) < place.width / 4 ? Anchor::kMiddle
                          : middle > named.at.x                           ? Anchor::kStart
                                                                          : Anchor::kEnd;
    const double at = anchor == Anchor::kStart    ? place.x
                      : anchor == Anchor::kMiddle ? middle
                                                  : place.x + place.width;
    for (size_t line = 0; line < named.lines.size(); ++line) {
      svg_.Text(at, place.y + kLine * static_cast<double>(line + 1) - 3, named.lines[line], "label",
                anchor);
    }
  }

  std::vector<Box> MarkBoxes() const {
    std::vector<Box> boxes;
    if (!figure_.floor.empty()) {
      const double width = 0.9 * kLetter * static_cast<double>(figure_.floor_name.size());
      boxes.push_back({kRight - 6 - width, kBottom - 6 - kLine, width, kLine});
    }
    const auto add = [&](const Point& at, double radius) {
      boxes.push_back({at.x - radius, at.y - radius, 2 * radius, 2 * radius});
    };
    for (const TradeoffPoint& mark : figure_.empty_marks) add(At(mark), kRadius + 2);
    for (const std::vector<Point>& points : curves_) {
      for (size_t i = 0; i < points.size(); ++i) add(points[i], i == 0 ? kRadius + 2 : 4);
    }
    return boxes;
  }

  std::vector<Box> CurveBoxes() const {
    std::vector<Box> boxes;
    const auto add = [&](const std::vector<Point>& points) {
      for (size_t i = 1; i < points.size(); ++i) {
        const Point a = points[i - 1], b = points[i];
        const int steps = 1 + static_cast<int>(std::hypot(b.x - a.x, b.y - a.y) / 4);
        for (int k = 0; k <= steps; ++k) {
          const double part = k / double(steps);
          boxes.push_back({a.x + part * (b.x - a.x) - 2, a.y + part * (b.y - a.y) - 2, 4, 4});
        }
      }
    };
    for (const std::vector<Point>& points : curves_) add(points);
    add(floor_);
    if (!floor_.empty()) add({{floor_[0].x, kTop}, {floor_[0].x, kBottom}});
    return boxes;
  }

  const TradeoffFigure& figure_;
  const Axis x_, y_;
  Svg svg_;
  std::vector<std::vector<Point>> curves_;  ///< as figure_.curves
  std::vector<Point> floor_;
};

}  // namespace

std::string ToSvg(const TradeoffFigure& figure) { return Drawing(figure).Draw(); }

}  // namespace layrub_tool
