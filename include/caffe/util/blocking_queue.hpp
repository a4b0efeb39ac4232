#ifndef CAFFE_UTIL_BLOCKING_QUEUE_HPP_
#define CAFFE_UTIL_BLOCKING_QUEUE_HPP_

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <exception>
#include <queue>
#include <string>

#include "caffe/common.hpp"
#include "layrub/base/per_process.hpp"

namespace caffe {

/// An unbounded first-in, first-out queue between threads. All methods may be called from any
/// thread. A wait throws boost::thread_interrupted if the waiting thread is interrupted, and the
/// exception given to fail. In a child process made by fork all methods throw.
template <typename T>
class BlockingQueue {
 public:
  BlockingQueue() {}

  void push(const T& t) {
    {
      boost::mutex::scoped_lock lock(sync_->mutex);
      sync_->queue.push(t);
    }
    // Notify all: a waiting peek leaves the element to the others.
    sync_->not_empty.notify_all();
  }

  /// Ends the queue because of `error`: once the present elements are taken, every pop and peek
  /// throws it. Null: reopens the queue.
  void fail(const std::exception_ptr& error) {
    {
      boost::mutex::scoped_lock lock(sync_->mutex);
      sync_->error = error;
    }
    sync_->not_empty.notify_all();
  }

  /// Takes the first element if there is one.
  bool try_pop(T* t) {
    boost::mutex::scoped_lock lock(sync_->mutex);
    return First(t, true);
  }

  /// Waits for an element and takes it. Logs `log_on_wait` now and then while it waits.
  T pop(const string& log_on_wait = "") {
    boost::mutex::scoped_lock lock(sync_->mutex);
    while (sync_->queue.empty()) {
      if (sync_->error) std::rethrow_exception(sync_->error);
      if (!log_on_wait.empty()) {
        LOG_EVERY_N(INFO, 1000) << log_on_wait;
      }
      sync_->not_empty.wait(lock);
    }
    const T first = sync_->queue.front();
    sync_->queue.pop();
    return first;
  }

  /// Copies the first element if there is one.
  bool try_peek(T* t) {
    boost::mutex::scoped_lock lock(sync_->mutex);
    return First(t, false);
  }

  /// Waits for an element and copies it.
  T peek() const {
    boost::mutex::scoped_lock lock(sync_->mutex);
    while (sync_->queue.empty()) {
      if (sync_->error) std::rethrow_exception(sync_->error);
      sync_->not_empty.wait(lock);
    }
    return sync_->queue.front();
  }

  size_t size() const {
    boost::mutex::scoped_lock lock(sync_->mutex);
    return sync_->queue.size();
  }

 protected:
  // The caller holds the lock.
  bool First(T* t, bool remove) {
    if (sync_->queue.empty()) return false;
    *t = sync_->queue.front();
    if (remove) sync_->queue.pop();
    return true;
  }

  struct Sync {
    std::queue<T> queue;
    std::exception_ptr error;
    boost::mutex mutex;
    boost::condition_variable not_empty;
  };
  layrub::PerProcess<Sync> sync_;

  DISABLE_COPY_AND_ASSIGN(BlockingQueue);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BLOCKING_QUEUE_HPP_
