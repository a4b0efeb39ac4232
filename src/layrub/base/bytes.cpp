#include "layrub/base/bytes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "layrub/base/text.hpp"

namespace layrub {
namespace {

constexpr std::array<std::pair<const char*, int64_t>, 10> kUnits{{
    {"", 1},
    {"b", 1},
    {"kb", 1000},
    {"mb", 1000 * 1000},
    {"gb", 1000 * 1000 * 1000},
    {"tb", 1000LL * 1000 * 1000 * 1000},
    {"kib", 1LL << 10},
    {"mib", 1LL << 20},
    {"gib", 1LL << 30},
    {"tib", 1LL << 40},
}};

Status BadSize(const std::string& text) {
  return Status::Invalid(
      "'" + text +
      "' is not a size: expected a number of bytes, or a number followed by KB, MB, "
      "GB, TB, KiB, MiB, GiB or TiB, below 2^63 bytes");
}

}  // namespace

Result<int64_t> ParseBytes(const std::string& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const size_t start = std::min(text.find_first_not_of(' ', digits), text.size());
  std::string unit = text.substr(start);
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto known = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const auto& entry) { return unit == entry.first; });
  if (known == kUnits.end()) return BadSize(text);

  const std::string number = text.substr(0, digits);
  int64_t whole = 0;
  int64_t bytes = 0;
  if (ParseNumber(number, &whole)) {
    if (__builtin_mul_overflow(whole, known->second, &bytes)) return BadSize(text);
    return bytes;
  }
  double fraction = 0;
  if (!ParseNumber(number, &fraction)) return BadSize(text);
  fraction = std::floor(fraction * static_cast<double>(known->second));
  if (!(fraction < std::ldexp(1.0, 63))) return BadSize(text);
  return static_cast<int64_t>(fraction);
}

std::string FormatBytes(int64_t bytes) {
  const bool small = bytes < 1 << 20;
  std::array<char, 48> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.1f %s",
                static_cast<double>(bytes) / (small ? 1 << 10 : 1 << 20), small ? "KiB" : "MiB");
  return buffer.data();
}

}  // namespace layrub
