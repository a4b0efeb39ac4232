#ifndef TOOLS_LAYRUB_FLAG_NAMES_HPP_
#define TOOLS_LAYRUB_FLAG_NAMES_HPP_

namespace layrub_tool {

/// Puts --help in place of -h, which is no flag of gflags. Ends the program where an argument is no
/// flag that there is, and names the one that it is most like. To be called before gflags takes the
/// flags out.
void CheckFlagNames(int argc, char** argv);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_FLAG_NAMES_HPP_
