#ifndef LAYRUB_BASE_PROGRESS_LINE_HPP_
#define LAYRUB_BASE_PROGRESS_LINE_HPP_

#include <cstdint>
#include <string>

namespace layrub {

/// How far long work has come: one line at the bottom of the terminal, written anew in its place.
/// Nothing is shown, and stderr is left alone, unless that is a terminal that can wipe a line
/// (TERM=dumb cannot); so files and pipes never see it. One line of a process is shown at a time:
/// those that begin later show nothing. Functions may be called by any thread.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();  ///< wipes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// There is a terminal, and this line has it.
  bool shown() const { return shown_; }
  /// The text is worth making: the line is shown, and its last text is a fifth of a second old.
  bool Due() const;
  /// Shows `text`, without line breaks, cut to the width of the terminal; also where it is not due.
  void Show(const std::string& text);

  /// Wipes what is shown by whichever line, before something else is written to stderr. The next
  /// Show draws it again.
  static void Wipe();

 private:
  bool shown_ = false;
};

/// "1h02m", "3m20s" or "12s": how long something still takes. "" for what is not finite.
std::string FormatTimeLeft(double seconds);

/// What a line says of work of `total` equal parts, `done` of them in `seconds`: "12 of 100, 4.1/s,
/// 21s left". Without a total (0): "12, 4.1/s".
std::string FormatProgress(int64_t done, int64_t total, double seconds);

}  // namespace layrub

#endif  // LAYRUB_BASE_PROGRESS_LINE_HPP_
