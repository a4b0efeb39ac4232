// A library for LD_PRELOAD that makes file operations fail, or kills the process at one of them. It
// counts, from 1, a program's operations on files in one folder: opening to create, writes, syncs,
// changes of size, closing after a write, renames and removals.
//
//   LAYRUB_FAULT_FOLDER  the folder, as realpath gives it
//   LAYRUB_FAULT_LOG     a file elsewhere, to which each call is added: "<number> <call> <path>"
//   LAYRUB_FAULT_AT      the number of the call to hit: "7", or "7+" for that and all later ones
//   LAYRUB_FAULT         what happens there: kill_before, kill_after, ENOSPC, EIO, or short, a
//                        write of half of its bytes
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Fault { kNone, kKillBefore, kKillAfter, kError, kShort };

struct Settings {
  const char* folder = getenv("LAYRUB_FAULT_FOLDER");
  const char* log = getenv("LAYRUB_FAULT_LOG");
  const char* at = getenv("LAYRUB_FAULT_AT");
  const char* kind = getenv("LAYRUB_FAULT");
};

int calls = 0;
bool written[1024];  // by descriptor: written since it was opened

template <typename Function>
Function Real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
#define REAL(name) Real<decltype(&name)>(#name)

bool InFolder(const char* path) {
  static const Settings settings;
  char whole[2 * PATH_MAX];
  if (!settings.folder) return false;
  if (path[0] != '/') {
    if (!getcwd(whole, PATH_MAX)) return false;
    strcat(whole, "/");
    strncat(whole, path, PATH_MAX - 1);
    path = whole;
  }
  const size_t length = strlen(settings.folder);
  return strncmp(path, settings.folder, length) == 0 && (path[length] == '/' || path[length] == 0);
}

const char* PathOf(int fd, char (&path)[PATH_MAX]) {
  char link[64];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
  const ssize_t length = readlink(link, path, PATH_MAX - 1);
  path[length < 0 ? 0 : length] = '\0';
  return path;
}

void Log(const char* path, int number, const char* call) {
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof(line), "%d %s %s\n", number, call, path);
  static const Settings settings;
  if (!settings.log) return;
  const int fd = REAL(open)(settings.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd < 0) return;
  if (REAL(write)(fd, line, static_cast<size_t>(length)) < 0) abort();
  REAL(close)(fd);
}

/// Counts the call and returns what must happen to it. Sets errno for kError.
Fault Next(const char* path, const char* call) {
  static const Settings settings;
  if (!InFolder(path)) return Fault::kNone;
  const int number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  Log(path, number, call);
  if (!settings.at || !settings.kind) return Fault::kNone;
  const int at = atoi(settings.at);
  if (number != at && !(number > at && strchr(settings.at, '+'))) return Fault::kNone;
  if (strcmp(settings.kind, "kill_before") == 0) kill(getpid(), SIGKILL);
  if (strcmp(settings.kind, "kill_after") == 0) return Fault::kKillAfter;
  if (strcmp(settings.kind, "short") == 0) return Fault::kShort;
  errno = strcmp(settings.kind, "EIO") == 0 ? EIO : ENOSPC;
  return Fault::kError;
}

template <typename Value>
Value After(Fault fault, Value value) {
  if (fault == Fault::kKillAfter) kill(getpid(), SIGKILL);
  return value;
}

size_t Taken(Fault fault, size_t bytes) { return fault == Fault::kShort ? (bytes + 1) / 2 : bytes; }

void NoteWritten(int fd, bool value) {
  if (fd >= 0 && fd < 1024) written[fd] = value;
}

Fault NextOf(int fd, const char* call) {
  char path[PATH_MAX];
  return Next(PathOf(fd, path), call);
}

mode_t ModeOf(int flags, va_list rest) { return (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0; }

}  // namespace

extern "C" {

ssize_t write(int fd, const void* data, size_t bytes) {
  const Fault fault = NextOf(fd, "write");
  if (fault == Fault::kError) return -1;
  NoteWritten(fd, true);
  return After(fault, REAL(write)(fd, data, Taken(fault, bytes)));
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t at) {
  const Fault fault = NextOf(fd, "pwrite");
  if (fault == Fault::kError) return -1;
  NoteWritten(fd, true);
  return After(fault, REAL(pwrite)(fd, data, Taken(fault, bytes), at));
}

ssize_t pwrite64(int fd, const void* data, size_t bytes, off64_t at) {
  return pwrite(fd, data, bytes, at);
}

ssize_t writev(int fd, const iovec* pieces, int count) {
  const Fault fault = NextOf(fd, "writev");
  if (fault == Fault::kError) return -1;
  NoteWritten(fd, true);
  return After(fault, REAL(writev)(fd, pieces, count));
}

int fsync(int fd) {
  const Fault fault = NextOf(fd, "fsync");
  return fault == Fault::kError ? -1 : After(fault, REAL(fsync)(fd));
}

int fdatasync(int fd) {
  const Fault fault = NextOf(fd, "fdatasync");
  return fault == Fault::kError ? -1 : After(fault, REAL(fdatasync)(fd));
}

int ftruncate(int fd, off_t size) noexcept {
  const Fault fault = NextOf(fd, "ftruncate");
  return fault == Fault::kError ? -1 : After(fault, REAL(ftruncate)(fd, size));
}

int ftruncate64(int fd, off64_t size) noexcept { return ftruncate(fd, size); }

int close(int fd) {
  if (fd < 0 || fd >= 1024 || !written[fd]) return REAL(close)(fd);
  const Fault fault = NextOf(fd, "close");
  NoteWritten(fd, false);
  const int error = errno;
  const int result = After(fault, REAL(close)(fd));
  if (fault != Fault::kError) return result;
  errno = error;
  return -1;
}

int rename(const char* from, const char* to) noexcept {
  const Fault fault = Next(to, "rename");
  return fault == Fault::kError ? -1 : After(fault, REAL(rename)(from, to));
}

int unlink(const char* path) noexcept {
  const Fault fault = Next(path, "unlink");
  return fault == Fault::kError ? -1 : After(fault, REAL(unlink)(path));
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeOf(flags, rest);
  va_end(rest);
  const Fault fault = (flags & O_CREAT) != 0 ? Next(path, "open") : Fault::kNone;
  if (fault == Fault::kError) return -1;
  const int fd = After(fault, REAL(open)(path, flags, mode));
  NoteWritten(fd, false);
  return fd;
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = ModeOf(flags, rest);
  va_end(rest);
  return open(path, flags, mode);
}

}  // extern "C"
