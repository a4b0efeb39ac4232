#ifndef LAYRUB_BASE_IN_PARALLEL_HPP_
#define LAYRUB_BASE_IN_PARALLEL_HPP_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

namespace layrub {

/// Calls f(0) to f(count - 1), each once, on the calling thread and on other threads: one per
/// processor, or as many as the system allows. Returns when all calls have returned. If a call
/// throws, its exception is thrown then. Calls must not depend on one another.
template <typename F>
void InParallel(size_t count, const F& f) {
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) f(i);
  };
  const size_t threads = std::min<size_t>(count, std::thread::hardware_concurrency());
  std::vector<std::future<void>> others;
  try {
    for (size_t i = 1; i < threads; ++i) others.push_back(std::async(std::launch::async, work));
  } catch (const std::system_error&) {
    // The system allows no more threads; those that run do all the work.
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace layrub

#endif  // LAYRUB_BASE_IN_PARALLEL_HPP_
