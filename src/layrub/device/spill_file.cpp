#include "layrub/device/spill_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "layrub/base/bytes.hpp"
#include "layrub/device/failure.hpp"
#include "layrub/placement/ir/graph.hpp"

namespace layrub {
namespace {

/// Direct reads and writes begin and end at multiples of this, which suits the blocks of any disk.
constexpr int64_t kBlock = 4096;
/// Bytes of a direct request, and how many requests run at the same time.
constexpr int64_t kPiece = int64_t{1} << 20;
constexpr int64_t kInFlight = 4;

int64_t BlockBelow(int64_t offset) { return offset / kBlock * kBlock; }
int64_t BlockAbove(int64_t offset) { return BlockBelow(offset + kBlock - 1); }

/// Makes reads and writes of `file` bypass the cache. Returns false if its file system cannot do
/// that.
bool MakeDirect(int file) {
  const int flags = fcntl(file, F_GETFL);
  return flags >= 0 && fcntl(file, F_SETFL, flags | O_DIRECT) == 0;
}

/// Returns how many addresses stand for `bytes` of a file.
int64_t AddressBytes(int64_t bytes) { return Aligned(std::max<int64_t>(bytes, 1)); }

/// Closes a file unless it is released.
class OwnedFile {
 public:
  explicit OwnedFile(int file) : file_(file) {}
  ~OwnedFile() {
    if (file_ >= 0) close(file_);
  }
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;
  int Release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

SpillFile::SpillFile(std::string path, int64_t large) : path_(std::move(path)), large_(large) {}

SpillFile::~SpillFile() {
  while (!ranges_.empty()) Free(const_cast<char*>(ranges_.begin()->first));
}

void* SpillFile::Allocate(int64_t bytes) {
  if (bytes < 0 || bytes > std::numeric_limits<int64_t>::max() - kAlignment) return nullptr;
  const int file = Open();
  OwnedFile owned(file);
  const bool direct = bytes >= large_ && MakeDirect(file);
  Reserve(file, BlockAbove(bytes));
  void* memory = mmap(nullptr, static_cast<size_t>(AddressBytes(bytes)), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    FailWithErrno("Cannot reserve " + std::to_string(bytes) + " addresses for the spill file " +
                  path_);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  ranges_[static_cast<const char*>(memory)] = {bytes, owned.Release(), direct};
  return memory;
}

void SpillFile::Free(void* memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto range = ranges_.find(static_cast<const char*>(memory));
  if (range == ranges_.end()) throw std::invalid_argument("SpillFile::Free: not allocated here");
  munmap(memory, static_cast<size_t>(AddressBytes(range->second.bytes)));
  close(range->second.file);
  ranges_.erase(range);
}

void SpillFile::Copy(void* to, const void* from, int64_t bytes) {
  const Position target = Find(to);
  const Position source = Find(from);
  if (target.file >= 0 && source.file >= 0) {
    throw std::invalid_argument("SpillFile::Copy: from one file to another");
  }
  if (target.direct) {
    InPieces(target, bytes, true, static_cast<char*>(const_cast<void*>(from)));
  } else if (source.direct) {
    InPieces(source, bytes, false, static_cast<char*>(to));
  } else if (target.file >= 0) {
    Write(target, static_cast<const char*>(from), bytes);
  } else if (source.file >= 0) {
    Read(static_cast<char*>(to), source, bytes);
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

/// Opens a new file and unlinks it.
int SpillFile::Open() const {
  std::string name = path_;
  int file = -1;
  if (IsFolder(path_)) {
    name += "/layrub-spill-XXXXXX";
    file = mkostemp(name.data(), O_CLOEXEC);
  } else {
    file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  }
  if (file < 0) FailWithErrno("Cannot make the spill file " + name);
  OwnedFile owned(file);
  if (unlink(name.c_str()) != 0) FailWithErrno("Cannot remove the name of the spill file " + name);
  return owned.Release();
}

/// Reserves `bytes` on the disk, so that later writes find space.
void SpillFile::Reserve(int file, int64_t bytes) const {
  if (bytes == 0) return;
  struct statvfs disk;
  if (fstatvfs(file, &disk) != 0)
    FailWithErrno("Cannot read the free space on the disk of the spill file " + path_);
  // Asked first, because posix_fallocate fills the disk before it fails.
  const auto free = static_cast<int64_t>(disk.f_bavail * disk.f_frsize);
  const std::string needs = "the spill file " + path_ + " needs " + FormatBytes(bytes) + " (" +
                            std::to_string(bytes) + " bytes)";
  if (bytes > free)
    Fail("The disk is full: " + needs + ", its disk has " + FormatBytes(free) + " left");
  int error = EINTR;
  while (error == EINTR) error = posix_fallocate(file, 0, bytes);
  if (error != 0) Fail("Cannot reserve disk space: " + needs + ": " + std::strerror(error));
}

SpillFile::Position SpillFile::Find(const void* address) const {
  const char* byte = static_cast<const char*>(address);
  const std::lock_guard<std::mutex> lock(mutex_);
  auto range = ranges_.upper_bound(byte);
  if (range == ranges_.begin()) return {};
  --range;
  const int64_t offset = byte - range->first;
  return offset < AddressBytes(range->second.bytes)
             ? Position{range->second.file, offset, range->second.direct}
             : Position{};
}

/// Copies between `memory` and the bytes of the file from `at` on, several pieces at a time.
void SpillFile::InPieces(const Position& at, int64_t bytes, bool write, char* memory) {
  const int64_t pieces = (bytes + kPiece - 1) / kPiece;
  std::atomic<int64_t> next{0};
  const auto work = [&] {
    for (int64_t i = next++; i < pieces; i = next++) {
      // Each piece but the first begins at a block boundary.
      const auto place = [&](int64_t piece) {
        const int64_t offset = std::min(at.offset + bytes, BlockBelow(at.offset) + piece * kPiece);
        return std::max(at.offset, offset);
      };
      const int64_t begin = place(i), end = i + 1 == pieces ? at.offset + bytes : place(i + 1);
      const Position position{at.file, begin, true};
      char* const part = memory + (begin - at.offset);
      write ? WritePiece(position, part, end - begin) : ReadPiece(part, position, end - begin);
    }
  };
  std::vector<std::future<void>> others;
  try {
    for (int64_t i = 1; i < std::min(pieces, kInFlight); ++i)
      others.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {
    // No more threads can be started: those that run do all the work.
  }
  work();
  for (std::future<void>& other : others) other.get();
}

/// Writes whole blocks. First reads the bytes beside the piece in the blocks at its ends.
void SpillFile::WritePiece(const Position& to, const char* from, int64_t bytes) {
  const int64_t begin = BlockBelow(to.offset), end = BlockAbove(to.offset + bytes);
  Buffer buffer = TakeBuffer();
  char* const blocks = buffer.get();
  if (begin < to.offset) Read(blocks, {to.file, begin, true}, kBlock);
  const int64_t last = end - kBlock;
  if (to.offset + bytes < end && (last > begin || begin == to.offset))
    Read(blocks + (last - begin), {to.file, last, true}, kBlock);
  std::memcpy(blocks + (to.offset - begin), from, static_cast<size_t>(bytes));
  Write({to.file, begin, true}, blocks, end - begin);
  GiveBuffer(std::move(buffer));
}

void SpillFile::ReadPiece(char* to, const Position& from, int64_t bytes) {
  const int64_t begin = BlockBelow(from.offset), end = BlockAbove(from.offset + bytes);
  Buffer buffer = TakeBuffer();
  Read(buffer.get(), {from.file, begin, true}, end - begin);
  std::memcpy(to, buffer.get() + (from.offset - begin), static_cast<size_t>(bytes));
  GiveBuffer(std::move(buffer));
}

SpillFile::Buffer SpillFile::TakeBuffer() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!buffers_.empty()) {
      Buffer buffer = std::move(buffers_.back());
      buffers_.pop_back();
      return buffer;
    }
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, kBlock, kPiece + 2 * kBlock) != 0) throw std::bad_alloc();
  return {static_cast<char*>(memory), &std::free};
}

void SpillFile::GiveBuffer(Buffer buffer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  buffers_.push_back(std::move(buffer));
}

void SpillFile::Write(Position to, const char* from, int64_t bytes) const {
  while (bytes > 0) {
    const ssize_t done = pwrite(to.file, from, static_cast<size_t>(bytes), to.offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) FailWithErrno("Cannot write to the spill file " + path_);
    from += done;
    to.offset += done;
    bytes -= done;
  }
}

void SpillFile::Read(char* to, Position from, int64_t bytes) const {
  while (bytes > 0) {
    const ssize_t done = pread(from.file, to, static_cast<size_t>(bytes), from.offset);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) FailWithErrno("Cannot read the spill file " + path_);
    if (done == 0) Fail("Cannot read the spill file " + path_ + ": it has been truncated");
    to += done;
    from.offset += done;
    bytes -= done;
  }
}

}  // namespace layrub
