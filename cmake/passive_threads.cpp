// Linked into every program and test: OpenMP's threads sleep between parallel regions instead of spinning. They share
// the cores with the threads of the BLAS and of the copy lanes; spinning costs several times the work itself.
// libgomp reads its environment before any constructor of a library runs, hence .preinit_array. A policy that the user
// has set stays.
#include <cstdlib>

namespace {

void ChoosePassiveThreads() { setenv("OMP_WAIT_POLICY", "passive", 0); }

__attribute__((section(".preinit_array"), used)) void (*choose_passive_threads)() = ChoosePassiveThreads;

}  // namespace
