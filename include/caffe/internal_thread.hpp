#ifndef CAFFE_INTERNAL_THREAD_HPP_
#define CAFFE_INTERNAL_THREAD_HPP_

#include "caffe/common.hpp"
#include "layrub/base/of_process.hpp"

// boost::thread is named here only, so that nvcc does not see its headers.
namespace boost {
class thread;
}

namespace caffe {

/// A thread inside an object: a subclass overrides InternalThreadEntry. The thread starts with the
/// starter's mode, device and place among solvers, and with a random stream seeded by one draw from
/// the starter's.
///
/// Where checks throw (Caffe::set_throw_on_error), one that fails in the thread ends it, not the
/// process. In a child process made by fork it is not started.
///
/// The subclass's destructor must call StopInternalThread, before its members go.
class InternalThread {
 public:
  InternalThread() : thread_() {}
  virtual ~InternalThread();

  /// Aborts if it is running already.
  void StartInternalThread();
  /// Interrupts the thread at its next wait (boost's interruption points) and waits for its end.
  void StopInternalThread();
  bool is_started() const;

 protected:
  virtual void InternalThreadEntry() {}

  /// For the thread itself: true once StopInternalThread was called.
  bool must_stop();

 private:
  void Entry(layrub::Device* device, Caffe::Brew mode, unsigned int seed, int solver_count,
             int solver_rank, bool multiprocess);

  shared_ptr<layrub::OfProcess<boost::thread>> thread_;
};

}  // namespace caffe

#endif  // CAFFE_INTERNAL_THREAD_HPP_
