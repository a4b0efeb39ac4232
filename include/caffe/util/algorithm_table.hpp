#ifndef CAFFE_UTIL_ALGORITHM_TABLE_HPP_
#define CAFFE_UTIL_ALGORITHM_TABLE_HPP_

// Costs of the algorithms that a library has for an operation, and the file that stores them.
// Nothing here needs a device; the callers measure.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/memory_traits.hpp"

namespace caffe {

/// The algorithms of one step (a convolution's forward, for example). Names have no white space and
/// no '+'.
using AlgorithmTable = std::vector<Algorithm>;

/// Returns the algorithms of an operation that runs `steps` one after the other with one workspace.
/// Each consists of one algorithm per step, with the names joined by '+', the bytes of the largest
/// and the sum of the seconds. Those that another one beats (no larger, no slower, and reproducible
/// if they are) are left out. Smallest first. The seconds of all algorithms must be known.
AlgorithmTable Combine(const std::vector<AlgorithmTable>& steps);

/// Returns the single algorithm of the operation if seconds are unknown. Each table must be sorted
/// by expected speed, fastest first. From each, takes the first reproducible algorithm of at most
/// layrub::kWorkspaceCap bytes, or the smallest reproducible one if all are larger. Empty if a
/// table has no reproducible algorithm.
AlgorithmTable WithoutTimes(const std::vector<AlgorithmTable>& steps);

/// Returns the part of the name `choice` for step `step`, or "" if there is none.
std::string_view AlgorithmOf(std::string_view choice, int step);

/// Measured tables, by the name of what was measured, stored in a JSON file per device and library
/// version. A file that cannot be read or has another format counts as empty, with a warning, and
/// is replaced. If the file cannot be written, a warning is logged and the tables last only as long
/// as the program. Thread safe.
class AlgorithmCache {
 public:
  /// Reads `path`. Empty: use no file.
  explicit AlgorithmCache(std::string path);
  /// Returns false if there is no table of this name. Bytes are not stored: the caller asks the
  /// library for them.
  bool Find(const std::string& name, AlgorithmTable* table) const;
  /// Adds a table and writes the file.
  void Store(const std::string& name, const AlgorithmTable& table);

  /// Returns <user's cache folder>/layrub/<name>.json, with characters that are unsuitable in file
  /// names replaced by '_'. The cache folder is $XDG_CACHE_HOME, else $HOME/.cache; returns "" if
  /// there is none.
  static std::string PathFor(const std::string& name);

 private:
  void Read();
  void Write() const;

  const std::string path_;
  mutable std::mutex mutex_;
  std::map<std::string, AlgorithmTable> tables_;

  DISABLE_COPY_AND_ASSIGN(AlgorithmCache);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_ALGORITHM_TABLE_HPP_
