#ifndef LAYRUB_BASE_OF_PROCESS_HPP_
#define LAYRUB_BASE_OF_PROCESS_HPP_

#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <utility>

namespace layrub {

/// How often this process and those before it have come out of fork as the child.
inline std::atomic<unsigned> forks{0};
inline const int counts_forks = pthread_atfork(nullptr, nullptr, [] { ++forks; });

/// Owns a T that threads work on or wait in. A child process made by fork has a copy of it, with
/// its locks as they were at that moment, but none of the threads: there it can be neither used nor
/// destroyed, and its memory is not given back.
template <typename T>
class OfProcess {
 public:
  template <typename... Arguments>
  explicit OfProcess(Arguments&&... arguments)
      : made_(new T(std::forward<Arguments>(arguments)...)) {}
  ~OfProcess() {
    if (here()) delete made_;
  }
  OfProcess(const OfProcess&) = delete;
  OfProcess& operator=(const OfProcess&) = delete;

  /// Whether this is the process that made it.
  bool here() const { return forks_ == forks; }
  /// Throws std::runtime_error where it is not.
  T* operator->() const {
    if (!here()) {
      throw std::runtime_error(
          "The net or solver has threads, and this is a child process made by fork, which has none "
          "of them: make the net or solver in the child.");
    }
    return made_;
  }
  T& operator*() const { return *operator->(); }
  /// In any process. In a child its locks and threads must be left alone.
  const T& copy() const { return *made_; }

 private:
  T* const made_;
  const unsigned forks_ = forks;
};

}  // namespace layrub

#endif  // LAYRUB_BASE_OF_PROCESS_HPP_
