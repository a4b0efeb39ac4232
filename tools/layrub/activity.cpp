#include "layrub/activity.hpp"

#include <chrono>
#include <system_error>

namespace layrub_tool {

Activity::Activity(const std::string& what) : what_(what) {
  if (!line_.shown()) return;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    line_.Show(what);  // no more threads can be had
  }
}

Activity::~Activity() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Activity::Tell(const std::string& what) {
  const std::lock_guard lock(mutex_);
  what_ = what;
}

void Activity::Run() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  for (int seconds = 1;; ++seconds) {
    if (changed_.wait_until(lock, start + std::chrono::seconds(seconds), [this] { return ended_; }))
      return;
    line_.Show(what_ + ", " + layrub::FormatTimeLeft(seconds));
  }
}

}  // namespace layrub_tool
