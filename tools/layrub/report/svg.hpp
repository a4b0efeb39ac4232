#ifndef TOOLS_LAYRUB_REPORT_SVG_HPP_
#define TOOLS_LAYRUB_REPORT_SVG_HPP_

#include <cstdint>
#include <string>

namespace layrub_tool {

/// Whether the given point is at the start, the middle or the end of a text.
enum class Anchor { kStart, kMiddle, kEnd };

/// Writes a picture in SVG. Later elements are drawn over earlier ones. Coordinates and lengths are
/// pixels from the top left corner, y downwards. `look` is a list of classes of the style sheet,
/// separated by spaces: "axis", "grid", "mark", "dashed", "name", "small", the name of a role
/// (layrub::Name) for its colour, "series1" to "series8" for other colours. The colours are Okabe
/// and Ito's, which colour-blind people can tell apart; they suit light and dark screens. Texts are
/// escaped.
class Svg {
 public:
  /// `title` describes the picture for those who cannot see it.
  Svg(double width, double height, const std::string& title);

  /// `attributes`, here and below, are written without escaping.
  void Text(double x, double y, const std::string& text, const std::string& look = "",
            Anchor anchor = Anchor::kStart, const std::string& attributes = "");
  void Rect(double x, double y, double width, double height, const std::string& look);
  void Line(double x1, double y1, double x2, double y2, const std::string& look);
  void Circle(double x, double y, double radius, const std::string& look,
              const std::string& title = "");
  /// `path` is SVG path data. Browsers show `title` under the mouse.
  void Path(const std::string& path, const std::string& look, const std::string& title = "",
            const std::string& attributes = "");
  void BeginGroup(const std::string& look);
  void EndGroup();
  /// Until EndView, coordinates go from (0, 0) to (columns, rows), stretched over the given
  /// rectangle and clipped at its edges. Strokes are not stretched.
  void BeginView(double x, double y, double width, double height, double columns, double rows,
                 const std::string& look);
  void EndView();

  /// Returns the whole file. Nothing may be drawn after that.
  std::string Finish();

 private:
  std::string out_;
};

/// Escapes `text` for XML and HTML, both between tags and in quoted attributes. Bytes that are not
/// UTF-8, and characters that XML does not allow, become U+FFFD.
std::string EscapeXml(const std::string& text);

/// A coordinate, to a hundredth of a pixel, in as few characters as possible.
std::string Short(double value);

/// The distance of ticks on an axis up to `most` (above 0): the power of two that gives four to
/// eight ticks.
int64_t ByteStep(int64_t most);
/// The same for other values than bytes: 1, 2 or 5 times a power of ten.
double DecimalStep(double most);
/// "512 MiB", "1.5 GiB": three digits, for axes and labels.
std::string SizeText(int64_t bytes);
/// "1.23 ms", "45 s": three digits.
std::string TimeText(double seconds);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_SVG_HPP_
