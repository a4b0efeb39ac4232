#ifndef LAYRUB_BASE_PER_PROCESS_HPP_
#define LAYRUB_BASE_PER_PROCESS_HPP_

#include <pthread.h>

#include <atomic>
#include <stdexcept>
#include <utility>

namespace layrub {

/// Counts how often this process and its ancestors have come out of fork as the child.
inline std::atomic<unsigned> forks{0};
inline const int counts_forks = pthread_atfork(nullptr, nullptr, [] { ++forks; });

/// Owns a T whose methods run or wait in threads. A child process made by fork has a copy of the T,
/// with its locks as they were at that moment, but none of its threads. The child can neither use
/// nor destroy the T, so its memory is never freed there.
template <typename T>
class PerProcess {
 public:
  template <typename... Arguments>
  explicit PerProcess(Arguments&&... arguments)
      : made_(new T(std::forward<Arguments>(arguments)...)) {}
  ~PerProcess() {
    if (here()) delete made_;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  /// Whether this process made the object, rather than inheriting it through fork.
  bool here() const { return forks_ == forks; }
  /// Throws std::runtime_error unless here().
  T* operator->() const {
    if (!here()) {
      throw std::runtime_error(
          "The net or solver has threads, and this is a child process made by fork, which has none "
          "of them: make the net or solver in the child.");
    }
    return made_;
  }
  T& operator*() const { return *operator->(); }
  /// May be called in any process. A child must not touch the locks and threads.
  const T& copy() const { return *made_; }

 private:
  T* const made_;
  const unsigned forks_ = forks;
};

}  // namespace layrub

#endif  // LAYRUB_BASE_PER_PROCESS_HPP_
