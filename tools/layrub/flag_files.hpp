#ifndef TOOLS_LAYRUB_FLAG_FILES_HPP_
#define TOOLS_LAYRUB_FLAG_FILES_HPP_

#include <string>
#include <vector>

namespace layrub_tool {

/// Ends the program if a --flagfile among `arguments`, or in such a file, does not name a file of
/// at most 1 MiB, or if such files include each other in a circle. gflags would read until it runs
/// out of memory or stack.
void CheckFlagFiles(const std::vector<std::string>& arguments);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_FLAG_FILES_HPP_
