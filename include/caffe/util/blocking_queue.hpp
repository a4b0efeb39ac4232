#ifndef CAFFE_UTIL_BLOCKING_QUEUE_HPP_
#define CAFFE_UTIL_BLOCKING_QUEUE_HPP_

#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <exception>
#include <queue>
#include <string>

#include "caffe/common.hpp"

namespace caffe {

/// An unbounded first-in, first-out queue between threads. All methods may be called from any
/// thread. A wait ends with boost::thread_interrupted when the waiting thread is interrupted, and
/// with the exception that was given to fail.
template <typename T>
class BlockingQueue {
 public:
  BlockingQueue() {}

  void push(const T& t) {
    {
      boost::mutex::scoped_lock lock(mutex_);
      queue_.push(t);
    }
    // All: a waiting peek leaves the element to the others.
    not_empty_.notify_all();
  }

  /// Nothing comes any more, because of `error`: when the elements that are there are taken, every
  /// pop and peek throws it. Null: something comes again.
  void fail(const std::exception_ptr& error) {
    {
      boost::mutex::scoped_lock lock(mutex_);
      error_ = error;
    }
    not_empty_.notify_all();
  }

  /// Takes the first element if there is one.
  bool try_pop(T* t) {
    boost::mutex::scoped_lock lock(mutex_);
    return First(t, true);
  }

  /// Waits for an element and takes it. While it has to wait, `log_on_wait` is logged now and then.
  T pop(const string& log_on_wait = "") {
    boost::mutex::scoped_lock lock(mutex_);
    while (queue_.empty()) {
      if (error_) std::rethrow_exception(error_);
      if (!log_on_wait.empty()) {
        LOG_EVERY_N(INFO, 1000) << log_on_wait;
      }
      not_empty_.wait(lock);
    }
    const T first = queue_.front();
    queue_.pop();
    return first;
  }

  /// Copies the first element if there is one.
  bool try_peek(T* t) {
    boost::mutex::scoped_lock lock(mutex_);
    return First(t, false);
  }

  /// Waits for an element and copies it.
  T peek() const {
    boost::mutex::scoped_lock lock(mutex_);
    while (queue_.empty()) {
      if (error_) std::rethrow_exception(error_);
      not_empty_.wait(lock);
    }
    return queue_.front();
  }

  size_t size() const {
    boost::mutex::scoped_lock lock(mutex_);
    return queue_.size();
  }

 protected:
  // The lock is held.
  bool First(T* t, bool remove) {
    if (queue_.empty()) return false;
    *t = queue_.front();
    if (remove) queue_.pop();
    return true;
  }

  std::queue<T> queue_;
  std::exception_ptr error_;
  mutable boost::mutex mutex_;
  mutable boost::condition_variable not_empty_;

  DISABLE_COPY_AND_ASSIGN(BlockingQueue);
};

}  // namespace caffe

#endif  // CAFFE_UTIL_BLOCKING_QUEUE_HPP_
