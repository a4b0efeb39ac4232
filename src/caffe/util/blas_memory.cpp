#include "caffe/util/blas_memory.hpp"

#ifdef USE_MKL

namespace caffe {

void FitBlasIntoAddressSpace(char**) {}
void CheckRoomForBlas() {}

}  // namespace caffe

#else

#include <errno.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "caffe/common.hpp"
#include "caffe/util/mkl_alternate.hpp"
#include "layrub/base/bytes.hpp"

namespace caffe {

namespace {

constexpr int64_t kBufferBytes = int64_t{128} << 20;  ///< per thread, on x86-64
/// Other memory of a program: stacks and the memory of its own threads.
constexpr int64_t kOtherBytes = int64_t{1} << 30;
constexpr char kThreads[] = "OPENBLAS_NUM_THREADS";

/// Returns the limit of the address space; -1 if there is none.
int64_t Limit() {
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<int64_t>(limit.rlim_cur);
}

/// The process's mapped bytes, and how many buffers of OpenBLAS they may include: each thread
/// allocates its buffer when it first runs.
struct Mapped {
  int64_t bytes = 0;
  int buffers = 0;
};

Mapped ReadMapped() {
  Mapped mapped;
  std::ifstream maps("/proc/self/maps");
  for (string line; std::getline(maps, line);) {
    // 7f0000000000-7f0008000000 rw-p 00000000 00:00 0 [/path]
    std::istringstream words(line);
    unsigned long long begin = 0, end = 0;
    char dash;
    string access, path;
    words >> std::hex >> begin >> dash >> end >> access >> path >> path >> path;
    path.clear();
    words >> path;
    const auto bytes = static_cast<int64_t>(end - begin);
    mapped.bytes += bytes;
    if (access == "rw-p" && path.empty()) mapped.buffers += static_cast<int>(bytes / kBufferBytes);
  }
  return mapped;
}

string Sentence(int64_t limit) {
  return "The address space of this process is limited to " + layrub::FormatBytes(limit) +
         " (ulimit -v), which leaves OpenBLAS no room for " + layrub::FormatBytes(kBufferBytes) +
         " a thread: raise the limit, or set " + kThreads + "=1.";
}

bool HasRoom(int64_t bytes) {
  void* const memory = mmap(nullptr, static_cast<size_t>(bytes), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, static_cast<size_t>(bytes));
  return true;
}

}  // namespace

void FitBlasIntoAddressSpace(char** argv) {
  const int64_t limit = Limit();
  if (limit < 0) return;
  const int threads = openblas_get_num_threads();
  const Mapped mapped = ReadMapped();
  const int64_t left = limit - mapped.bytes;
  // The caller's buffer is already mapped.
  const int64_t needed = (threads - mapped.buffers) * kBufferBytes;
  if (needed + kOtherBytes <= left) return;
  mallopt(M_ARENA_MAX, 1);  // an arena per thread takes 64 MiB of addresses each
  if (threads == 1 || (needed <= left && std::getenv(kThreads) != nullptr)) return;
  if (std::getenv(kThreads) == nullptr && setenv(kThreads, "1", 1) == 0) {
    execv("/proc/self/exe", argv);
  }
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, Sentence(limit).c_str());
  _exit(1);  // exit() would wait for OpenBLAS's threads
}

void CheckRoomForBlas() {
  thread_local bool checked = false;
  if (checked) return;
  const int64_t limit = Limit();
  if (limit >= 0 && !HasRoom(kBufferBytes)) LOG(FATAL) << Sentence(limit);
  checked = true;
}

}  // namespace caffe

#endif  // USE_MKL
