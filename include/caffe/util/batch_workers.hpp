#ifndef CAFFE_UTIL_BATCH_WORKERS_HPP_
#define CAFFE_UTIL_BATCH_WORKERS_HPP_

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <deque>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "caffe/common.hpp"

namespace caffe {

/// Threads that make the items of a batch side by side, so that all comes out as if one thread had
/// made them one after the other: what they read, what they draw, and which error is told.
///
/// A thread starts when there is work that no other takes up, with the mode and the device of Run's
/// caller, and waits for more until the object goes. It yields to the threads that compute: data
/// that fall behind are waited for, and then the cores are free.
class BatchWorkers {
 public:
  /// What is left to do for an item; empty: nothing.
  using Work = std::function<void()>;

  /// At most `threads` (at least 1) work; with 1 the caller of Run does all.
  explicit BatchWorkers(int threads) { set_threads(threads); }
  ~BatchWorkers();
  /// Before the first Run.
  void set_threads(int threads);

  /// Calls read(i) for each item in [0, items), one after the other in this thread, and what it
  /// returns in any thread. Returns when all is done. What is read and not begun are as many items
  /// as there are threads, at most.
  ///
  /// Where one fails, later items are given up, and the first that failed is told of in this
  /// thread: a failed check as a failed check, other exceptions as they are. Where this thread is
  /// interrupted (boost's interruption points), what has not begun is given up.
  void Run(int items, const std::function<Work(int)>& read);

  /// For the work of `item`, at most once: calls `body` after those of all items before it, and
  /// before those of all after it. Throws what Run catches where the item is given up.
  void InOrder(int item, const std::function<void()>& body);

 private:
  struct GivenUp {};

  void ReadAll(int items, const std::function<Work(int)>& read);
  bool Hand(int item, Work* work);
  void StartThread();
  void WorkOn();
  void Try(int item, const Work& body);
  void Finish(int item, Work* work);
  void Pass(int item);
  void AwaitWork(boost::mutex::scoped_lock* lock);

  int most_ = 1;
  std::vector<std::thread> threads_;
  boost::mutex mutex_;  // of all that follows
  boost::condition_variable queued_, taken_, turned_, done_;
  bool ends_ = false;
  std::deque<std::pair<int, Work>> queue_;
  size_t idle_ = 0, busy_ = 0;  ///< threads
  std::vector<bool> passed_;    ///< by item: its part in order is over
  size_t turn_ = 0;             ///< the first item that has not passed
  int failed_ = 0;              ///< the first item that has failed; none: the number of items
  std::exception_ptr error_;    ///< of that item

  DISABLE_COPY_AND_ASSIGN(BatchWorkers);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BATCH_WORKERS_HPP_
