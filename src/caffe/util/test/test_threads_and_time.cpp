// BlockingQueue, Timer and SignalHandler.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/thread/thread.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/benchmark.hpp"
#include "caffe/util/blocking_queue.hpp"
#include "caffe/util/signal_handler.h"

namespace caffe {
namespace {

TEST(BlockingQueue, ReturnsElementsInOrder) {
  BlockingQueue<int> queue;
  int value = 0;
  EXPECT_FALSE(queue.try_pop(&value));
  EXPECT_FALSE(queue.try_peek(&value));
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.peek(), 1);
  EXPECT_TRUE(queue.try_peek(&value));
  EXPECT_EQ(value, 1);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_TRUE(queue.try_pop(&value));
  EXPECT_EQ(value, 2);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(BlockingQueue, PopWaitsForAnElement) {
  BlockingQueue<int> to, from;
  boost::thread echo([&] {
    for (int i = 0; i < 1000; ++i) from.push(to.pop("waiting") + 1);
  });
  for (int i = 0; i < 1000; ++i) {
    to.push(i);
    EXPECT_EQ(from.pop(), i + 1);
  }
  echo.join();
}

TEST(BlockingQueue, PeekDoesNotConsumeTheWakeUpOfAPop) {
  for (int round = 0; round < 50; ++round) {
    BlockingQueue<int> queue;
    boost::thread peeker([&] { EXPECT_EQ(queue.peek(), 1); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    queue.push(1);
    peeker.join();
    EXPECT_EQ(queue.pop(), 1);
  }
}

TEST(BlockingQueue, InterruptionEndsAWait) {
  BlockingQueue<int> queue;
  bool interrupted = false;
  boost::thread waiting([&] {
    try {
      queue.pop();
    } catch (const boost::thread_interrupted&) {
      interrupted = true;
    }
  });
  waiting.interrupt();
  waiting.join();
  EXPECT_TRUE(interrupted);
}

TEST(Timer, StartsUnused) {
  Timer timer;
  EXPECT_TRUE(timer.initted());
  EXPECT_FALSE(timer.running());
  EXPECT_FALSE(timer.has_run_at_least_once());
  EXPECT_EQ(timer.MilliSeconds(), 0);
}

TEST(Timer, MeasuresTheTimeBetweenStartAndStop) {
  CPUTimer timer;
  timer.Start();
  EXPECT_TRUE(timer.running());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  timer.Stop();
  EXPECT_FALSE(timer.running());
  const float milliseconds = timer.MilliSeconds();
  EXPECT_GE(milliseconds, 20);
  EXPECT_LT(milliseconds, 10000);
  EXPECT_FLOAT_EQ(timer.MicroSeconds(), milliseconds * 1000);
  EXPECT_FLOAT_EQ(timer.Seconds(), milliseconds / 1000);
}

TEST(Timer, ReadingStopsIt) {
  Timer timer;
  timer.Start();
  timer.Seconds();
  EXPECT_FALSE(timer.running());
}

TEST(SignalHandler, ReportsEachSignalOnce) {
  SignalHandler handler(SolverAction::STOP, SolverAction::SNAPSHOT);
  ActionCallback action = handler.GetActionFunction();
  EXPECT_EQ(action(), SolverAction::NONE);
  raise(SIGINT);
  EXPECT_EQ(action(), SolverAction::STOP);
  EXPECT_EQ(action(), SolverAction::NONE);
  raise(SIGHUP);
  raise(SIGINT);
  EXPECT_EQ(action(), SolverAction::SNAPSHOT);
  EXPECT_EQ(action(), SolverAction::STOP);
  EXPECT_EQ(action(), SolverAction::NONE);
}

TEST(SignalHandlerErrors, RestoresSignalsAndAllowsOnlyOneHandler) {
  EXPECT_EXIT(
      {
        { SignalHandler handler(SolverAction::STOP, SolverAction::SNAPSHOT); }
        raise(SIGINT);
      },
      ::testing::KilledBySignal(SIGINT), "");
  SignalHandler first(SolverAction::STOP, SolverAction::STOP);
  EXPECT_ERROR(SignalHandler(SolverAction::STOP, SolverAction::STOP), "a SignalHandler already");
}

}  // namespace
}  // namespace caffe
