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

/// Threads that make the items of a batch in parallel. The result is as if one thread had made them
/// in order: the data read, the random numbers drawn, and the error reported.
///
/// Threads start on demand, with the mode and device of Run's caller, and live as long as the
/// object. They have lower priority than threads that compute: if data falls behind, those wait for
/// it and the cores are free.
class BatchWorkers {
 public:
  /// The remaining work for an item. Empty: none.
  using Work = std::function<void()>;

  /// At most `threads` (at least 1) threads work. With 1, the caller of Run does all the work.
  explicit BatchWorkers(int threads) { set_threads(threads); }
  ~BatchWorkers();
  /// To be called before the first Run.
  void set_threads(int threads);

  /// Calls read(i) for each item in [0, items), in order in this thread, and runs the returned work
  /// in any thread. Returns when all work is done. At most as many items as there are threads are
  /// read and waiting.
  ///
  /// If an item fails, later items are given up. The first item's failure is then reported in this
  /// thread: a failed check as a failed check, other exceptions unchanged. If this thread is
  /// interrupted (boost's interruption points), work that has not begun is given up.
  void Run(int items, const std::function<Work(int)>& read);

  /// To be called from the work of `item`, at most once. Calls `body` after the bodies of all
  /// earlier items and before those of all later ones. Throws an exception for Run if the item is
  /// given up.
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
  boost::mutex mutex_;  // guards all members below
  boost::condition_variable queued_, taken_, turned_, done_;
  bool ends_ = false;
  std::deque<std::pair<int, Work>> queue_;
  size_t idle_ = 0, busy_ = 0;  ///< threads
  std::vector<bool> passed_;    ///< by item: whether its part in order is over
  size_t turn_ = 0;             ///< first item that has not passed
  int failed_ = 0;              ///< first item that failed, or the number of items
  std::exception_ptr error_;    ///< of that item

  DISABLE_COPY_AND_ASSIGN(BatchWorkers);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BATCH_WORKERS_HPP_
