#ifndef TOOLS_SHARED_PROGRESS_HPP_
#define TOOLS_SHARED_PROGRESS_HPP_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "layrub/base/progress_line.hpp"

namespace tools {

/// How many items have been worked on since it was made, in one line at the bottom of a terminal.
/// Functions may be called by any thread.
class Progress {
 public:
  /// `items` in the plural, as "images"; a total of 0 is not known.
  Progress(const std::string& items, int64_t total) : items_(items), total_(total) {}

  /// One more is done.
  void Add() { Done(++done_); }
  /// So many are done.
  void Done(int64_t done) {
    if (!line_.Due()) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    line_.Show(items_ + ": " + layrub::FormatProgress(done, total_, passed.count()));
  }

 private:
  const std::string items_;
  const int64_t total_;
  std::atomic<int64_t> done_{0};
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  layrub::ProgressLine line_;
};

}  // namespace tools

#endif  // TOOLS_SHARED_PROGRESS_HPP_
