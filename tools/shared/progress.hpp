#ifndef TOOLS_SHARED_PROGRESS_HPP_
#define TOOLS_SHARED_PROGRESS_HPP_

#include <chrono>
#include <cstdint>
#include <string>

#include "layrub/base/progress_line.hpp"

namespace tools {

/// How many items have been worked on since it was made, in one line at the bottom of a terminal.
class Progress {
 public:
  /// `items` in the plural, as "images"; a total of 0 is not known.
  Progress(const char* items, int64_t total) : items_(items), total_(total) {}

  void Done(int64_t done) {
    if (!line_.Due()) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    line_.Show(items_ + ": " + layrub::FormatProgress(done, total_, passed.count()));
  }

 private:
  const std::string items_;
  const int64_t total_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  layrub::ProgressLine line_;
};

}  // namespace tools

#endif  // TOOLS_SHARED_PROGRESS_HPP_
