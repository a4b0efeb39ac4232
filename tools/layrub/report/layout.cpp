#include "layrub/report/layout.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace layrub_tool {

using layrub::Role;

const std::vector<Role>& RolesUpwards() {
  static const std::vector<Role> roles = {
      Role::kParameter,  Role::kParameterGradient,  Role::kHistory, Role::kUser,
      Role::kActivation, Role::kActivationGradient, Role::kSaved,   Role::kWorkspace};
  return roles;
}

const char* RoleWords(Role role) {
  switch (role) {
    case Role::kParameter:
      return "parameters";
    case Role::kParameterGradient:
      return "parameter gradients";
    case Role::kHistory:
      return "solver history";
    case Role::kActivation:
      return "activations";
    case Role::kActivationGradient:
      return "activation gradients";
    case Role::kSaved:
      return "saved for backward";
    case Role::kWorkspace:
      return "workspace";
    case Role::kUser:
      return "inputs";
  }
  return "";
}

int RunsPerColumn(int runs, double width) {
  return std::max(1, static_cast<int>(std::ceil(runs / (3 * width))));
}

double DrawLegend(const std::vector<std::pair<std::string, std::string>>& entries, double left,
                  double right, double top, Svg* svg) {
  constexpr double kRow = 17, kSwatch = 10, kCharacter = 6.2;
  double x = left, y = top;
  for (const auto& [look, words] : entries) {
    const double width = kSwatch + 5 + kCharacter * static_cast<double>(words.size());
    if (x + width > right && x > left) {
      x = left;
      y += kRow;
    }
    svg->Rect(x, y, kSwatch, kSwatch, look);
    svg->Text(x + kSwatch + 5, y + 9, words, "small");
    x += width + 12;
  }
  return y + kRow - top;
}

void DrawByteTicks(const Frame& frame, bool numbers, Svg* svg) {
  const auto most = static_cast<int64_t>(frame.bytes);
  // Ticks are 24 pixels apart or more.
  const int64_t step =
      std::max(ByteStep(most), ByteStep(static_cast<int64_t>(frame.bytes / frame.height * 8 * 24)));
  for (int64_t at = 0; at <= most; at += step) {
    const double y = frame.Y(static_cast<double>(at));
    svg->Line(frame.left, y, frame.right(), y, "grid");
    if (numbers)
      svg->Text(frame.left - 6, y + 4, at == 0 ? "0" : SizeText(at), "small", Anchor::kEnd);
  }
}

void BeginRunsView(const Frame& frame, const std::string& look, Svg* svg) {
  svg->BeginView(frame.left, frame.top, frame.width, frame.height, frame.runs, frame.height, look);
}

void DrawPassEnds(const Frame& frame, const Stays& stays, Svg* svg) {
  for (const int end : std::set<int>(stays.pass_end.begin(), stays.pass_end.end())) {
    if (end > 0 && end < frame.runs) svg->Line(end, 0, end, frame.height, "axis dashed");
  }
}

void DrawRunAxis(const Frame& frame, const Stays& stays, bool title, Svg* svg) {
  constexpr double kCharacter = 7;
  const auto at_run = [](double run) { return "data-run=\"" + Short(run) + "\""; };
  const double numbers = frame.bottom() + 14, names = frame.bottom() + 29;
  svg->Text(frame.left, numbers, "0", "small", Anchor::kStart, at_run(0));
  if (title) svg->Text(frame.left - 6, numbers, "operation", "small", Anchor::kEnd);
  int begin = 0;
  for (size_t pass = 0; pass < stays.pass_end.size(); ++pass) {
    const int end = stays.pass_end[pass];
    if (end == begin) continue;
    const std::string name = layrub::Name(static_cast<layrub::Pass>(pass));
    svg->Text(frame.X(end), numbers, std::to_string(end), "small",
              end == frame.runs ? Anchor::kEnd : Anchor::kMiddle, at_run(end));
    const double middle = (begin + end) / 2.0;
    if (frame.X(end) - frame.X(begin) > kCharacter * static_cast<double>(name.size()))
      svg->Text(frame.X(middle), names, name, "small", Anchor::kMiddle, at_run(middle));
    begin = end;
  }
}

void DrawEdges(const Frame& frame, Svg* svg) {
  svg->Line(frame.left, frame.top, frame.left, frame.bottom(), "axis");
  svg->Line(frame.left, frame.bottom(), frame.right(), frame.bottom(), "axis");
}

}  // namespace layrub_tool
