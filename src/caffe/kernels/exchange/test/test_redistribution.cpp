#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "caffe/kernels/exchange/device_sum.hpp"
#include "caffe/kernels/exchange/redistribution.hpp"
#include "caffe/test/body_memory.hpp"
#include "caffe/test/device_scope.hpp"
#include "caffe/test/devices_like_this.hpp"
#include "layrub/partition/test/layout_model.hpp"

namespace caffe {
namespace {

using layrub::Layout;
using layrub::testing::Array;
using layrub::testing::Spread;
using layrub::testing::Together;

using Member = layrub::Communicator;

/// Calls `body` for each member of `group`, in a thread of its own that uses the member's device.
void ForEach(const layrub::Group& group, const std::function<void(Member*)>& body) {
  const Caffe::Brew mode = Caffe::mode();
  std::vector<std::thread> threads;
  for (const auto& member : group) {
    threads.emplace_back([&, member = member.get()] {
      const DeviceScope scope(member->device(), mode);
      body(member);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A copy of `values` in memory of the calling thread's device. Larger by one number than it needs
/// to be, which must not be touched.
class Numbers {
 public:
  explicit Numbers(size_t count) : count_(count), memory_((count + 1) * sizeof(double)) {}
  explicit Numbers(const Array& values) : Numbers(values.size()) {
    Put(std::vector<double>(values.begin(), values.end()), memory_.address());
  }
  double* data() const { return static_cast<double*>(memory_.address()); }
  Array values() const {
    const std::vector<double> all = Get<double>(memory_.address(), count_ + 1);
    EXPECT_TRUE(std::isnan(all.back())) << "a number behind the array was written";
    return {all.begin(), all.end() - 1};
  }

 private:
  const size_t count_;
  const BodyMemory memory_;
};

size_t Size(int64_t count) { return static_cast<size_t>(count); }

/// What the devices have after `parts` has been brought from one layout to another.
std::vector<Array> Redistribute(const layrub::Group& group, const Layout& from, const Layout& to,
                                const std::vector<Array>& parts, int64_t most_in_flight,
                                bool on_host) {
  const Redistribution way(from, to, most_in_flight);
  if (way.nothing()) return parts;
  std::vector<Array> result(parts.size());
  ForEach(group, [&](Member* member) {
    const DeviceScope scope(member->device(), on_host ? Caffe::CPU : Caffe::mode());
    const auto rank = static_cast<size_t>(member->rank());
    const Numbers x(parts[rank]), y(Size(layrub::testing::Product(LocalDims(to)))),
        workspace(Size(way.workspace()));
    way.Run(DeviceContext::Current(), member, x.data(), y.data(), workspace.data());
    result[rank] = y.values();
    EXPECT_EQ(x.values(), parts[rank]);
    workspace.values();
  });
  return result;
}

/// Groups of 2, 4 and 8, whose values go through host memory.
class ThreadGroups : public ::testing::TestWithParam<int> {
 protected:
  int levels() const { return GetParam(); }
  const layrub::Group group_ = layrub::ConnectThreads(DevicesLikeThis(1 << GetParam()));
};
INSTANTIATE_TEST_SUITE_P(Levels, ThreadGroups, ::testing::Values(1, 2, 3));

TEST_P(ThreadGroups, BringAnArrayFromAnyLayoutToAnyOther) {
  EXPECT_TRUE(rc::check([&] {
    std::vector<std::vector<int64_t>> joined{{}, {4, 8}, {}};
    const std::vector<int64_t> dims{*rc::gen::element<int64_t>(1, 2, 4, 8, 6), 12,
                                    *rc::gen::element<int64_t>(1, 3, 4)};
    if (*rc::gen::arbitrary<bool>()) joined.clear();
    const Layout from = layrub::testing::ArbitraryLayout(dims, joined, levels(), true);
    const Layout to = layrub::testing::ArbitraryLayout(dims, joined, levels(), true);
    Array value(Size(layrub::testing::Product(dims)));
    std::iota(value.begin(), value.end(), 1);
    const auto most_in_flight = *rc::gen::element<int64_t>(16, 40, 100, kMostInFlight);
    const bool on_host = *rc::gen::arbitrary<bool>();
    const std::vector<Array> parts =
        Redistribute(group_, from, to, Spread(from, value), most_in_flight, on_host);
    RC_ASSERT(Together(to, parts) == value);
  }));
}

/// Each member has the numbers 100 * rank, 100 * rank + 1, and so on. Returns their sums by member.
std::vector<Array> Sum(const layrub::Group& group, const DeviceSum& sum, int64_t count) {
  std::vector<Array> result(group.size());
  ForEach(group, [&](Member* member) {
    Array own(Size(count));
    std::iota(own.begin(), own.end(), 100 * member->rank());
    const Numbers numbers(own), workspace(Size(sum.workspace(count)));
    sum.Run(DeviceContext::Current(), member, count, numbers.data(), workspace.data());
    result[static_cast<size_t>(member->rank())] = numbers.values();
    workspace.values();
  });
  return result;
}

TEST_P(ThreadGroups, AddUpWhereALevelHasParts) {
  for (int bits = 0; bits < 1 << levels(); ++bits) {
    std::vector<layrub::Level> shares;
    for (int level = levels(); level-- > 0;)
      shares.push_back((bits >> level) % 2 == 1 ? layrub::Part() : layrub::Cut(0));
    for (const int64_t most_in_flight : {int64_t{8}, int64_t{20}, kMostInFlight}) {
      for (const int64_t count : {1, 3, 50}) {
        const DeviceSum sum(shares, most_in_flight);
        EXPECT_EQ(sum.nothing(), bits == 0);
        const std::vector<Array> sums = Sum(group_, sum, count);
        for (int rank = 0; rank < 1 << levels(); ++rank) {
          Array expected(Size(count));
          for (int other = 0; other < 1 << levels(); ++other) {
            if (((other ^ rank) & ~bits) != 0) continue;
            for (int64_t i = 0; i < count; ++i) expected[Size(i)] += 100 * other + i;
          }
          EXPECT_EQ(sums[Size(rank)], expected) << bits << " " << most_in_flight << " " << count;
        }
      }
    }
  }
}

TEST(Redistribution, SendsNumbersToOneReceiverAlone) {
  const Layout part{{6, 4}, {}, {layrub::Cut(0), layrub::Cut(1)}};
  const Layout whole{{6, 4}, {}, {layrub::Whole(), layrub::Whole()}};
  Array value(24);
  std::iota(value.begin(), value.end(), 1);
  const std::vector<Array> parts = Spread(part, value);
  const layrub::Group group = layrub::ConnectThreads(DevicesLikeThis(4));
  const Redistribution way(part, whole, 10);
  ForEach(group, [&](Member* member) {
    const Numbers x(parts[Size(member->rank())]), y(24), workspace(Size(way.workspace()));
    way.Run(DeviceContext::Current(), member, x.data(), member->rank() == 2 ? y.data() : nullptr,
            workspace.data(), 2);
    if (member->rank() == 2) {
      EXPECT_EQ(y.values(), value);
    }
  });
}

TEST(Redistribution, GpusExchangeByNccl) {
  if (Caffe::mode() == Caffe::CPU || !Caffe::device().LaunchesKernels() || layrub::GpuCount() < 2)
    GTEST_SKIP() << "skipped: this needs two GPUs.";
  const layrub::Group group = layrub::Connect(DevicesLikeThis(2));
  const Layout rows{{6, 4}, {}, {layrub::Cut(0)}}, columns{{6, 4}, {}, {layrub::Cut(1)}};
  const Layout sum{{6, 4}, {}, {layrub::Part()}}, whole{{6, 4}, {}, {layrub::Whole()}};
  Array value(24);
  std::iota(value.begin(), value.end(), 1);
  for (const auto& [from, to] : {std::pair(rows, columns), std::pair(columns, whole),
                                 std::pair(sum, whole), std::pair(sum, rows)}) {
    for (const int64_t most_in_flight : {int64_t{6}, kMostInFlight}) {
      for (const bool on_host : {false, true}) {
        EXPECT_EQ(Together(to, Redistribute(group, from, to, Spread(from, value), most_in_flight,
                                            on_host)),
                  value);
      }
    }
  }
  EXPECT_EQ(Sum(group, DeviceSum({layrub::Part()}), 2)[1], (Array{100, 102}));
}

}  // namespace
}  // namespace caffe
