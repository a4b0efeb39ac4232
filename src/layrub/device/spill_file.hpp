#ifndef LAYRUB_DEVICE_SPILL_FILE_HPP_
#define LAYRUB_DEVICE_SPILL_FILE_HPP_

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "layrub/device/tier_memory.hpp"

namespace layrub {

/// The file tier: one file for each allocation, with all its disk space reserved before Allocate
/// returns. Its addresses are reserved without memory behind them. A file is unlinked as soon as it
/// is open, so nothing is left behind however the process ends. An error is a failure (failure.hpp)
/// whose message names the file and the system's reason.
///
/// A large file is written and read past the system's cache (O_DIRECT) where its file system can do
/// that, so that spilled bytes do not fill the memory again. This goes in whole blocks, several
/// pieces at a time. Several threads may copy at the same time, but only one of them to the file.
class SpillFile final : public TierMemory {
 public:
  /// Files smaller than this go through the system's cache.
  static constexpr int64_t kLarge = int64_t{64} << 20;

  /// `path`: a folder, or a file that does not exist.
  explicit SpillFile(std::string path, int64_t large = kLarge);
  ~SpillFile() override;

  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Copy(void* to, const void* from, int64_t bytes) override;

 private:
  struct Range {
    int64_t bytes = 0;
    int file = -1;
    bool direct = false;  ///< past the system's cache
  };
  /// A byte of a file. No file if file < 0.
  struct Position {
    int file = -1;
    int64_t offset = 0;
    bool direct = false;
  };

  int Open() const;
  void Reserve(int file, int64_t bytes) const;
  Position Find(const void* address) const;
  void Write(Position to, const char* from, int64_t bytes) const;
  void Read(char* to, Position from, int64_t bytes) const;
  void InPieces(const Position& at, int64_t bytes, bool write, char* memory);
  void WritePiece(const Position& to, const char* from, int64_t bytes);
  void ReadPiece(char* to, const Position& from, int64_t bytes);

  /// kPiece bytes plus two blocks, aligned to a block.
  using Buffer = std::unique_ptr<char, decltype(&std::free)>;
  Buffer TakeBuffer();
  void GiveBuffer(Buffer buffer);

  const std::string path_;
  const int64_t large_;
  mutable std::mutex mutex_;
  std::vector<Buffer> buffers_;          ///< that are not in use
  std::map<const char*, Range> ranges_;  ///< by first address
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_SPILL_FILE_HPP_
