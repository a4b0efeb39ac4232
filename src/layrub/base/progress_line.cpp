#include "layrub/base/progress_line.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>

namespace layrub {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween(200);
constexpr std::string_view kWipe = "\r\x1b[K";

/// What is at the bottom of the terminal. Guarded by `mutex`.
struct Terminal {
  std::mutex mutex;
  bool taken = false;  ///< a line that is shown is alive
  Clock::time_point last;
};

/// Whether there is something to erase. Signal handlers read it.
std::atomic<bool> written = false;

Terminal& TheTerminal() {
  static Terminal* const terminal = new Terminal;  // never destroyed: output at exit uses it
  return *terminal;
}

bool CanWipe() {
  const char* const kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && std::string_view(kind) != "dumb";
}

size_t Columns() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

/// Ignores errors: the terminal may be gone.
void Write(std::string_view text) {
  const ssize_t size = write(STDERR_FILENO, text.data(), text.size());
  static_cast<void>(size);
}

/// Returns at most the first `columns` characters of the UTF-8 text.
std::string_view Cut(std::string_view text, size_t columns) {
  size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool begins = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (begins && columns-- == 0) break;
  }
  return text.substr(0, end);
}

void WipeWritten() {
  if (written.exchange(false)) Write(kWipe);
}

}  // namespace

ProgressLine::ProgressLine() {
  if (!CanWipe()) return;
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  shown_ = !terminal.taken;
  if (!shown_) return;
  terminal.taken = true;
  terminal.last = Clock::now() - kBetween;
}

ProgressLine::~ProgressLine() {
  if (!shown_) return;
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  WipeWritten();
  terminal.taken = false;
}

bool ProgressLine::Due() const {
  if (!shown_) return false;
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  return Clock::now() - terminal.last >= kBetween;
}

void ProgressLine::Show(const std::string& text) {
  if (!shown_) return;
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  std::string line(kWipe);
  line += Cut(text, Columns() - 1);
  written = true;
  Write(line);
  terminal.last = Clock::now();
}

void ProgressLine::Wipe() {
  Terminal& terminal = TheTerminal();
  const std::lock_guard lock(terminal.mutex);
  WipeWritten();
}

void ProgressLine::WipeInSignalHandler() { WipeWritten(); }

std::string FormatTimeLeft(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "";
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  char text[32];
  if (whole >= 3600) {
    std::snprintf(text, sizeof text, "%lldh%02lldm", static_cast<long long>(whole / 3600),
                  static_cast<long long>(whole / 60 % 60));
  } else if (whole >= 60) {
    std::snprintf(text, sizeof text, "%lldm%02llds", static_cast<long long>(whole / 60),
                  static_cast<long long>(whole % 60));
  } else {
    std::snprintf(text, sizeof text, "%llds", static_cast<long long>(whole));
  }
  return text;
}

std::string FormatProgress(int64_t done, int64_t total, double seconds) {
  std::string text = std::to_string(done);
  if (total > 0) text += " of " + std::to_string(total);
  if (done <= 0 || !(seconds > 0)) return text;
  const double rate = static_cast<double>(done) / seconds;
  char number[32];
  std::snprintf(number, sizeof number, "%.3g", rate);
  text += std::string(", ") + (rate >= 1000 ? std::to_string(std::llround(rate)) : number) + "/s";
  if (total > done)
    text += ", " + FormatTimeLeft(static_cast<double>(total - done) / rate) + " left";
  return text;
}

}  // namespace layrub
