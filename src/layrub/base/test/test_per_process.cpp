#include "layrub/base/per_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace layrub {
namespace {

/// A thread that waits until it is told to end.
class Waits {
 public:
  explicit Waits(bool* ended) : ended_(ended), thread_([this] { Work(); }) {}
  ~Waits() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    thread_.join();
    *ended_ = true;
  }
  int Seven() const { return 7; }

 private:
  void Work() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_; });
  }

  bool* const ended_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

/// Runs `body` in a child process and returns what it returns.
template <typename Body>
int InChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(OfProcessTest, IsUsedAndDestroyedInTheProcessThatMadeIt) {
  bool ended = false;
  {
    const PerProcess<Waits> waits(&ended);
    EXPECT_TRUE(waits.here());
    EXPECT_EQ(7, waits->Seven());
    EXPECT_EQ(7, (*waits).Seven());
  }
  EXPECT_TRUE(ended);
}

TEST(OfProcessTest, ThrowsAndIsNotDestroyedInAChildProcess) {
  bool ended = false;
  auto* const waits = new PerProcess<Waits>(&ended);
  EXPECT_EQ(3, InChild([&] {
              if (waits->here()) return 1;
              try {
                (*waits)->Seven();
                return 2;
              } catch (const std::runtime_error& error) {
                if (std::string(error.what()).find("make the net or solver in the child") ==
                    std::string::npos)
                  return 4;
              }
              if (waits->copy().Seven() != 7) return 5;
              delete waits;
              return ended ? 6 : 3;
            }));
  EXPECT_EQ(7, (*waits)->Seven());
  delete waits;
  EXPECT_TRUE(ended);
}

TEST(OfProcessTest, AChildProcessMayMakeItsOwn) {
  EXPECT_EQ(7, InChild([] {
              bool ended = false;
              int seven = 0;
              {
                const PerProcess<Waits> waits(&ended);
                seven = waits->Seven();
                // A child of the child is a child, too.
                if (InChild([&] { return waits.here() ? 1 : 0; }) != 0) return 1;
              }
              return ended ? seven : 2;
            }));
}

}  // namespace
}  // namespace layrub
