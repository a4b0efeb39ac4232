#ifndef LAYRUB_BASE_INPUT_HPP_
#define LAYRUB_BASE_INPUT_HPP_

#include <string>

#include "layrub/base/status.hpp"

namespace layrub {

/// Opens a file or a pipe for reading; the descriptor is the caller's. kInvalid, in one sentence
/// that names it, where it is not there, cannot be read or is a folder, and for a pipe that nobody
/// writes to: open() and read() would wait for ever.
Result<int> OpenToRead(const std::string& path);

/// " (looked in /home/me)", for a path that is relative, and so to the folder that the program runs
/// in; else "".
std::string LookedIn(const std::string& path);
/// "File not found: nets/a.prototxt (looked in /home/me)".
std::string FileNotFound(const std::string& path);

/// All that is in it. kInvalid as above, and for more than a GiB.
Result<std::string> ReadText(const std::string& path);

}  // namespace layrub

#endif  // LAYRUB_BASE_INPUT_HPP_
