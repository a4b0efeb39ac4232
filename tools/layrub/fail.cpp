// Apart from the rest, so that a program that hosts the commands can let Fail throw instead.
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "layrub/base/progress_line.hpp"
#include "layrub/commands.hpp"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

void Fail(const std::string& message) {
  // Of processes that mpirun has started together, most fail alike: the first one says it, and
  // mpirun ends the others.
  if (layrub::StartedAsFollower()) sleep(2);
  layrub::ProgressLine::Wipe();
  std::cerr << "layrub: " << message << std::endl;
  std::exit(kFailure);
}

}  // namespace layrub_tool
