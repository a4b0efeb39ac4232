// Loops that are put off and run tile by tile give the bits of loops that run one after the other.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

#include "caffe/blob.hpp"
#include "caffe/device_context.hpp"
#include "caffe/util/fused_loops.hpp"
#include "caffe/util/threads.hpp"

namespace caffe {
namespace {

/// body(i) for all of [0, n), as kernels' loops do it.
template <typename Body>
void For(int64_t n, const Body& body) {
  const auto chunk = [](const void* erased, int64_t begin, int64_t end) {
    const Body run = *static_cast<const Body*>(erased);
    for (int64_t i = begin; i < end; ++i) run(i);
  };
  const bool parallel = n > 16384;
  if (FusedLoops::PutOff(n, parallel, &body, sizeof(Body), chunk)) return;
  CpuFor(n, parallel, body);
}

/// Three arrays and a vector of channels, on which loops of every kind that fuses work.
class Arrays {
 public:
  explicit Arrays(const FusedLoops::Shape& shape) : shape_(shape) {
    const int64_t n = shape.outer * shape.channels * shape.inner;
    for (int k = 0; k < 3; ++k) {
      for (int64_t i = 0; i < n; ++i)
        arrays_[k].push_back(static_cast<float>((i * 7 + k) % 31 - 15) / 8);
    }
    sums_.assign(shape.channels, 0.5f);
  }

  void Run(int kind) {
    float *const a = arrays_[kind % 3].data(), *const b = arrays_[(kind / 3) % 3].data();
    float* const sums = sums_.data();
    const auto [outer, channels, inner] = shape_;
    const int64_t n = outer * channels * inner;
    switch (kind % 4) {
      case 0:
        For(n, [=](int64_t i) { a[i] = 0.5f * a[i] + 1.5f * b[i]; });
        break;
      case 1:
        For(outer * channels, [=, channels = channels, inner = inner](int64_t row) {
          for (int64_t i = row * inner; i < (row + 1) * inner; ++i) a[i] *= sums[row % channels];
        });
        break;
      case 2:
        For(channels, [=, outer = outer, channels = channels, inner = inner](int64_t channel) {
          float sum = 0;
          for (int64_t o = 0; o < outer; ++o) {
            const int64_t first = (o * channels + channel) * inner;
            for (int64_t i = first; i < first + inner; ++i) sum += a[i] * b[i];
          }
          sums[channel] = sums[channel] / 2 + sum / (1 + sum * sum);
        });
        break;
      case 3:
        For(channels, [=](int64_t i) { sums[i] = 1 - sums[i]; });
        break;
    }
  }
  std::vector<float> Values() const {
    std::vector<float> all = sums_;
    for (const auto& array : arrays_) all.insert(all.end(), array.begin(), array.end());
    return all;
  }

 private:
  FusedLoops::Shape shape_;
  std::vector<float> arrays_[3], sums_;
};

bool FusedGivesTheBitsOfOneAfterTheOther(const FusedLoops::Shape& shape,
                                         const std::vector<int>& kinds) {
  Arrays one_by_one(shape), fused(shape);
  for (int kind : kinds) one_by_one.Run(kind);
  FusedLoops loops;
  {
    const FusedLoops::Scope scope(&loops, shape);
    for (int kind : kinds) fused.Run(kind);
  }
  loops.Finish();
  return one_by_one.Values() == fused.Values();
}

TEST(FusedLoops, GiveTheBitsOfLoopsOneAfterTheOther) {
  EXPECT_TRUE(rc::check("random loops on random shapes", [] {
    const FusedLoops::Shape shape{*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 40),
                                  *rc::gen::inRange(1, 60)};
    const auto kinds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 36));
    RC_ASSERT(FusedGivesTheBitsOfOneAfterTheOther(shape, kinds));
  }));
}

TEST(FusedLoops, GiveTheSameBitsOnSeveralThreadsAndTiles) {
  for (const FusedLoops::Shape& shape :
       {FusedLoops::Shape{1, 100003, 1}, {3, 7, 5000}, {16, 4096, 1}, {2, 3000, 9}}) {
    EXPECT_TRUE(FusedGivesTheBitsOfOneAfterTheOther(shape, {0, 2, 16, 1, 7, 3, 19, 11, 44}));
  }
}

class PutOff : public ::testing::Test {
 protected:
  void SetUp() override { SetCpuThreads(2); }  // no more than there are channels

  /// x = 2 x, then x = 3 x.
  void Run() {
    for (const float factor : {2.0f, 3.0f}) Scale(factor);
  }
  void Scale(float factor) {
    float* x = nullptr;
    {
      const FusedLoops::Operands operands;
      x = x_.mutable_cpu_data();
    }
    For(kCount, [=](int64_t i) { x[i] *= factor; });
  }
  /// Behind the back of the blob.
  float Now() const { return *address_; }

  static constexpr int kCount = 8;
  Blob<float> x_{vector<int>{kCount}};
  float* const address_ = [this] {
    std::fill_n(x_.mutable_cpu_data(), kCount, 1.0f);
    return x_.mutable_cpu_data();
  }();
  FusedLoops loops_;
};

TEST_F(PutOff, RunsWhenItIsFinished) {
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  Run();
  EXPECT_EQ(Now(), 1);
  loops_.Finish();
  EXPECT_EQ(Now(), 6);
  EXPECT_EQ(loops_.fused(), 2);
  loops_.Finish();
  EXPECT_EQ(Now(), 6);
}

TEST_F(PutOff, IsFinishedForWhoeverAsksTheBlobForItsValues) {
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  Run();
  EXPECT_EQ(x_.cpu_data()[kCount - 1], 6);
}

TEST_F(PutOff, IsFinishedBeforeBytesAreCopiedOrZeroed) {
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  Run();
  float copy = 0;
  CopyBytes(DeviceContext(), &copy, address_, sizeof(float));
  EXPECT_EQ(copy, 6);
  Run();
  ZeroBytes(DeviceContext(), address_, sizeof(float));
  loops_.Finish();
  EXPECT_EQ(Now(), 0);
}

TEST_F(PutOff, RunsLoopByLoopWhereChannelsAreFewerThanThreads) {
  const FusedLoops::Scope scope(&loops_, {kCount, 1, 1});
  Run();
  loops_.Finish();
  EXPECT_EQ(Now(), 6);
  EXPECT_EQ(loops_.fused() == 0, CpuThreads() > 1);
}

TEST_F(PutOff, IsFinishedBeforeALoopThatDoesNotFuse) {
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  Run();
  float* const x = address_;
  For(3, [=](int64_t i) { x[i] += 1; });
  EXPECT_EQ(Now(), 7);
}

TEST_F(PutOff, IsNothingWithoutAScopeOrInOneOfNone) {
  Run();
  EXPECT_EQ(Now(), 6);
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  {
    const FusedLoops::Scope none(nullptr, {});
    Run();
    EXPECT_EQ(Now(), 36);
  }
  Run();
  EXPECT_EQ(Now(), 36);
  loops_.Finish();
  EXPECT_EQ(Now(), 216);
}

TEST_F(PutOff, IsNothingWhereFusionIsSwitchedOff) {
  FusedLoops::Enable(false);
  {
    const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
    Run();
  }
  FusedLoops::Enable(true);
  EXPECT_EQ(Now(), 6);
  EXPECT_EQ(loops_.fused(), 0);
}

TEST_F(PutOff, OfASingleLoopIsNotFused) {
  const FusedLoops::Scope scope(&loops_, {1, kCount, 1});
  Scale(2);
  loops_.Finish();
  EXPECT_EQ(Now(), 2);
  EXPECT_EQ(loops_.fused(), 0);
}

}  // namespace
}  // namespace caffe
