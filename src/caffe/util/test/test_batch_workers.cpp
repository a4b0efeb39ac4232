#include "caffe/util/batch_workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/thread/thread.hpp>
#include <chrono>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>

#include "caffe/util/failure.hpp"

namespace caffe {
namespace {

constexpr int kThreads[] = {1, 2, 3, 8, 40};

void Sleep(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

vector<int> UpTo(int items) {
  vector<int> numbers(static_cast<size_t>(items));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// Returns the message of the error that `run` throws; "" if none.
template <typename Run>
string ErrorOf(const Run& run) {
  const ThrowOnError scope;
  try {
    run();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(BatchWorkers, ReadAndDrawInItemOrderAndRunEachItemOnce) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    for (int items : {30, 1, 0, 17}) {
      vector<int> read, drawn, done(static_cast<size_t>(items));
      workers.Run(items, [&](int i) -> BatchWorkers::Work {
        read.push_back(i);
        return [&, i] {
          if (i % 3 == 0) Sleep(1);
          workers.InOrder(i, [&] { drawn.push_back(i); });
          ++done[i];
        };
      });
      EXPECT_EQ(read, UpTo(items));
      EXPECT_EQ(drawn, UpTo(items)) << threads;
      EXPECT_EQ(done, vector<int>(static_cast<size_t>(items), 1));
    }
  }
}

TEST(BatchWorkers, AllowItemsWithoutWorkOrWithoutOrderedParts) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    vector<int> drawn;
    workers.Run(20, [&](int i) -> BatchWorkers::Work {
      const auto draw = [&workers, &drawn, i] { workers.InOrder(i, [&] { drawn.push_back(i); }); };
      if (i % 3 == 0) return draw;
      if (i % 3 == 1) draw();
      return i % 3 == 1 ? BatchWorkers::Work() : [] {};
    });
    EXPECT_EQ(drawn, (vector<int>{0, 1, 3, 4, 6, 7, 9, 10, 12, 13, 15, 16, 18, 19}));
  }
}

TEST(BatchWorkers, RunConcurrently) {
  BatchWorkers workers(4);
  std::atomic<int> waiting{0};
  // Each item waits for the three others.
  workers.Run(4, [&](int) -> BatchWorkers::Work {
    return [&] {
      ++waiting;
      while (waiting < 4) Sleep(1);
    };
  });
  EXPECT_EQ(waiting, 4);
}

TEST(BatchWorkers, UseNoMoreThreadsThanRequested) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    std::mutex mutex;
    std::set<std::thread::id> seen;
    workers.Run(100, [&](int) -> BatchWorkers::Work {
      return [&] {
        Sleep(1);
        const std::lock_guard<std::mutex> lock(mutex);
        seen.insert(std::this_thread::get_id());
      };
    });
    EXPECT_LE(seen.size(), static_cast<size_t>(threads));
    EXPECT_EQ(seen.count(std::this_thread::get_id()), threads == 1 ? 1u : 0u);
  }
}

TEST(BatchWorkers, HoldAtMostTwoItemsPerThread) {
  for (int threads : {2, 5}) {
    BatchWorkers workers(threads);
    std::atomic<int> held{0}, most{0};
    workers.Run(60, [&](int) -> BatchWorkers::Work {
      most = std::max(most.load(), ++held);
      return [&] {
        Sleep(1);
        --held;
      };
    });
    EXPECT_LE(most, 2 * threads + 1);  // one item is read while the queue is full
    EXPECT_EQ(held, 0);
  }
}

TEST(BatchWorkers, ReportTheFirstFailedItemEvenIfALaterOneFailsEarlier) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    const auto run = [&] {
      workers.Run(20, [&](int i) -> BatchWorkers::Work {
        return [i] {
          if (i == 3) Sleep(5);
          CHECK(i < 3) << "item " << i << " is damaged.";
        };
      });
    };
    EXPECT_EQ(ErrorOf(run), "item 3 is damaged.");
    int done = 0;
    workers.Run(5, [&](int i) -> BatchWorkers::Work {
      return [&, i] { workers.InOrder(i, [&] { ++done; }); };
    });
    EXPECT_EQ(done, 5) << "after a failure";
  }
}

TEST(BatchWorkers, ReportAFailedReaderAndFinishItemsAlreadyRead) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    std::atomic<int> done{0};
    const auto run = [&] {
      workers.Run(20, [&](int i) -> BatchWorkers::Work {
        CHECK_NE(i, 7) << "the database ends.";
        return [&] { ++done; };
      });
    };
    EXPECT_EQ(ErrorOf(run), "the database ends.");
    EXPECT_EQ(done, 7);
  }
}

TEST(BatchWorkers, CancelItemsThatWaitBehindAFailure) {
  BatchWorkers workers(8);
  std::atomic<int> drawn{0};
  const auto run = [&] {
    workers.Run(8, [&](int i) -> BatchWorkers::Work {
      return [&, i] {
        if (i == 2) Sleep(5);
        CHECK_NE(i, 2) << "damaged.";
        workers.InOrder(i, [&] { ++drawn; });
      };
    });
  };
  EXPECT_EQ(ErrorOf(run), "damaged.");
  EXPECT_EQ(drawn, 2);
}

TEST(BatchWorkers, PassOnOtherExceptions) {
  for (int threads : kThreads) {
    BatchWorkers workers(threads);
    const auto run = [&] {
      workers.Run(4, [](int) -> BatchWorkers::Work { return [] { throw std::bad_alloc(); }; });
    };
    EXPECT_THROW(run(), std::bad_alloc);
  }
}

TEST(BatchWorkers, StopPromptlyWhenTheCallerIsInterrupted) {
  for (int threads : kThreads) {
    std::atomic<int> at_work{0}, done{0};
    std::atomic<bool> interrupted{false};
    BatchWorkers workers(threads);
    boost::thread caller([&] {
      try {
        workers.Run(100000, [&](int i) -> BatchWorkers::Work {
          return [&, i] {
            ++at_work;
            Sleep(1);
            workers.InOrder(i, [] {});
            ++done;
            --at_work;
          };
        });
      } catch (const boost::thread_interrupted&) {
        interrupted = true;
        EXPECT_LT(done, 100000);
      }
    });
    while (done < 3) Sleep(1);
    caller.interrupt();
    caller.join();
    EXPECT_TRUE(interrupted);
  }
}

TEST(BatchWorkers, UseTheModeOfTheCaller) {
  BatchWorkers workers(2);
  const Caffe::Brew mode = Caffe::mode();
  std::atomic<int> same{0};
  workers.Run(8, [&](int) -> BatchWorkers::Work { return [&] { same += Caffe::mode() == mode; }; });
  EXPECT_EQ(same, 8);
}

using BatchWorkersDeath = testing::Test;

TEST_F(BatchWorkersDeath, FailedCheckEndsTheProgramWithItsMessage) {
  EXPECT_EXIT(
      {
        ExitOnFailure(1);
        BatchWorkers workers(4);
        workers.Run(20, [](int i) -> BatchWorkers::Work {
          return [i] { CHECK_LT(i, 5) << "item " << i << " is damaged."; };
        });
      },
      testing::ExitedWithCode(1), "item 5 is damaged\\.\n$");
}

}  // namespace
}  // namespace caffe
