#ifndef CAFFE_UTIL_ALGORITHM_TABLE_HPP_
#define CAFFE_UTIL_ALGORITHM_TABLE_HPP_

// What is known of the algorithms that a library has for an operation, and the file that keeps it.
// Whatever measures fills the tables; nothing here needs a device.

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "caffe/common.hpp"
#include "caffe/memory_traits.hpp"

namespace caffe {

/// The algorithms of one step (a convolution's forward, say): names without white space or '+'.
using AlgorithmTable = std::vector<Workspace>;

/// The choices that an operation has which does `steps` one after the other, with one workspace for
/// all: a choice names an algorithm for each, joined by '+', takes the bytes of the largest and the
/// seconds of all. Left out is what another choice beats: no larger, no slower, reproducible if the
/// beaten one is. Smallest first. The seconds of all algorithms must be known.
AlgorithmTable Combine(const std::vector<AlgorithmTable>& steps);

/// The one choice that the operation has when no seconds are known: of each table, in which what is
/// thought to be the fastest comes first, the first reproducible algorithm that takes at most
/// layrub::kWorkspaceCap; the smallest reproducible one if all take more. Empty if a table has no
/// reproducible algorithm.
AlgorithmTable WithoutTimes(const std::vector<AlgorithmTable>& steps);

/// The part of a choice's name that is about step `step`; empty if it has none.
std::string_view AlgorithmOf(std::string_view choice, int step);

/// Measured tables by the name of what was measured, in a file (JSON, one for each device and
/// library version). A file that cannot be read, or is no such file, counts as empty, with a
/// warning, and is replaced; one that cannot be written costs a warning, and what was measured
/// lasts as long as the program. Thread safe.
class AlgorithmCache {
 public:
  /// Reads `path`; empty: no file.
  explicit AlgorithmCache(std::string path);
  /// False if there is no table of this name. Bytes are not kept: they are asked of the library.
  bool Find(const std::string& name, AlgorithmTable* table) const;
  /// Adds a table and writes the file.
  void Store(const std::string& name, const AlgorithmTable& table);

  /// <user's cache folder>/layrub/<name>.json, with what no file name should have replaced by '_';
  /// empty if the user has no such folder ($XDG_CACHE_HOME, else $HOME/.cache).
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
