// The picture of `layrub compare`.
#include <algorithm>
#include <cmath>
#include <limits>

#include "layrub/comparison.hpp"
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
constexpr char kTimeFloor[] = "time floor: no plan is faster";

/// How a plan saves memory; marks differ by colour and by shape.
struct Kind {
  const char* look;
  const char* text;
};
enum KindNumber { kNothing, kCopies, kAgain, kBoth, kAuto };
constexpr Kind kKinds[] = {{"series3", "moves nothing"},
                           {"series1", "copies to the host"},
                           {"series6", "computes again"},
                           {"series7", "both"},
                           {"series8", "auto, in several budgets"}};

KindNumber KindOf(const ComparedPlan& plan) {
  if (plan.strategy == "auto") return kAuto;
  if (plan.traffic_bytes > 0) return plan.recomputed_ops > 0 ? kBoth : kCopies;
  return plan.recomputed_ops > 0 ? kAgain : kNothing;
}

std::string Move(char command, double x, double y) { return command + Short(x) + " " + Short(y); }

/// The outline of a mark: a circle, a square, a triangle or a diamond; auto's is a larger circle.
std::string Shape(KindNumber kind, double x, double y) {
  const auto polygon = [&](std::initializer_list<std::pair<double, double>> corners) {
    std::string path;
    for (const auto& [dx, dy] : corners)
      path += Move(path.empty() ? 'M' : 'L', x + dx * kRadius, y + dy * kRadius);
    return path + "Z";
  };
  if (kind == kCopies) return polygon({{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}});
  if (kind == kAgain) return polygon({{0, -1.15}, {1.1, .85}, {-1.1, .85}});
  if (kind == kBoth) return polygon({{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}});
  const std::string r = Short(kind == kAuto ? 1.2 * kRadius : kRadius);
  const double left = x - (kind == kAuto ? 1.2 * kRadius : kRadius);
  const double across = 2 * (x - left);
  return Move('M', left, y) + "a" + r + " " + r + " 0 1 0 " + Short(across) + " 0a" + r + " " + r +
         " 0 1 0 " + Short(-across) + " 0Z";
}

struct Point {
  double x = 0, y = 0;
};

/// A strategy in the picture: its plans that fit, in rising bytes; the mark is at the first.
struct Drawn {
  std::string name;
  KindNumber kind;
  std::vector<const ComparedPlan*> plans;
  std::vector<Point> points;
};

class Figure {
 public:
  explicit Figure(const Comparison& comparison)
      : comparison_(comparison),
        x_(LeastBytes(), MostBytes(), kLeft, kRight),
        y_(LeastTime(), MostTime(), kBottom, kTop),
        svg_(kFigureWidth, kFigureHeight,
             comparison.net + ": time of an iteration against device memory") {
    for (const ComparedPlan& plan : comparison.plans) {
      if (!plan.fits) continue;
      if (drawn_.empty() || drawn_.back().name != plan.strategy)
        drawn_.push_back({plan.strategy, KindOf(plan), {}, {}});
      drawn_.back().plans.push_back(&plan);
    }
    for (Drawn& strategy : drawn_) {
      std::stable_sort(
          strategy.plans.begin(), strategy.plans.end(),
          [](const auto* a, const auto* b) { return a->device_bytes < b->device_bytes; });
      strategy.kind = KindOf(*strategy.plans[0]);
      for (const ComparedPlan* plan : strategy.plans)
        strategy.points.push_back(At(plan->device_bytes, plan->seconds));
    }
    keep_ = At(comparison.keep_bytes, comparison.keep_seconds);
    keep_fits_ = std::any_of(drawn_.begin(), drawn_.end(),
                             [](const Drawn& strategy) { return strategy.name == "keep"; });
  }

  std::string Draw() {
    Heading();
    Axes();
    Floors();
    Curves();
    Marks();
    Labels();
    return svg_.Finish();
  }

 private:
  double Relative(double seconds) const { return seconds / comparison_.keep_seconds; }
  Point At(int64_t bytes, double seconds) const {
    return {x_.At(static_cast<double>(bytes)), y_.At(Relative(seconds))};
  }

  double LeastBytes() const { return static_cast<double>(comparison_.state_floor_bytes); }
  double MostBytes() const {
    int64_t most = comparison_.keep_bytes;
    for (const ComparedPlan& plan : comparison_.plans) most = std::max(most, plan.device_bytes);
    return static_cast<double>(most);
  }
  double LeastTime() const {
    double least = 0.95;
    for (const FloorPoint& point : comparison_.time_floor)
      least = std::min(least, Relative(point.seconds));
    return least;
  }
  double MostTime() const {
    double most = 1.15;
    for (const ComparedPlan& plan : comparison_.plans)
      most = std::max(most, Relative(plan.seconds));
    return most;
  }

  void Heading() {
    svg_.Text(kLeft, 26, comparison_.net + ": what less memory costs", "name");
    svg_.Text(kLeft, 44,
              "Time of an iteration, in times of keep's " + TimeText(comparison_.keep_seconds) +
                  ", by the model of machine " + comparison_.machine);
    double x = kLeft + 4;
    for (int kind = kNothing; kind <= kAuto; ++kind) {
      const bool there = std::any_of(drawn_.begin(), drawn_.end(),
                                     [&](const Drawn& drawn) { return drawn.kind == kind; });
      if (!there) continue;
      svg_.Path(Shape(static_cast<KindNumber>(kind), x, 62), kKinds[kind].look);
      svg_.Text(x + 10, 66, kKinds[kind].text, "small");
      x += 36 + 5.6 * static_cast<double>(std::string(kKinds[kind].text).size());
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
  /// each budget.
  void Floors() {
    const double floor = x_.At(LeastBytes());
    svg_.Path("M" + Short(kLeft) + " " + Short(kTop) + "H" + Short(floor) + "V" + Short(kBottom) +
                  "H" + Short(kLeft) + "Z",
              "series3 shade");
    std::string line, area = Move('M', floor, kBottom);
    for (const FloorPoint& point : comparison_.time_floor) {
      const Point at = At(point.budget_bytes, point.seconds);
      line += Move(line.empty() ? 'M' : 'L', at.x, at.y);
      area += Move('L', at.x, at.y);
      floor_.push_back(at);
    }
    const double end = floor_.back().y;
    svg_.Path(area + "H" + Short(kRight) + "V" + Short(kBottom) + "Z", "series3 shade");
    svg_.Path(line + "H" + Short(kRight), "axis dashed");
    floor_.push_back({kRight, end});
    const bool state_leaves = comparison_.state_floor_bytes < comparison_.floor_bytes;
    Limit(comparison_.state_floor_bytes, state_leaves ? "state floor" : "memory floor",
          Anchor::kStart);
    if (state_leaves) Limit(comparison_.floor_bytes, "floor", Anchor::kStart);
    if (comparison_.limit_bytes && *comparison_.limit_bytes < MostBytes())
      Limit(*comparison_.limit_bytes, comparison_.machine + " has", Anchor::kEnd);
    svg_.Text(kRight - 6, kBottom - 6, kTimeFloor, "small", Anchor::kEnd);
  }

  /// A vertical line through the picture with its name above it.
  void Limit(int64_t bytes, const std::string& name, Anchor anchor) {
    const double x = x_.At(static_cast<double>(bytes));
    svg_.Line(x, kTop, x, kBottom, "axis dashed");
    svg_.Text(x, kTop - 5, name + " " + SizeText(bytes), "small", anchor);
  }

  void Curves() {
    for (const Drawn& strategy : drawn_) {
      if (strategy.points.size() < 2) continue;
      std::string path;
      for (const Point& point : strategy.points)
        path += Move(path.empty() ? 'M' : 'L', point.x, point.y);
      const bool bold = strategy.kind == kAuto;
      svg_.Path(path, std::string(kKinds[strategy.kind].look) + " stroke" + (bold ? "" : " dotted"),
                strategy.name);
    }
  }

  void Marks() {
    for (const Drawn& strategy : drawn_) {
      for (size_t i = 1; i < strategy.points.size(); ++i) {
        svg_.Circle(strategy.points[i].x, strategy.points[i].y, 2.5, kKinds[strategy.kind].look,
                    Title(*strategy.plans[i]));
      }
    }
    svg_.BeginGroup("outlined");
    for (const Drawn& strategy : drawn_) {
      svg_.Path(Shape(strategy.kind, strategy.points[0].x, strategy.points[0].y),
                std::string(kKinds[strategy.kind].look) + " point", Title(*strategy.plans[0]));
    }
    svg_.EndGroup();
    if (!keep_fits_) svg_.Circle(keep_.x, keep_.y, kRadius, "axis");
  }

  std::string Title(const ComparedPlan& plan) const {
    return plan.strategy + ": " + SizeText(plan.device_bytes) + ", " + TimeText(plan.seconds) +
           " (" + Fixed(Relative(plan.seconds), 2) + " x keep)";
  }

  /// A name for each mark; marks that lie together share a label.
  struct Named {
    Point at;
    std::vector<std::string> lines;
  };
  std::vector<Named> Names() const {
    std::vector<Named> names;
    for (const Drawn& strategy : drawn_) {
      const Point at = strategy.points[0];
      const auto same = std::find_if(names.begin(), names.end(), [&](const Named& named) {
        return std::hypot(named.at.x - at.x, named.at.y - at.y) < kTogether;
      });
      if (same == names.end()) {
        names.push_back({at, {strategy.name}});
        continue;
      }
      std::string& last = same->lines.back();
      last += ",";
      if (last.size() + 1 + strategy.name.size() <= kLabelWidth) {
        last += " " + strategy.name;
      } else {
        same->lines.push_back(strategy.name);
      }
    }
    return names;
  }

  void Labels() {
    std::vector<Named> names = Names();
    if (!keep_fits_) names.push_back({keep_, {"keep: does not fit"}});
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
    const double width = 0.9 * kLetter * static_cast<double>(std::string(kTimeFloor).size());
    std::vector<Box> boxes = {{kRight - 6 - width, kBottom - 6 - kLine, width, kLine}};
    const auto add = [&](const Point& at, double radius) {
      boxes.push_back({at.x - radius, at.y - radius, 2 * radius, 2 * radius});
    };
    add(keep_, kRadius + 2);
    for (const Drawn& strategy : drawn_) {
      for (size_t i = 0; i < strategy.points.size(); ++i)
        add(strategy.points[i], i == 0 ? kRadius + 2 : 4);
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
    for (const Drawn& strategy : drawn_) add(strategy.points);
    add(floor_);
    add({{x_.At(LeastBytes()), kTop}, {x_.At(LeastBytes()), kBottom}});
    return boxes;
  }

  const Comparison& comparison_;
  const Axis x_, y_;
  Svg svg_;
  std::vector<Drawn> drawn_;
  std::vector<Point> floor_;
  Point keep_;
  bool keep_fits_ = true;
};

}  // namespace

std::string ToSvg(const Comparison& comparison) { return Figure(comparison).Draw(); }

}  // namespace layrub_tool
