#include "caffe/internal_thread.hpp"

#include <boost/thread/thread.hpp>
#include <exception>

#include "caffe/util/math_functions.hpp"

namespace caffe {

InternalThread::~InternalThread() { StopInternalThread(); }

bool InternalThread::is_started() const {
  return thread_ && thread_->here() && (*thread_)->joinable();
}

bool InternalThread::must_stop() { return boost::this_thread::interruption_requested(); }

void InternalThread::StartInternalThread() {
  CHECK(!is_started()) << "Threads should persist and not be restarted.";
  layrub::Device* const device = Caffe::chosen_device();
  const Caffe::Brew mode = Caffe::mode();
  const unsigned int seed = caffe_rng_rand();
  const int solver_count = Caffe::solver_count();
  const int solver_rank = Caffe::solver_rank();
  const bool multiprocess = Caffe::multiprocess();
  try {
    thread_.reset(new layrub::PerProcess<boost::thread>(
        &InternalThread::Entry, this, device, mode, seed, solver_count, solver_rank, multiprocess));
  } catch (std::exception& e) {
    LOG(FATAL) << "Cannot start a thread: " << e.what();
  }
}

void InternalThread::Entry(layrub::Device* device, Caffe::Brew mode, unsigned int seed,
                           int solver_count, int solver_rank, bool multiprocess) {
  Caffe::UseDevice(device);
  Caffe::set_mode(mode);
  Caffe::set_random_seed(seed);
  Caffe::set_solver_count(solver_count);
  Caffe::set_solver_rank(solver_rank);
  Caffe::set_multiprocess(multiprocess);
  try {
    InternalThreadEntry();
  } catch (const Error&) {
    // The error was logged where it was thrown. The subclass must report it to those who wait for
    // the thread.
  }
}

void InternalThread::StopInternalThread() {
  if (!is_started()) return;
  (*thread_)->interrupt();
  // Requests to interrupt the caller are served at its next wait: here the thread still uses
  // members that are about to be destroyed.
  const boost::this_thread::disable_interruption uninterrupted;
  (*thread_)->join();
}

}  // namespace caffe
