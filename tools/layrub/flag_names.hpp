#ifndef TOOLS_LAYRUB_FLAG_NAMES_HPP_
#define TOOLS_LAYRUB_FLAG_NAMES_HPP_

namespace layrub_tool {

/// Replaces -h, which gflags does not know, by --help. Ends the program if an argument is an
/// unknown flag, and names the most similar one. Call it before gflags parses the arguments.
void CheckFlagNames(int argc, char** argv);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_FLAG_NAMES_HPP_
