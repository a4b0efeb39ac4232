#include "layrub/base/progress_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

namespace layrub {
namespace {

/// Makes stderr a terminal of `columns` columns for its lifetime.
class TerminalAsStderr {
 public:
  explicit TerminalAsStderr(unsigned short columns = 40) {
    saved_ = dup(STDERR_FILENO);
    screen_ = posix_openpt(O_RDWR | O_NOCTTY);
    EXPECT_GE(screen_, 0);
    EXPECT_EQ(grantpt(screen_), 0);
    EXPECT_EQ(unlockpt(screen_), 0);
    const int terminal = open(ptsname(screen_), O_RDWR | O_NOCTTY);
    EXPECT_GE(terminal, 0);
    const winsize size{24, columns, 0, 0};
    EXPECT_EQ(ioctl(terminal, TIOCSWINSZ, &size), 0);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
  }
  ~TerminalAsStderr() {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    close(screen_);
  }

  /// Returns what was written since the last call.
  std::string Read() const {
    std::string text;
    pollfd ready{screen_, POLLIN, 0};
    char buffer[1024];
    while (poll(&ready, 1, 20) == 1) {
      const ssize_t size = read(screen_, buffer, sizeof buffer);
      if (size <= 0) break;
      text.append(buffer, static_cast<size_t>(size));
    }
    return text;
  }

 private:
  int saved_ = -1, screen_ = -1;
};

const std::string kWipe = "\r\x1b[K";

class ProgressLineTest : public ::testing::Test {
 protected:
  ProgressLineTest() { setenv("TERM", "xterm", 1); }
};

TEST_F(ProgressLineTest, IsRewrittenInPlaceAndErasedAtTheEnd) {
  const TerminalAsStderr terminal;
  {
    ProgressLine line;
    ASSERT_TRUE(line.shown());
    line.Show("one");
    line.Show("two");
    EXPECT_EQ(terminal.Read(), kWipe + "one" + kWipe + "two");
  }
  EXPECT_EQ(terminal.Read(), kWipe);
}

TEST_F(ProgressLineTest, IsCutToTheWidthInCharacters) {
  const TerminalAsStderr terminal(8);
  ProgressLine line;
  line.Show("äöüäöüäöü");
  EXPECT_EQ(terminal.Read(), kWipe + "äöüäöüä");
}

TEST_F(ProgressLineTest, WipeErasesAShownLineOnce) {
  const TerminalAsStderr terminal;
  ProgressLine line;
  ProgressLine::Wipe();
  EXPECT_EQ(terminal.Read(), "");
  line.Show("one");
  terminal.Read();
  ProgressLine::Wipe();
  ProgressLine::Wipe();
  EXPECT_EQ(terminal.Read(), kWipe);
}

TEST_F(ProgressLineTest, IsDueAtOnceButNotRightAfterAText) {
  const TerminalAsStderr terminal;
  ProgressLine line;
  EXPECT_TRUE(line.Due());
  bool due = true;
  for (int i = 0; i < 10 && due; ++i) {  // another process may have the processor meanwhile
    line.Show("one");
    due = line.Due();
  }
  EXPECT_FALSE(due);
}

TEST_F(ProgressLineTest, IsNotShownWhileAnotherLineIs) {
  const TerminalAsStderr terminal;
  auto first = std::make_unique<ProgressLine>();
  {
    ProgressLine second;
    EXPECT_FALSE(second.shown());
    EXPECT_FALSE(second.Due());
    second.Show("no");
  }
  EXPECT_EQ(terminal.Read(), "");
  first.reset();
  EXPECT_TRUE(ProgressLine().shown());
}

TEST_F(ProgressLineTest, IsNotShownOnATerminalThatCannotErase) {
  setenv("TERM", "dumb", 1);
  const TerminalAsStderr terminal;
  ProgressLine line;
  EXPECT_FALSE(line.shown());
  line.Show("no");
  EXPECT_EQ(terminal.Read(), "");
}

TEST_F(ProgressLineTest, IsNotShownInAPipe) {
  const int saved = dup(STDERR_FILENO);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  dup2(pipe_ends[1], STDERR_FILENO);
  {
    ProgressLine line;
    EXPECT_FALSE(line.shown());
    line.Show("no");
    ProgressLine::Wipe();
  }
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(pipe_ends[1]);
  char byte;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  close(pipe_ends[0]);
}

TEST(FormatTimeLeft, HasAtMostTwoUnits) {
  EXPECT_EQ(FormatTimeLeft(11.6), "12s");
  EXPECT_EQ(FormatTimeLeft(200), "3m20s");
  EXPECT_EQ(FormatTimeLeft(3720), "1h02m");
  EXPECT_EQ(FormatTimeLeft(360'000), "100h00m");
  EXPECT_EQ(FormatTimeLeft(std::numeric_limits<double>::infinity()), "");
  EXPECT_EQ(FormatTimeLeft(std::nan("")), "");
}

TEST(FormatProgress, ShowsPartsRateAndTimeLeft) {
  EXPECT_EQ(FormatProgress(10, 110, 2), "10 of 110, 5/s, 20s left");
  EXPECT_EQ(FormatProgress(5000, 0, 2), "5000, 2500/s");
  EXPECT_EQ(FormatProgress(110, 110, 2), "110 of 110, 55/s");
  EXPECT_EQ(FormatProgress(0, 110, 0), "0 of 110");
}

}  // namespace
}  // namespace layrub
