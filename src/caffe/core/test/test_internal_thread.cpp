#include "caffe/internal_thread.hpp"

#include <gtest/gtest.h>

#include <boost/thread/thread.hpp>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/blocking_queue.hpp"
#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

// Reports the settings that it starts with, then waits to be stopped.
class Probe : public InternalThread {
 public:
  ~Probe() override { StopInternalThread(); }

  BlockingQueue<unsigned int> numbers;
  BlockingQueue<int> ranks;

 protected:
  void InternalThreadEntry() override {
    ranks.push(Caffe::solver_rank());
    numbers.push(caffe_rng_rand());
    try {
      BlockingQueue<int>().pop();
    } catch (const boost::thread_interrupted&) {
      return;
    }
  }
};

class Spinner : public InternalThread {
 public:
  ~Spinner() override { StopInternalThread(); }

 protected:
  void InternalThreadEntry() override {
    while (!must_stop()) boost::this_thread::yield();
  }
};

TEST(InternalThread, StartsAndStops) {
  Probe probe;
  EXPECT_FALSE(probe.is_started());
  probe.StopInternalThread();
  probe.StartInternalThread();
  EXPECT_TRUE(probe.is_started());
  probe.StopInternalThread();
  EXPECT_FALSE(probe.is_started());
}

TEST(InternalThread, SeesThatItMustStop) {
  Spinner spinner;
  spinner.StartInternalThread();
  spinner.StopInternalThread();
  EXPECT_FALSE(spinner.is_started());
}

TEST(InternalThread, InheritsTheStartersSettings) {
  Caffe::set_solver_rank(3);
  Probe probe;
  probe.StartInternalThread();
  EXPECT_EQ(probe.ranks.pop(), 3);
  Caffe::set_solver_rank(0);
}

TEST(InternalThread, IsSeededByTheStartersStream) {
  const auto first_number = [] {
    Caffe::set_random_seed(11);
    Probe probe;
    probe.StartInternalThread();
    return probe.numbers.pop();
  };
  const unsigned int number = first_number();
  EXPECT_EQ(first_number(), number);
  Caffe::set_random_seed(11);
  EXPECT_NE(caffe_rng_rand(), number);
}

TEST(InternalThreadErrors, StartsOnlyOnce) {
  EXPECT_ERROR(
      {
        Probe probe;
        probe.StartInternalThread();
        probe.StartInternalThread();
      },
      "should persist and not be restarted");
}

}  // namespace
}  // namespace caffe
