// A library for LD_PRELOAD that makes one call of a process fail, to test the process's error
// message.
//
//   MEMORY_FAULT=KIND:N[:ERRNO]  the N-th call (from 1) of this kind fails, with errno ERRNO
//   MEMORY_FAULT_COUNTS=FILE     at the end, FILE has a line "KIND calls" for each kind
//
// Kinds: new (operator new), large (allocations of 64 KiB and more by arenas and pools), reserve,
// read and write (posix_fallocate, pread and pwrite on unnamed files).
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

enum Kind { kNew, kLarge, kReserve, kRead, kWrite, kKinds };
constexpr std::array<const char*, kKinds> kNames = {"new", "large", "reserve", "read", "write"};
constexpr size_t kLargeBytes = 64 << 10;

std::array<std::atomic<long>, kKinds> calls;
int wanted_kind = -1;
long wanted_call = 0;
int wanted_errno = ENOMEM;

void ReadEnvironment() {
  const char* text = std::getenv("MEMORY_FAULT");
  if (text == nullptr) return;
  for (int kind = 0; kind < kKinds; ++kind) {
    const size_t length = std::strlen(kNames[kind]);
    if (std::strncmp(text, kNames[kind], length) != 0 || text[length] != ':') continue;
    wanted_kind = kind;
    std::sscanf(text + length, ":%ld:%d", &wanted_call, &wanted_errno);
  }
}

using Main = int (*)(int, char**, char**);
Main program;

/// Resets the counters, so that calls before main do not count.
int CountedMain(int argc, char** argv, char** environment) {
  for (std::atomic<long>& count : calls) count = 0;
  ReadEnvironment();
  return program(argc, argv, environment);
}

__attribute__((destructor)) void WriteCounts() {
  const char* path = std::getenv("MEMORY_FAULT_COUNTS");
  FILE* const file = path ? std::fopen(path, "w") : nullptr;
  if (file == nullptr) return;
  for (int kind = 0; kind < kKinds; ++kind)
    std::fprintf(file, "%s %ld\n", kNames[kind], calls[kind].load());
  std::fclose(file);
}

/// Counts a call. Returns true, with errno set, if it must fail.
bool Fails(Kind kind) {
  const long call = ++calls[kind];
  if (kind != wanted_kind || call != wanted_call) return false;
  errno = wanted_errno;
  return true;
}

bool HasNoName(int file) {
  struct stat status;
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

void* New(size_t size, size_t alignment) {
  for (bool fails = Fails(kNew);;) {
    void* memory = nullptr;
    if (!fails && posix_memalign(&memory, alignment, size > 0 ? size : 1) == 0) return memory;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

void* operator new(size_t size) { return New(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(size_t size, std::align_val_t alignment) {
  return New(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack) {
  using Start = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  program = main;
  return Next<Start>("__libc_start_main")(CountedMain, argc, argv, init, fini, loader_fini, stack);
}

void* aligned_alloc(size_t alignment, size_t size) {
  static auto* const next = Next<void*(size_t, size_t)>("aligned_alloc");
  return size >= kLargeBytes && Fails(kLarge) ? nullptr : next(alignment, size);
}

int posix_fallocate(int file, off_t offset, off_t length) {
  static auto* const next = Next<int(int, off_t, off_t)>("posix_fallocate");
  return HasNoName(file) && Fails(kReserve) ? errno : next(file, offset, length);
}

ssize_t pread(int file, void* to, size_t bytes, off_t offset) {
  static auto* const next = Next<ssize_t(int, void*, size_t, off_t)>("pread");
  return HasNoName(file) && Fails(kRead) ? -1 : next(file, to, bytes, offset);
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t offset) {
  static auto* const next = Next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return HasNoName(file) && Fails(kWrite) ? -1 : next(file, from, bytes, offset);
}

}  // extern "C"
