#include "layrub/report/map_picture.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "layrub/report/layout.hpp"

namespace layrub_tool {

using layrub::Role;
using layrub::Tier;

namespace {

constexpr double kDeviceHeight = 320;
constexpr double kHostHeight = 240;  ///< at most
constexpr double kArrows = 34;       ///< between the tiers
constexpr double kBetween = 34;      ///< between two plans
constexpr double kLeastWidth = 16;   ///< of a plan
constexpr double kArrowDistance = 5;
constexpr double kThin = 3;  ///< lower boxes have no outline
/// Boxes have an outline if runs are wider than this.
constexpr double kOutlinedRun = 2.5;

std::string Classes(const MapLook& look) {
  return "stay " + std::string(layrub::Name(look.role)) + (look.used ? "" : " idle") +
         (look.again ? " again" : "");
}

class MapPainter {
 public:
  MapPainter(const layrub::Graph& graph, const std::vector<MapPlan>& plans)
      : graph_(graph), plans_(plans) {
    for (const MapPlan& plan : plans) {
      device_bytes_ = std::max(device_bytes_, static_cast<double>(plan.device_bytes));
      host_bytes_ = std::max(host_bytes_, static_cast<double>(plan.host_bytes + plan.spill_bytes));
    }
    if (host_bytes_ > 0)
      host_height_ = std::clamp(kDeviceHeight * host_bytes_ / device_bytes_, 4.0, kHostHeight);
    const auto count = static_cast<double>(plans.size());
    width_ = (kPictureWidth - kPictureLeft - kPictureRight - kBetween * (count - 1)) / count;
  }

  MapPicture Draw(const std::string& title) {
    constexpr double kLegendTop = 30;
    const double right = kPictureWidth - kPictureRight;
    Svg probe(1, 1, "");
    const double legend = DrawLegend(Entries(), kPictureLeft, right, kLegendTop, &probe);
    top_ = kLegendTop + legend + 42;
    Svg svg(kPictureWidth, Bottom() + 36, title);
    svg.Text(kPictureLeft, 18, title, "name");
    DrawLegend(Entries(), kPictureLeft, right, kLegendTop, &svg);
    for (size_t i = 0; i < plans_.size(); ++i) DrawPlan(plans_[i], i, &svg);
    return {svg.Finish(), std::move(tensors_)};
  }

 private:
  double HostTop() const { return top_ + kDeviceHeight + kArrows; }
  double Bottom() const {
    return host_bytes_ > 0 ? HostTop() + host_height_ : top_ + kDeviceHeight;
  }

  std::vector<std::pair<std::string, std::string>> Entries() const {
    std::vector<bool> used(kRoles);
    bool again = false;
    for (const MapPlan& plan : plans_) {
      for (const Stay& stay : plan.stays.stays) {
        if (stay.bytes > 0) used[static_cast<size_t>(graph_.tensors[stay.tensor].role)] = true;
        again = again || stay.again;
      }
    }
    std::vector<std::pair<std::string, std::string>> entries;
    for (const Role role : RolesUpwards()) {
      if (used[static_cast<size_t>(role)])
        entries.emplace_back(layrub::Name(role), RoleWords(role));
    }
    entries.emplace_back("activation idle", "faint: held, not in use");
    if (again) entries.emplace_back("activation again", "dashed: computed again");
    return entries;
  }

  static std::string Heading(const MapPlan& plan) {
    const auto more = [](int64_t bytes, const std::string& where) {
      return bytes > 0 ? " + " + SizeText(bytes) + where : "";
    };
    return plan.strategy + ": " + SizeText(plan.device_bytes) + " device" +
           more(plan.host_bytes, " host") + more(plan.spill_bytes, " file");
  }

  void DrawPlan(const MapPlan& plan, size_t number, Svg* svg) {
    const double left = kPictureLeft + static_cast<double>(number) * (width_ + kBetween);
    const int runs = std::max(static_cast<int>(plan.stays.runs.size()), 1);
    const Frame device{left, top_, width_, kDeviceHeight, runs, std::max(device_bytes_, 1.0)};
    const Frame host{left, HostTop(), width_, host_height_, runs, std::max(host_bytes_, 1.0)};
    const Frame whole{left, top_, width_, Bottom() - top_, runs, 1};
    svg->Text(left, top_ - 23, Heading(plan), "strong");
    DrawByteTicks(device, number == 0, svg);
    if (host_bytes_ > 0) DrawByteTicks(host, number == 0, svg);
    if (number == 0) DrawTierNames(device, host, svg);
    const bool outlined = width_ / runs >= kOutlinedRun;
    BeginRunsView(whole, outlined ? "map runs outlined" : "map runs", svg);
    DrawBoxes(plan.stays, Tier::kDevice, device, svg);
    if (host_bytes_ > 0) {
      DrawArrows(plan.stays, whole, svg);
      DrawBoxes(plan.stays, Tier::kHost, host, svg);
    }
    DrawPassEnds(whole, plan.stays, svg);
    if (plan.stays.peak >= 0) {
      const double x = plan.stays.peak + 0.5;
      svg->Line(x, 0, x, kDeviceHeight, "mark dotted");
    }
    svg->EndView();
    if (plan.stays.peak >= 0) DrawPeak(plan.stays, device, svg);
    DrawEdges(device, svg);
    if (host_bytes_ > 0) DrawEdges(host, svg);
    DrawRunAxis(host_bytes_ > 0 ? host : device, plan.stays, number == 0, svg);
  }

  static void DrawTierNames(const Frame& device, const Frame& host, Svg* svg) {
    const auto name = [svg](const std::string& words, const Frame& frame) {
      const double x = 12, y = frame.top + frame.height / 2;
      svg->Text(x, y, words, "small", Anchor::kMiddle,
                "transform=\"rotate(-90 " + Short(x) + " " + Short(y) + ")\"");
    };
    name("device", device);
    if (host.height == 0) return;
    if (host.height > 30) name("host", host);
    svg->Text(device.left - 6, device.bottom() + kArrows / 2 + 4, "copies", "small", Anchor::kEnd);
  }

  void DrawPeak(const Stays& stays, const Frame& device, Svg* svg) {
    const double run = stays.peak + 0.5;
    const bool right = 2 * run > device.runs;
    svg->Text(device.X(run), device.top - 6,
              "fullest at " + graph_.ops[stays.runs[stays.peak].op].name, "small",
              right ? Anchor::kEnd : Anchor::kStart, "data-run=\"" + Short(run) + "\"");
  }

  void DrawBoxes(const Stays& stays, Tier tier, const Frame& frame, Svg* svg) {
    const double above = frame.top - top_;  // within the view
    const int columns = RunsPerColumn(frame.runs, frame.width);
    const auto row = std::max<int64_t>(static_cast<int64_t>(frame.bytes / frame.height), 1);
    std::optional<MapLook> look;
    for (const MapBox& box : MergeSlivers(Boxes(stays, tier), columns, row)) {
      if (look != box.look) {
        if (look) svg->EndGroup();
        svg->BeginGroup(Classes(box.look));
        look = box.look;
      }
      DrawBox(box, frame, above, svg);
    }
    if (look) svg->EndGroup();
  }

  std::vector<MapBox> Boxes(const Stays& stays, Tier tier) const {
    std::vector<MapBox> boxes;
    for (const Stay& stay : stays.stays) {
      if (stay.tier != tier || stay.bytes == 0) continue;
      const Role role = graph_.tensors[stay.tensor].role;
      const auto add = [&](int begin, int end, bool used) {
        if (begin == end) return;
        boxes.push_back(
            {begin, end, stay.offset, stay.bytes, {stay.tensor}, {used, stay.again, role}});
      };
      add(stay.begin, stay.first, false);
      add(stay.first, stay.last, true);
      add(stay.last, stay.end, false);
    }
    return boxes;
  }

  void DrawBox(const MapBox& box, const Frame& frame, double above, Svg* svg) {
    const std::string width = std::to_string(box.end - box.begin);
    const double height = static_cast<double>(box.bytes) * frame.height / frame.bytes;
    const double y = frame.Y(static_cast<double>(box.offset + box.bytes)) - frame.top + above;
    const std::string path = "M" + std::to_string(box.begin) + " " + Short(y) + "h" + width + "v" +
                             Short(height) + "h-" + width + "z";
    svg->Path(path, height < kThin ? "thin" : "", Words(box), Data(TensorOf(box)));
  }

  std::string Data(layrub::TensorId t) {
    if (t != layrub::kNone) tensors_.insert(t);
    return t == layrub::kNone ? "" : "data-t=\"" + std::to_string(t) + "\"";
  }

  /// The box's tensor; kNone if it has several.
  static layrub::TensorId TensorOf(const MapBox& box) {
    return box.tensors.size() == 1 ? *box.tensors.begin() : layrub::kNone;
  }

  std::string Words(const MapBox& box) const {
    if (TensorOf(box) == layrub::kNone)
      return std::to_string(box.tensors.size()) + " tensors, " + SizeText(box.bytes);
    const layrub::Tensor& tensor = graph_.tensors[TensorOf(box)];
    const bool part = box.bytes < tensor.bytes;
    return tensor.name + ", " + SizeText(std::min(box.bytes, tensor.bytes)) +
           (part ? " of " + SizeText(tensor.bytes) : "");
  }

  /// Draws an arrow for each copy. Copies of one direction that are too close to tell apart share
  /// an arrow.
  void DrawArrows(const Stays& stays, const Frame& frame, Svg* svg) {
    const double per_run = frame.width / frame.runs;
    const int close = std::max(1, static_cast<int>(std::ceil(kArrowDistance / per_run)));
    std::map<std::pair<bool, int>, std::vector<const Copy*>> arrows;
    for (const Copy& copy : stays.copies) {
      if (copy.bytes > 0) arrows[{copy.to_host, copy.run / close}].push_back(&copy);
    }
    for (const auto& [place, copies] : arrows) {
      const bool down = place.first;
      const Copy& largest =
          **std::max_element(copies.begin(), copies.end(),
                             [](const Copy* a, const Copy* b) { return a->bytes < b->bytes; });
      int64_t bytes = 0;
      for (const Copy* copy : copies) bytes += copy->bytes;
      const bool one = copies.size() == 1;
      const std::string what =
          one ? graph_.tensors[largest.tensor].name : std::to_string(copies.size()) + " copies";
      const double x = copies[0]->run, wing = 2.5 / per_run;
      const double tail = kDeviceHeight + (down ? 3 : kArrows - 3);
      const double tip = kDeviceHeight + (down ? kArrows - 3 : 3), neck = tip + (down ? -6 : 6);
      svg->BeginGroup("copy " + std::string(layrub::Name(graph_.tensors[largest.tensor].role)));
      const std::string title =
          what + ", " + SizeText(bytes) + (down ? " off the device" : " back to the device");
      const std::string data = Data(one ? largest.tensor : layrub::kNone);
      svg->Path("M" + Short(x) + " " + Short(tail) + "V" + Short(neck), "stroke", title, data);
      svg->Path("M" + Coordinate(x - wing) + " " + Short(neck) + "H" + Coordinate(x + wing) + "L" +
                    Coordinate(x) + " " + Short(tip) + "z",
                "head", title, data);
      svg->EndGroup();
    }
  }

  /// A coordinate in runs, with more digits than Short because a run may be much wider than a
  /// pixel.
  static std::string Coordinate(double run) {
    char text[32];
    std::snprintf(text, sizeof text, "%.6g", run);
    return text;
  }

  const layrub::Graph& graph_;
  const std::vector<MapPlan>& plans_;
  std::set<layrub::TensorId> tensors_;
  double device_bytes_ = 0;
  double host_bytes_ = 0;
  double host_height_ = 0;
  double width_ = 0;
  double top_ = 0;
};

}  // namespace

size_t MaxPlansPerMap() {
  constexpr double kWidth = kPictureWidth - kPictureLeft - kPictureRight;
  return static_cast<size_t>((kWidth + kBetween) / (kLeastWidth + kBetween));
}

MapPicture DrawMap(const std::string& title, const layrub::Graph& graph,
                   const std::vector<MapPlan>& plans) {
  return MapPainter(graph, plans).Draw(title);
}

}  // namespace layrub_tool
