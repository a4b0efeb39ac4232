#include "layrub/device/ranks.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>

#include "layrub/base/beside_library.hpp"
#include "mpi/connect.hpp"

namespace layrub {
namespace {

/// Returns the value of the first of these environment variables that is set, or -1 if none is.
int NumberIn(std::initializer_list<const char*> variables) {
  for (const char* variable : variables) {
    if (const char* const text = std::getenv(variable)) return std::atoi(text);
  }
  return -1;
}

// The variables of Open MPI's mpirun, of launchers that use PMI, and of srun --mpi=pmix.
int Rank() { return NumberIn({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}); }
int Size() { return NumberIn({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}); }

}  // namespace

bool StartedByMpi() { return Rank() >= 0 && Size() > 1; }

bool StartedAsFollower() { return StartedByMpi() && Rank() > 0; }

std::unique_ptr<RankCommunicator> ConnectRanks(std::string* why_not) {
  const std::string path = PathBesideLibrary("liblayrub_mpi.so");
  // RTLD_GLOBAL: Open MPI opens plugins that need its symbols to be global.
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    *why_not = std::string("MPI cannot be used (") + dlerror() +
               "): install Open MPI (Debian: libopenmpi-dev, openmpi-bin) and build again.";
    return nullptr;
  }
  const auto connect =
      reinterpret_cast<decltype(&layrub_connect_mpi)>(dlsym(library, "layrub_connect_mpi"));
  if (connect == nullptr) {
    *why_not = path + " is of another version: install it together with libcaffe.";
    return nullptr;
  }
  std::unique_ptr<RankCommunicator> ranks(connect(why_not));
  if (ranks && ranks->size() != Size()) {
    *why_not = "It says that it started " + std::to_string(Size()) + " processes, but MPI finds " +
               std::to_string(ranks->size()) +
               ": use the mpirun of Open MPI, with which this program was built.";
    return nullptr;
  }
  return ranks;
}

}  // namespace layrub
