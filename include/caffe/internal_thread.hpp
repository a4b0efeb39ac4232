#ifndef CAFFE_INTERNAL_THREAD_HPP_
#define CAFFE_INTERNAL_THREAD_HPP_

#include "caffe/common.hpp"
#include "layrub/base/per_process.hpp"

// boost::thread is only declared, so that nvcc does not see its headers.
namespace boost {
class thread;
}

namespace caffe {

/// A thread inside an object. A subclass overrides InternalThreadEntry. The thread starts with the
/// mode, device and solver rank of the thread that starts it, and with a random stream seeded by
/// one draw from that thread's stream.
///
/// If checks throw (Caffe::set_throw_on_error), a failed check in the thread ends the thread, not
/// the process. In a child process made by fork the thread is not running.
///
/// The subclass's destructor must call StopInternalThread, before its members are destroyed.
class InternalThread {
 public:
  InternalThread() : thread_() {}
  virtual ~InternalThread();

  /// Aborts if it is running already.
  void StartInternalThread();
  /// Interrupts the thread at its next wait (a boost interruption point) and waits until it ends.
  void StopInternalThread();
  bool is_started() const;

 protected:
  virtual void InternalThreadEntry() {}

  /// For the thread itself: returns true once StopInternalThread was called.
  bool must_stop();

 private:
  void Entry(layrub::Device* device, Caffe::Brew mode, unsigned int seed, int solver_count,
             int solver_rank, bool multiprocess);

  shared_ptr<layrub::PerProcess<boost::thread>> thread_;
};

}  // namespace caffe

#endif  // CAFFE_INTERNAL_THREAD_HPP_
