#ifndef TOOLS_LAYRUB_NUMBER_TEXT_HPP_
#define TOOLS_LAYRUB_NUMBER_TEXT_HPP_

#include <string>

namespace layrub_tool {

/// `value` with so many decimals.
std::string Fixed(double value, int decimals);
/// Three significant digits: "1.23 ms", "45.6 s".
std::string FormatSeconds(double seconds);
/// "12 %"; of a `whole` of 0 as well.
std::string Percent(double part, double whole);
/// `text` in at most `width` characters: "conv_with_a_long_na..".
std::string Shortened(const std::string& text, size_t width);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_NUMBER_TEXT_HPP_
