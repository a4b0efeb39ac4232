#ifndef LAYRUB_BASE_TEXT_HPP_
#define LAYRUB_BASE_TEXT_HPP_

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace layrub {

/// The parts of `text` between single `separator`s; an empty text has one empty part. Views into
/// `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

/// The parts, with `separator` between them.
std::string Join(const std::vector<std::string>& parts, const std::string& separator);

/// True for a name that the text formats can hold: not empty, no white space, not the placeholder
/// "-".
bool IsName(std::string_view text);

/// Shortest round trip is not needed, exactness is: as printf's %.17g, in every locale.
std::string FormatDouble(double value);

/// Parses all of `text` as a number (decimal, no sign but '-', no white space). False, and `value`
/// untouched, if it is anything else or out of range.
template <typename Number>
bool ParseNumber(std::string_view text, Number* value) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  *value = parsed;
  return true;
}

}  // namespace layrub

#endif  // LAYRUB_BASE_TEXT_HPP_
