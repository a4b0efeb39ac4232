#include "layrub/commands.hpp"
#include "layrub/flags.hpp"

namespace layrub_tool {

namespace {

constexpr int kMostSolvers = 64;

}  // namespace

int SolversFlag() {
  if (FLAGS_cpu_solvers < 1 || FLAGS_cpu_solvers > kMostSolvers) {
    Fail("--cpu_solvers=" + std::to_string(FLAGS_cpu_solvers) + ": 1 to " +
         std::to_string(kMostSolvers) + " solvers can train together.");
  }
  return FLAGS_cpu_solvers;
}

}  // namespace layrub_tool
