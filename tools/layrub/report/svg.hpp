#ifndef TOOLS_LAYRUB_REPORT_SVG_HPP_
#define TOOLS_LAYRUB_REPORT_SVG_HPP_

#include <cstdint>
#include <string>

namespace layrub_tool {

/// Where the point given for a text is: at its begin, in its middle or at its end.
enum class Anchor { kStart, kMiddle, kEnd };

/// A picture in SVG, in the order of drawing: what comes later lies above. Coordinates and lengths
/// are pixels from the top left corner, y downwards. `look` is a list of classes of the style
/// sheet, separated by spaces: "axis", "grid", "mark", "dashed", "name", "small", the name of a
/// role (layrub::Name) for its colour, "series1" to "series8" for those of anything else. Colours
/// are Okabe and Ito's, which the colour-blind tell apart; they fit light and dark screens. Texts
/// are escaped here.
class Svg {
 public:
  /// `title` says what the picture shows, to those who do not see it.
  Svg(double width, double height, const std::string& title);

  /// `attributes`, here and below, are written as they are.
  void Text(double x, double y, const std::string& text, const std::string& look = "",
            Anchor anchor = Anchor::kStart, const std::string& attributes = "");
  void Rect(double x, double y, double width, double height, const std::string& look);
  void Line(double x1, double y1, double x2, double y2, const std::string& look);
  void Circle(double x, double y, double radius, const std::string& look,
              const std::string& title = "");
  /// `path` is SVG's path data; browsers show `title` under the mouse.
  void Path(const std::string& path, const std::string& look, const std::string& title = "",
            const std::string& attributes = "");
  void BeginGroup(const std::string& look);
  void EndGroup();
  /// What is drawn until EndView has coordinates of its own, from (0, 0) to (columns, rows),
  /// stretched over the rectangle and cut off at its edges; strokes are not stretched.
  void BeginView(double x, double y, double width, double height, double columns, double rows,
                 const std::string& look);
  void EndView();

  /// The whole file. Nothing can be drawn after that.
  std::string Finish();

 private:
  std::string out_;
};

/// `text` for XML and HTML, between tags and in attributes with quotation marks. What XML cannot
/// have, bytes that are no UTF-8 and control characters, becomes U+FFFD.
std::string EscapeXml(const std::string& text);

/// A coordinate in as few characters as a hundredth of a pixel needs.
std::string Short(double value);

/// The distance of ticks on an axis that goes to `most`, which is larger than 0, so that there are
/// four to eight: a power of two.
int64_t ByteStep(int64_t most);
/// The same for other values: 1, 2 or 5 times a power of ten.
double DecimalStep(double most);
/// "512 MiB", "1.5 GiB": three digits, for axes and labels.
std::string SizeText(int64_t bytes);
/// "1.23 ms", "45 s": three digits.
std::string TimeText(double seconds);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_SVG_HPP_
