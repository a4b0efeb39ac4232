#ifndef LAYRUB_BASE_PROGRESS_LINE_HPP_
#define LAYRUB_BASE_PROGRESS_LINE_HPP_

#include <cstdint>
#include <string>

namespace layrub {

/// Shows the progress of long work in one line at the bottom of the terminal, which it rewrites in
/// place. Shows nothing, and leaves stderr alone, unless stderr is a terminal that can erase a line
/// (TERM=dumb cannot), so files and pipes never see it. A process shows one line at a time: lines
/// that begin while another is shown show nothing. Functions may be called by any thread.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  ///< erases the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether this is the line that the terminal shows.
  bool shown() const { return shown_; }
  /// Whether the line is shown and its last text is at least a fifth of a second old, so that a new
  /// text is worth making.
  bool Due() const;
  /// Shows `text`, which has no line breaks, cut to the width of the terminal. Does so even if it
  /// is not due.
  void Show(const std::string& text);

  /// Erases whichever line is shown, before something else is written to stderr. The next Show
  /// draws it again.
  static void Wipe();
  /// As Wipe, for a signal handler that ends the process: it waits for no other thread.
  static void WipeInSignalHandler();

 private:
  bool shown_ = false;
};

/// Formats the time that remains: "1h02m", "3m20s" or "12s". Returns "" if it is negative,
/// infinite, NaN or more than 1e9 seconds.
std::string FormatTimeLeft(double seconds);

/// Formats progress: `done` of `total` equal parts are finished, after `seconds`. The result is
/// like "12 of 100, 4.1/s, 21s left". If `total` is 0, which means unknown, it is like "12, 4.1/s".
std::string FormatProgress(int64_t done, int64_t total, double seconds);

}  // namespace layrub

#endif  // LAYRUB_BASE_PROGRESS_LINE_HPP_
