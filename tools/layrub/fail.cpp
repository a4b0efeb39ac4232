// Apart from the rest, so that a program that hosts the commands can let Fail throw instead.
#include <cstdlib>
#include <iostream>

#include "layrub/base/progress_line.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

void Fail(const std::string& message) {
  layrub::ProgressLine::Wipe();
  std::cerr << "layrub: " << message << std::endl;
  std::exit(kFailure);
}

}  // namespace layrub_tool
