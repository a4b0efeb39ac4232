#ifndef LAYRUB_BASE_BYTES_HPP_
#define LAYRUB_BASE_BYTES_HPP_

#include <cstdint>
#include <string>

#include "layrub/base/status.hpp"

namespace layrub {

/// Parses a size as people write it: a number, then nothing or B (bytes), KB MB GB TB (powers of
/// 1000) or KiB MiB GiB TiB (powers of 1024), in any case, with or without a space: "8GiB", "512
/// MB", "1.5gib", "4096". Cuts off fractions of a byte. Returns kInvalid for anything else, for
/// negative sizes and for 2^63 bytes or more.
Result<int64_t> ParseBytes(const std::string& text);

/// Formats `bytes` with one decimal in MiB (2^20 bytes), or in KiB (2^10 bytes) below 1 MiB: "123.4
/// MiB". All reports of the project use this format.
std::string FormatBytes(int64_t bytes);

}  // namespace layrub

#endif  // LAYRUB_BASE_BYTES_HPP_
