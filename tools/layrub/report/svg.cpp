#include "layrub/report/svg.hpp"

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace layrub_tool {
namespace {

/// In a page that contains the picture, the rules apply to the whole page, so they all start with
/// ".picture".
constexpr char kStyle[] = R"(
.picture{color-scheme:light dark}
.picture text{font:12px system-ui,sans-serif;fill:#59636e}
.picture .small{font-size:11px}
.picture .name{font-weight:600;font-size:14px;fill:#1f2328}
.picture .background{fill:#fff}
.picture .axis{stroke:#818b98;fill:none}
.picture .grid{stroke:#818b98;stroke-opacity:.25;fill:none}
.picture .mark{stroke:#1f2328;fill:none;pointer-events:none}
.picture .strong{fill:#1f2328;font-weight:600}
.picture .label{fill:#1f2328}
.picture .dashed{stroke-dasharray:4 3}
.picture .dotted{stroke-dasharray:1 3}
.picture .view *{vector-effect:non-scaling-stroke}
.picture .halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
.picture .head{transform-box:fill-box;transform-origin:center;transform:scaleX(var(--unzoom,1))}
.picture .idle{fill-opacity:.25}
.picture .shade{fill-opacity:.12}
.picture .stay path{stroke:currentColor;stroke-width:.4}
.picture .idle path{stroke-opacity:.25}
.picture .outlined .stay path:not(.thin){stroke-opacity:1;stroke:#fff;stroke-width:.5}
.picture .outlined .stay.again path,.picture rect.again{stroke:#1f2328;stroke-width:1;stroke-dasharray:3 2}
.picture .parameter,.picture .series1{fill:#0072b2;color:#0072b2}
.picture .parameter_gradient,.picture .series2{fill:#56b4e9;color:#56b4e9}
.picture .history,.picture .series3{fill:#8493a8;color:#8493a8}
.picture .user,.picture .series4{fill:#a0522d;color:#a0522d}
.picture .activation,.picture .series5{fill:#e69f00;color:#e69f00}
.picture .activation_gradient,.picture .series6{fill:#009e73;color:#009e73}
.picture .saved,.picture .series7{fill:#cc79a7;color:#cc79a7}
.picture .workspace,.picture .series8{fill:#d55e00;color:#d55e00}
.picture .stroke{fill:none;stroke:currentColor;stroke-width:1.5}
@media (prefers-color-scheme:dark){
.picture text{fill:#9198a1}
.picture .name{fill:#f0f6fc}
.picture .background{fill:#0d1117}
.picture .mark{stroke:#f0f6fc}
.picture .strong,.picture .label{fill:#f0f6fc}
.picture .outlined .stay path:not(.thin){stroke:#0d1117}
.picture .halo{stroke:#0d1117}
.picture .outlined .stay.again path,.picture rect.again{stroke:#f0f6fc}
}
)";

constexpr char kReplacement[] = "\xef\xbf\xbd";  // U+FFFD

std::string Utf8(const std::string& text) {
  using Json = nlohmann::json;
  const auto ascii = [](unsigned char c) { return c < 0x80; };
  if (std::all_of(text.begin(), text.end(), ascii)) return text;
  std::string valid = Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
  for (const char* no_character : {"\xef\xbf\xbe", "\xef\xbf\xbf"})  // U+FFFE, U+FFFF
    boost::replace_all(valid, no_character, kReplacement);
  return valid;
}

std::string Attribute(const std::string& name, const std::string& value) {
  return value.empty() ? "" : " " + name + "=\"" + value + "\"";
}

std::string Attribute(const std::string& name, double value) {
  return Attribute(name, Short(value));
}

std::string Title(const std::string& title) {
  return title.empty() ? "" : "<title>" + EscapeXml(title) + "</title>";
}

/// `value` with three digits, and `unit`.
std::string ThreeDigits(double value, const char* unit) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2, value);
  std::string digits = text;
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.back() == '.') digits.pop_back();
  }
  return digits + " " + unit;
}

}  // namespace

Svg::Svg(double width, double height, const std::string& title) {
  const std::string size = Short(width) + " " + Short(height);
  out_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"picture\"" + Attribute("width", width) +
         Attribute("height", height) + Attribute("viewBox", "0 0 " + size) + " role=\"img\">\n" +
         Title(title) + "\n<style>" + kStyle + "</style>\n";
  Rect(0, 0, width, height, "background");
}

void Svg::Text(double x, double y, const std::string& text, const std::string& look, Anchor anchor,
               const std::string& attributes) {
  const char* place = anchor == Anchor::kStart ? "" : anchor == Anchor::kEnd ? "end" : "middle";
  out_ += "<text" + Attribute("x", x) + Attribute("y", y) + Attribute("class", look) +
          Attribute("text-anchor", place) + (attributes.empty() ? "" : " " + attributes) + ">" +
          EscapeXml(text) + "</text>\n";
}

void Svg::Rect(double x, double y, double width, double height, const std::string& look) {
  out_ += "<rect" + Attribute("x", x) + Attribute("y", y) + Attribute("width", width) +
          Attribute("height", height) + Attribute("class", look) + "/>\n";
}

void Svg::Line(double x1, double y1, double x2, double y2, const std::string& look) {
  out_ += "<line" + Attribute("x1", x1) + Attribute("y1", y1) + Attribute("x2", x2) +
          Attribute("y2", y2) + Attribute("class", look) + "/>\n";
}

void Svg::Circle(double x, double y, double radius, const std::string& look,
                 const std::string& title) {
  out_ += "<circle" + Attribute("cx", x) + Attribute("cy", y) + Attribute("r", radius) +
          Attribute("class", look) + ">" + Title(title) + "</circle>\n";
}

void Svg::Path(const std::string& path, const std::string& look, const std::string& title,
               const std::string& attributes) {
  out_ += "<path" + Attribute("class", look) + (attributes.empty() ? "" : " " + attributes) +
          " d=\"" + path + "\"" + (title.empty() ? "/>\n" : ">" + Title(title) + "</path>\n");
}

void Svg::BeginGroup(const std::string& look) { out_ += "<g" + Attribute("class", look) + ">\n"; }

void Svg::EndGroup() { out_ += "</g>\n"; }

void Svg::BeginView(double x, double y, double width, double height, double columns, double rows,
                    const std::string& look) {
  out_ += "<svg" + Attribute("class", look + (look.empty() ? "view" : " view")) +
          Attribute("x", x) + Attribute("y", y) + Attribute("width", width) +
          Attribute("height", height) +
          Attribute("viewBox", "0 0 " + Short(columns) + " " + Short(rows)) +
          " preserveAspectRatio=\"none\">\n";
}

void Svg::EndView() { out_ += "</svg>\n"; }

std::string Svg::Finish() { return std::move(out_) + "</svg>\n"; }

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : Utf8(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')
          escaped += kReplacement;
        else
          escaped += c;
    }
  }
  return escaped;
}

std::string Short(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.2f", value);
  std::string digits = text;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return digits == "-0" ? "0" : digits;
}

int64_t ByteStep(int64_t most) {
  int64_t step = 1;
  while (most / step > 8) step *= 2;
  return step;
}

double DecimalStep(double most) {
  const double power = std::pow(10, std::floor(std::log10(most)));
  for (const double step : {0.1, 0.2, 0.5, 1.0}) {
    if (most / (step * power) <= 8) return step * power;
  }
  return 2 * power;
}

std::string SizeText(int64_t bytes) {
  constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes) / 1024;
  const char* const* unit = kUnits;
  while (value >= 1023.5 && unit + 1 < std::end(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return ThreeDigits(value, *unit);
}

std::string TimeText(double seconds) {
  if (seconds >= 0.9995) return ThreeDigits(seconds, "s");
  if (seconds >= 0.9995e-3 || seconds == 0) return ThreeDigits(seconds * 1e3, "ms");
  return ThreeDigits(seconds * 1e6, "µs");
}

}  // namespace layrub_tool
