#ifndef LAYRUB_DEVICE_FIRST_ERROR_HPP_
#define LAYRUB_DEVICE_FIRST_ERROR_HPP_

#include <atomic>
#include <exception>
#include <mutex>

namespace layrub {

/// Keeps the first exception of threads that work for another thread, which can then throw it. An
/// uncaught exception in a worker thread would end the process. Thread safe.
class FirstError {
 public:
  /// Calls `work`. Keeps its exception if it is the first one.
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

  /// Throws the exception, if there is one, at each call.
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
