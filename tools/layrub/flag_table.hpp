#ifndef TOOLS_LAYRUB_FLAG_TABLE_HPP_
#define TOOLS_LAYRUB_FLAG_TABLE_HPP_

#include <string>
#include <vector>

// The descriptions of the flags. `layrub COMMAND --help` prints them, and
// packaging/describe_programs.py makes the man pages and the completion for bash from that output.

namespace layrub_tool {

/// A flag as some commands use it. If a flag means something else to another command, it has
/// another row for that command.
struct FlagRow {
  const char* commands;  ///< "train test"
  const char* flag;      ///< "--device_memory=SIZE"
  const char* text;      ///< what it is for; {strategies} stands for the names of all strategies
};
const std::vector<FlagRow>& FlagTable();

/// Whether the command knows the flag, "device_memory".
bool KnowsFlag(const std::string& command, const std::string& flag);

/// Whether the flag's value is a list: its row has a comma, "--load=FILE[,FILE]". Rows of other
/// commands count if `command` does not know the flag.
bool HoldsList(const std::string& command, const std::string& flag);

/// The rows of the command, in lines of at most 80 characters.
std::string FlagsHelp(const std::string& command);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_FLAG_TABLE_HPP_
