// Matrix products on the threads of loops.
#include "caffe/util/cpu_gemm.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "caffe/util/threads.hpp"

#ifdef USE_MKL
#define openblas_get_num_threads mkl_get_max_threads
#define openblas_set_num_threads mkl_set_num_threads
#endif

namespace caffe {
namespace {

struct Sizes {
  int count, m, n, k;
};

/// Fewer products than threads, as many, and some that are left over; wide ones, tall ones, one
/// that is smaller than what is worth sharing, and one that oneDNN computes.
constexpr Sizes kExamples[] = {{1, 300, 70, 41},  {1, 70, 300, 41}, {2, 96, 100, 33},
                               {7, 50, 130, 64},  {16, 64, 49, 80}, {3, 2, 5, 4},
                               {1, 210, 190, 131}};

template <typename Dtype>
std::vector<Dtype> Values(size_t count, int seed) {
  std::vector<Dtype> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<Dtype>((i * 7 + static_cast<size_t>(seed) * 13) % 29) / 14 - 1;
  return values;
}

/// The products of an example, with factors and results that lie a value apart.
template <typename Dtype>
class Products {
 public:
  /// `add`: to half of what is there, else to what is not a number.
  Products(const Sizes& sizes, bool ta, bool tb, bool add)
      : s_(sizes),
        ta_(ta),
        tb_(tb),
        beta_(add ? Dtype(0.5) : Dtype(0)),
        a_(Values<Dtype>(Step(s_.m, s_.k) * s_.count, 1)),
        b_(Values<Dtype>(Step(s_.k, s_.n) * s_.count, 2)),
        c_(Values<Dtype>(Step(s_.m, s_.n) * s_.count, 3)) {
    if (!add) std::fill(c_.begin(), c_.end(), Dtype(NAN));
  }

  std::vector<Dtype> Made() const {
    std::vector<Dtype> c = c_;
    CpuGemm<Dtype>(s_.count, Steps(s_.m, s_.k), Steps(s_.k, s_.n), Steps(s_.m, s_.n),
                   ta_ ? CblasTrans : CblasNoTrans, tb_ ? CblasTrans : CblasNoTrans, s_.m, s_.n,
                   s_.k, 2, a_.data(), b_.data(), beta_, c.data());
    return c;
  }

  std::vector<Dtype> Expected() const {
    std::vector<Dtype> c = c_;
    for (int i = 0; i < s_.count; ++i) {
      const Dtype* const a = a_.data() + i * Steps(s_.m, s_.k);
      const Dtype* const b = b_.data() + i * Steps(s_.k, s_.n);
      for (int row = 0; row < s_.m; ++row) {
        for (int column = 0; column < s_.n; ++column) {
          double sum = 0;
          for (int k = 0; k < s_.k; ++k)
            sum += double(ta_ ? a[k * s_.m + row] : a[row * s_.k + k]) *
                   (tb_ ? b[column * s_.k + k] : b[k * s_.n + column]);
          Dtype& out = c[static_cast<size_t>(i * Steps(s_.m, s_.n) + row * s_.n + column)];
          out = static_cast<Dtype>(2 * sum + (beta_ == 0 ? 0 : beta_ * out));
        }
      }
    }
    return c;
  }

 private:
  static int64_t Steps(int rows, int columns) { return int64_t{rows} * columns + 1; }
  static size_t Step(int rows, int columns) { return static_cast<size_t>(Steps(rows, columns)); }

  const Sizes s_;
  const bool ta_, tb_;
  const Dtype beta_;
  const std::vector<Dtype> a_, b_;
  std::vector<Dtype> c_;
};

class CpuGemmTest : public ::testing::Test {
 protected:
  // The test suites run with one BLAS thread.
  void SetUp() override { openblas_set_num_threads(cores_); }
  void TearDown() override {
    SetCpuThreads(cores_);
    openblas_set_num_threads(before_);
  }
  const int cores_ = CpuThreads();
  const int before_ = openblas_get_num_threads();
};

template <typename Dtype>
void ExpectSums(double tolerance) {
  for (const Sizes& sizes : kExamples) {
    for (int variant = 0; variant < 8; ++variant) {
      const Products<Dtype> products(sizes, variant & 1, variant & 2, variant & 4);
      const std::vector<Dtype> made = products.Made(), expected = products.Expected();
      for (size_t i = 0; i < made.size(); ++i) {
        if (std::isnan(expected[i])) continue;  // padding between two results
        ASSERT_NEAR(made[i], expected[i], tolerance) << sizes.m << " x " << sizes.n << ", " << i;
      }
      const std::vector<Dtype> again = products.Made();
      EXPECT_EQ(std::memcmp(again.data(), made.data(), made.size() * sizeof(Dtype)), 0);
    }
  }
}

TEST_F(CpuGemmTest, IsCorrectForAnyNumberOfThreads) {
  for (int threads = 1; threads <= cores_; ++threads) {
    SetCpuThreads(threads);
    ExpectSums<double>(1e-9);
    ExpectSums<float>(1e-3);
  }
}

TEST_F(CpuGemmTest, GivesTheSameResultsToConcurrentCallers) {
  const Products<float> products(kExamples[6], false, true, true);
  const std::vector<float> alone = products.Made();
  std::vector<std::vector<float>> made(4);
  std::vector<std::thread> callers;
  for (std::vector<float>& result : made)
    callers.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = products.Made();
    });
  for (std::thread& caller : callers) caller.join();
  for (const std::vector<float>& result : made) EXPECT_EQ(result, alone);
}

TEST_F(CpuGemmTest, RestoresTheNumberOfBlasThreads) {
  openblas_set_num_threads(2);
  {
    const OneBlasThread first;
    {
      const OneBlasThread second;
      EXPECT_EQ(openblas_get_num_threads(), 1);
    }
    EXPECT_EQ(openblas_get_num_threads(), 1);
  }
  EXPECT_EQ(openblas_get_num_threads(), 2);
}

TEST_F(CpuGemmTest, UsesNoMoreThreadsThanBlasMay) {
  openblas_set_num_threads(1);
  EXPECT_EQ(BlasThreads(), 1);
  const OneBlasThread scope;
  EXPECT_EQ(BlasThreads(), 1);
}

TEST(CpuThreadsTest, AreLimitedBySettingAndCores) {
  const int cores = CpuThreads();
  SetCpuThreads(1);
  EXPECT_EQ(CpuThreads(), 1);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  CpuFor(1000, true, [&](int64_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads, std::set<std::thread::id>{std::this_thread::get_id()});
  SetCpuThreads(cores + 100);
  EXPECT_EQ(CpuThreads(), cores);
}

/// What a handler of signals has seen of the stack that it runs on.
struct Seen {
  uintptr_t begin = 0, end = 0;  ///< of the thread's stack
  volatile std::sig_atomic_t calls = 0, elsewhere = 0;
};
Seen seen;

void LookAtTheStack(int) {
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  seen.calls = seen.calls + 1;
  if (here < seen.begin || here >= seen.end) seen.elsewhere = seen.elsewhere + 1;
}

TEST_F(CpuGemmTest, KeepsTheStackUsableForSignalHandlers) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  void* stack = nullptr;
  size_t bytes = 0;
  pthread_attr_getstack(&attributes, &stack, &bytes);
  pthread_attr_destroy(&attributes);
  seen.begin = reinterpret_cast<uintptr_t>(stack);
  seen.end = seen.begin + bytes;
  openblas_set_num_threads(1);  // this thread computes everything and gets the signals
  struct sigaction action = {}, before = {};
  action.sa_handler = LookAtTheStack;
  action.sa_flags = SA_RESTART;
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> over = false;
  std::thread caller([&over, thread = pthread_self()] {
    while (!over) {
      pthread_kill(thread, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  // A few columns and a transposed second factor: in this case oneDNN has used the stack pointer.
  for (int i = 0; i < 10000 && seen.calls < 200; ++i)
    Products<float>({1, 500, 2, 2000}, false, true, false).Made();
  over = true;
  caller.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GE(seen.calls, 200);
  EXPECT_EQ(seen.elsewhere, 0);
}

}  // namespace
}  // namespace caffe
