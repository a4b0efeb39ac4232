#ifndef TOOLS_SHARED_PROGRESS_HPP_
#define TOOLS_SHARED_PROGRESS_HPP_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include "layrub/base/progress_line.hpp"

namespace tools {

/// Shows in the last line of a terminal how many items are done. Any thread may call its functions.
class Progress {
 public:
  /// `items` is a plural, such as "images". A total of 0 means that it is unknown.
  Progress(const std::string& items, int64_t total) : items_(items), total_(total) {}

  /// One more item is done.
  void Add() { Done(++done_); }
  /// `done` items are done by now.
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
