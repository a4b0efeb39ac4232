#ifndef LAYRUB_DEVICE_SPILL_FILE_HPP_
#define LAYRUB_DEVICE_SPILL_FILE_HPP_

#include <map>
#include <mutex>
#include <string>

#include "layrub/device/tier_memory.hpp"

namespace layrub {

/// The file tier: a file for each allocation, with all its space taken on the disk before Allocate
/// returns. Its addresses are reserved and have no memory. A file loses its name as soon as it is
/// open, so nothing is left behind however the process ends. What goes wrong is a
/// failure (failure.hpp) whose message names the file and says what the system said.
class SpillFile final : public TierMemory {
 public:
  /// `path`: a folder, or a file that does not exist.
  explicit SpillFile(std::string path);
  ~SpillFile() override;

  void* Allocate(int64_t bytes) override;
  void Free(void* memory) override;
  void Copy(void* to, const void* from, int64_t bytes) override;

 private:
  struct Range {
    int64_t bytes = 0;
    int file = -1;
  };
  /// A byte of a file; file < 0: none.
  struct Position {
    int file = -1;
    int64_t offset = 0;
  };

  int Open() const;
  void Reserve(int file, int64_t bytes) const;
  Position Find(const void* address) const;
  void Write(Position to, const char* from, int64_t bytes) const;
  void Read(char* to, Position from, int64_t bytes) const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<const char*, Range> ranges_;  ///< by first address
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_SPILL_FILE_HPP_
