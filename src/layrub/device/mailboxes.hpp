#ifndef LAYRUB_DEVICE_MAILBOXES_HPP_
#define LAYRUB_DEVICE_MAILBOXES_HPP_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "layrub/device/communicator.hpp"

namespace layrub {

/// The messages between the members of a group within one process (Communicator::Send and Receive).
/// Thread safe.
class Mailboxes {
 public:
  void Send(int from, int to, std::string message, Channel channel) {
    const std::lock_guard lock(mutex_);
    ThrowIfFailed();
    boxes_[{from, to, channel}].push_back(std::move(message));
    changed_.notify_all();
  }

  std::optional<std::string> Receive(int from, int to, double seconds, Channel channel) {
    std::unique_lock lock(mutex_);
    std::deque<std::string>& box = boxes_[{from, to, channel}];
    const auto ready = [&] { return failed_ || !box.empty(); };
    if (seconds == kForever) {
      changed_.wait(lock, ready);
    } else {
      changed_.wait_for(lock, std::chrono::duration<double>(seconds), ready);
    }
    ThrowIfFailed();
    if (box.empty()) return std::nullopt;
    std::string message = std::move(box.front());
    box.pop_front();
    return message;
  }

  /// Makes all calls of Send and Receive throw GroupFailed(`reason`) from now on, also those that
  /// are waiting already.
  void Fail(const std::string& reason) {
    const std::lock_guard lock(mutex_);
    if (!failed_) reason_ = reason;
    failed_ = true;
    changed_.notify_all();
  }

 private:
  void ThrowIfFailed() const {
    if (failed_) throw GroupFailed(reason_);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  /// By sender, receiver and channel.
  std::map<std::tuple<int, int, Channel>, std::deque<std::string>> boxes_;
  bool failed_ = false;
  std::string reason_;
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_MAILBOXES_HPP_
