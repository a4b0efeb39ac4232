#ifndef TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_
#define TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_

#include <string>
#include <vector>

namespace layrub_tool {

/// Renames those of these files that hold something: metrics.jsonl to metrics.1.jsonl, report.html
/// to report.1.html. The number is the first that is free for all of them. Returns the new names.
/// Ends the program where that cannot be done.
std::vector<std::string> PutAside(const std::vector<std::string>& paths);

/// Copies the file to the name that PutAside would give it, and returns that. Ends the program
/// where that cannot be done.
std::string CopyAside(const std::string& path);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_REPORT_PUT_ASIDE_HPP_
