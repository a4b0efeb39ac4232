#ifndef LAYRUB_BASE_TEXT_HPP_
#define LAYRUB_BASE_TEXT_HPP_

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace layrub {

/// Splits `text` at each `separator`. An empty text gives one empty part. The parts are views into
/// `text`.
std::vector<std::string_view> Split(std::string_view text, char separator);

/// Joins the parts, with `separator` between them.
std::string Join(const std::vector<std::string>& parts, const std::string& separator);

/// Whether the text formats can hold this name: it is not empty, has no white space, and is not the
/// placeholder "-".
bool IsName(std::string_view text);

/// Formats `value` exactly, though not as short as possible: as printf's %.17g, in every locale.
std::string FormatDouble(double value);

/// Parses all of `text` as a number (decimal, no sign but '-', no white space). Returns false and
/// leaves `*value` unchanged if it is anything else or out of range.
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
