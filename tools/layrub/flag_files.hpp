#ifndef TOOLS_LAYRUB_FLAG_FILES_HPP_
#define TOOLS_LAYRUB_FLAG_FILES_HPP_

#include <string>
#include <vector>

namespace layrub_tool {

/// Ends the program where a --flagfile among `arguments`, or in such a file, names none of at most
/// 1 MiB, or where these files name each other without end: gflags would read on until its memory
/// or stack is gone.
void CheckFlagFiles(const std::vector<std::string>& arguments);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_FLAG_FILES_HPP_
