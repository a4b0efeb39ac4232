#include "layrub/report/memory_picture.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "layrub/report/layout.hpp"

namespace layrub_tool {

using layrub::Role;

namespace {

constexpr double kMemoryHeight = 260;
constexpr double kHeadroom = 1.14;
/// A line that is higher than this multiple of the peak is not drawn to scale.
constexpr double kTooHigh = 2.5;
constexpr double kLabelRow = 14;

class MemoryPainter {
 public:
  MemoryPainter(const layrub::Graph& graph, const Stays& stays, std::vector<MemoryLine> lines)
      : graph_(graph), stays_(stays), lines_(std::move(lines)) {
    peak_ = stays.peak < 0 ? Run() : stays.runs[stays.peak];
    std::sort(lines_.begin(), lines_.end(),
              [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    int64_t most = std::max<int64_t>(peak_.bytes, 1);
    for (const MemoryLine& line : lines_) {
      if (InScale(line)) most = std::max(most, line.bytes);
    }
    frame_ = {kPictureLeft,
              0,
              kPictureWidth - kPictureLeft - kPictureRight,
              kMemoryHeight,
              std::max(static_cast<int>(stays.runs.size()), 1),
              kHeadroom * static_cast<double>(most)};
  }

  std::string Draw(const std::string& heading) {
    // The height of the legend is known once it is drawn.
    constexpr double kLegendTop = 30;
    Svg probe(1, 1, "");
    frame_.top =
        kLegendTop + DrawLegend(Entries(), frame_.left, frame_.right(), kLegendTop, &probe) + 8;
    Svg svg(kPictureWidth, frame_.bottom() + 36, heading);
    svg.Text(frame_.left, 18, heading, "name");
    DrawLegend(Entries(), frame_.left, frame_.right(), kLegendTop, &svg);
    DrawByteTicks(frame_, true, &svg);
    BeginRunsView(frame_, "memory runs", &svg);
    DrawAreas(&svg);
    DrawPassEnds(frame_, stays_, &svg);
    if (stays_.peak >= 0)
      svg.Line(stays_.peak + 0.5, frame_.height, stays_.peak + 0.5, PeakY() - frame_.top,
               "mark dotted");
    svg.EndView();
    DrawLines(&svg);
    DrawPeak(&svg);
    DrawEdges(frame_, &svg);
    DrawRunAxis(frame_, stays_, true, &svg);
    return svg.Finish();
  }

 private:
  bool InScale(const MemoryLine& line) const {
    return static_cast<double>(line.bytes) <= kTooHigh * static_cast<double>(peak_.bytes);
  }

  double PeakY() const { return frame_.Y(static_cast<double>(peak_.bytes)); }
  bool PeakIsRight() const { return 2 * stays_.peak > frame_.runs; }

  std::vector<std::pair<std::string, std::string>> Entries() const {
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Role role : RolesUpwards()) {
      const auto bytes = [role](const Run& run) { return run.by_role[static_cast<size_t>(role)]; };
      if (std::any_of(stays_.runs.begin(), stays_.runs.end(), bytes))
        entries.emplace_back(layrub::Name(role), RoleWords(role));
    }
    return entries;
  }

  /// Draws the area of each role: along its upper edge, and back along the upper edge of the role
  /// below.
  void DrawAreas(Svg* svg) {
    const std::vector<MemoryColumn> columns = MemoryColumns(stays_);
    std::vector<int64_t> below(columns.size());
    for (const Role role : RolesUpwards()) {
      std::vector<int64_t> above = below;
      for (size_t i = 0; i < columns.size(); ++i)
        above[i] += stays_.runs[columns[i].run].by_role[static_cast<size_t>(role)];
      if (above == below) continue;
      std::string path = "M0 " + Height(above[0]);
      for (size_t i = 0; i < columns.size(); ++i) {
        if (i > 0 && above[i] != above[i - 1]) path += "V" + Height(above[i]);
        if (i + 1 == columns.size() || above[i + 1] != above[i])
          path += "H" + std::to_string(columns[i].end);
      }
      for (size_t i = columns.size(); i-- > 0;) {
        if (i + 1 == columns.size() || below[i] != below[i + 1]) path += "V" + Height(below[i]);
        if (i == 0 || below[i - 1] != below[i]) path += "H" + std::to_string(columns[i].begin);
      }
      svg->Path(path + "z", layrub::Name(role));
      below = std::move(above);
    }
  }

  std::string Height(int64_t bytes) const {
    return Short(frame_.Y(static_cast<double>(bytes)) - frame_.top);
  }

  /// Draws the lines. Their names are on the other side than the peak's and do not overlap.
  void DrawLines(Svg* svg) {
    const double x = PeakIsRight() ? frame_.left + 8 : frame_.right() - 8;
    const Anchor anchor = PeakIsRight() ? Anchor::kStart : Anchor::kEnd;
    double lowest = frame_.top;
    for (const MemoryLine& line : lines_) {
      const double y = frame_.Y(static_cast<double>(line.bytes));
      const bool in_scale = InScale(line);
      if (in_scale) svg->Line(frame_.left, y, frame_.right(), y, "mark dashed");
      lowest = std::max(lowest + kLabelRow, in_scale ? y - 5 : 0);
      const std::string off = in_scale ? "" : " ↑";
      svg->Text(x, lowest, line.name + " " + SizeText(line.bytes) + off, "halo", anchor);
    }
  }

  void DrawPeak(Svg* svg) {
    if (stays_.peak < 0) return;
    const std::string at_run = "data-run=\"" + Short(stays_.peak + 0.5) + "\"";
    svg->Text(frame_.X(stays_.peak + 0.5), PeakY() - 6,
              "peak " + SizeText(peak_.bytes) + " at " + graph_.ops[peak_.op].name,
              "peak strong halo", PeakIsRight() ? Anchor::kEnd : Anchor::kStart, at_run);
  }

  const layrub::Graph& graph_;
  const Stays& stays_;
  std::vector<MemoryLine> lines_;
  Run peak_;
  Frame frame_;
};

}  // namespace

std::vector<MemoryColumn> MemoryColumns(const Stays& stays) {
  const int runs = static_cast<int>(stays.runs.size());
  const int wide = RunsPerColumn(runs, kPictureWidth - kPictureLeft - kPictureRight);
  std::vector<MemoryColumn> columns;
  for (int begin = 0; begin < runs; begin += wide) {
    MemoryColumn column{begin, std::min(begin + wide, runs), begin};
    for (int run = begin; run < column.end; ++run) {
      if (stays.runs[run].bytes > stays.runs[column.run].bytes) column.run = run;
    }
    columns.push_back(column);
  }
  return columns;
}

std::string DrawMemory(const std::string& heading, const layrub::Graph& graph, const Stays& stays,
                       std::vector<MemoryLine> lines) {
  return MemoryPainter(graph, stays, std::move(lines)).Draw(heading);
}

}  // namespace layrub_tool
