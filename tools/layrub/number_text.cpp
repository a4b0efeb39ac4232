#include "layrub/number_text.hpp"

#include <iomanip>
#include <sstream>

namespace layrub_tool {

std::string Fixed(double value, int decimals) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

std::string FormatSeconds(double seconds) {
  const double ms = seconds * 1e3;
  const auto digits = [](double value) { return value < 10 ? 2 : value < 100 ? 1 : 0; };
  return ms < 1000 ? Fixed(ms, digits(ms)) + " ms" : Fixed(seconds, digits(seconds)) + " s";
}

std::string Percent(double part, double whole) {
  return Fixed(whole > 0 ? 100 * part / whole : 0, 0) + " %";
}

std::string Shortened(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 2) + "..";
}

}  // namespace layrub_tool
