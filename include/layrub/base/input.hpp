#ifndef LAYRUB_BASE_INPUT_HPP_
#define LAYRUB_BASE_INPUT_HPP_

#include <string>

#include "layrub/base/status.hpp"

namespace layrub {

/// Opens a file or a pipe for reading. The caller must close the descriptor. Returns kInvalid, with
/// one sentence that names the path, if it does not exist, cannot be read or is a folder, or if it
/// is a pipe that has no writer after a second, on which open() and read() would wait forever.
Result<int> OpenToRead(const std::string& path);

/// Returns " (looked in /home/me)", with the folder that the program runs in, if `path` is
/// relative; else "".
std::string LookedIn(const std::string& path);
/// Returns "File not found: nets/a.prototxt (looked in /home/me)".
std::string FileNotFound(const std::string& path);

/// Reads the whole file or pipe. Returns kInvalid as OpenToRead does, and if it holds more than 1
/// GiB.
Result<std::string> ReadText(const std::string& path);

}  // namespace layrub

#endif  // LAYRUB_BASE_INPUT_HPP_
