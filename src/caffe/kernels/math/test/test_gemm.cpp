#include "caffe/kernels/math/gemm.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "caffe/blob.hpp"

namespace caffe {
namespace kernels {
namespace {

constexpr int kM = 3, kN = 5, kK = 4, kCount = 6;

template <typename Dtype>
class BatchedProducts : public ::testing::Test {
 protected:
  static void Fill(int seed, Blob<Dtype>* blob) {
    Dtype* const values = blob->mutable_cpu_data();
    for (int i = 0; i < blob->count(); ++i) values[i] = Dtype((i * 7 + seed * 13) % 29 - 14) / 14;
  }
};

using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(BatchedProducts, Types);

TYPED_TEST(BatchedProducts, EqualSeparateProducts) {
  using Dtype = TypeParam;
  const DeviceContext context = DeviceContext::Current();
  // The steps leave gaps, and all products share A.
  const GemmBatch batch{kCount, 0, kK * kN + 2, kM * kN + 3};
  Blob<Dtype> a({kM * kK}), b({static_cast<int>(batch.b_step) * kCount});
  this->Fill(1, &a);
  this->Fill(2, &b);
  for (const Transpose ta : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose tb : {Transpose::kNo, Transpose::kYes}) {
      for (const Dtype beta : {Dtype(0), Dtype(0.5)}) {
        Blob<Dtype> c({static_cast<int>(batch.c_step) * kCount}), expected(c.shape());
        this->Fill(3, &c);
        this->Fill(3, &expected);
        const Dtype *const one = Data(context, a), *const many = Data(context, b);
        BatchedGemm(context, batch, ta, tb, kM, kN, kK, Dtype(2), one, many, beta,
                    MutableData(context, &c));
        for (int i = 0; i < kCount; ++i) {
          Gemm(context, ta, tb, kM, kN, kK, Dtype(2), one, many + i * batch.b_step, beta,
               MutableData(context, &expected) + i * batch.c_step);
        }
        for (int i = 0; i < c.count(); ++i)
          ASSERT_NEAR(c.cpu_data()[i], expected.cpu_data()[i], 1e-5) << i;
      }
    }
  }
}

TYPED_TEST(BatchedProducts, AreZeroForAnInnerSizeOfZero) {
  using Dtype = TypeParam;
  const DeviceContext context = DeviceContext::Current();
  const Blob<Dtype> none({1});
  for (const Transpose ta : {Transpose::kNo, Transpose::kYes}) {
    for (const Transpose tb : {Transpose::kNo, Transpose::kYes}) {
      Blob<Dtype> one({kM * kN}), many({kM * kN * kCount});
      for (Blob<Dtype>* c : {&one, &many}) this->Fill(3, c);
      Gemm(context, ta, tb, kM, kN, 0, Dtype(1), Data(context, none), Data(context, none), Dtype(0),
           MutableData(context, &one));
      BatchedGemm(context, {kCount, 0, 0, kM * kN}, ta, tb, kM, kN, 0, Dtype(1),
                  Data(context, none), Data(context, none), Dtype(0), MutableData(context, &many));
      EXPECT_EQ(one.asum_data(), 0);
      EXPECT_EQ(many.asum_data(), 0);
    }
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
