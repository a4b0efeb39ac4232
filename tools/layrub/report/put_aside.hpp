#ifndef TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_
#define TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_

#include <string>
#include <vector>

namespace layrub_tool {

/// Renames those of the files that are not empty: metrics.jsonl to metrics.1.jsonl, report.html to
/// report.1.html. All get the same number, the first that is free for all. Returns the new names.
/// Ends the program on failure.
std::vector<std::string> RenameToFreeNames(const std::vector<std::string>& paths);

/// Copies the file to the name that RenameToFreeNames would give it, and returns the name. Ends the
/// program on failure.
std::string CopyToFreeName(const std::string& path);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_
