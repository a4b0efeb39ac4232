#ifndef LAYRUB_DEVICE_FIRST_ERROR_HPP_
#define LAYRUB_DEVICE_FIRST_ERROR_HPP_

#include <atomic>
#include <exception>
#include <mutex>

namespace layrub {

/// The first exception that threads have met which work for another one: it throws there what would
/// end the process here. Thread safe.
class FirstError {
 public:
  /// Calls `work`, and keeps what it throws.
  template <typename Work>
  void Guard(const Work& work) {
    try {
      work();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!error_) error_ = std::current_exception();
      some_.store(true, std::memory_order_release);
    }
  }

  bool some() const { return some_.load(std::memory_order_acquire); }

  /// Throws it, if there is one, each time.
  void Rethrow() const {
    if (!some()) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    std::rethrow_exception(error_);
  }

 private:
  mutable std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> some_{false};
};

}  // namespace layrub

#endif  // LAYRUB_DEVICE_FIRST_ERROR_HPP_
