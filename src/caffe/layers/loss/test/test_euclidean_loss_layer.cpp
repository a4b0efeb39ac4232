#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

const char kLoss[] = "name: 'loss' type: 'EuclideanLoss'";
const char kWeighted[] = "name: 'loss' type: 'EuclideanLoss' loss_weight: 0.25";
const vector<vector<int>> kTwo(2, {3, 2, 2});

TEST(EuclideanLossLayer, IsHalfTheSquaredDistancePerSample) {
  auto a = BlobOf({2, 2}, {1, 2, 3, 4}), b = BlobOf({2, 2}, {0, 4, 3, 1});
  Blob<double> loss;
  auto layer = MakeLayer(kWeighted);
  layer->SetUp({a.get(), b.get()}, {&loss});
  EXPECT_EQ(layer->Forward({a.get(), b.get()}, {&loss}), 0.25 * 3.5);
  EXPECT_EQ(DataOf(loss), vector<double>{3.5});
  EXPECT_EQ(loss.num_axes(), 0);
  layer->Backward({&loss}, {true, true}, {a.get(), b.get()});
  EXPECT_EQ(DiffOf(*a), (vector<double>{0.125, -0.25, 0, 0.375}));
  EXPECT_EQ(DiffOf(*b), (vector<double>{-0.125, 0.25, 0, -0.375}));
}

TEST(EuclideanLossLayer, IsZeroForAnEmptyBatch) {
  LayerCase loss(kLoss, {{0, 3}, {0, 3}}, 1);
  loss.SetUp();
  EXPECT_EQ(loss.layer->Forward(loss.bottom, loss.top), 0);
}

TEST(EuclideanLossLayer, BothBottomsMayTakeAGradient) {
  auto layer = MakeLayer(kLoss);
  EXPECT_TRUE(layer->AllowForceBackward(0));
  EXPECT_TRUE(layer->AllowForceBackward(1));
}

TEST(EuclideanLossLayer, EveryVariantGivesTheGradient) {
  for (const int bottom : {-1, 0, 1}) {
    CheckAllVariants(kLoss, kTwo, 1, 2, bottom);
    CheckAllVariants(kWeighted, kTwo, 1, 2, bottom);
  }
}

TEST(EuclideanLossLayer, AllVariantsGiveTheSameBits) {
  auto a = RandomBlob({3, 4}, 1), b = RandomBlob({3, 4}, 2);
  Blob<double> loss;
  for (const vector<bool>& wanted :
       {vector<bool>{true, true}, vector<bool>{true, false}, vector<bool>{false, true}}) {
    CheckVariants(MakeLayer(kLoss).get(), {a.get(), b.get()}, {&loss}, wanted, false);
  }
}

TEST(EuclideanLossLayerErrors, BottomsMustAgree) {
  Blob<double> a(vector<int>{3, 4}), b(vector<int>{3, 5}), c(vector<int>{2, 6}), loss;
  EXPECT_ERROR(MakeLayer(kLoss)->SetUp({&a, &b}, {&loss}),
               "Layer loss: Inputs must have the same dimension");
  EXPECT_ERROR(MakeLayer(kLoss)->SetUp({&a, &c}, {&loss}),
               "Layer loss: the data and label should have the same first dimension");
}

}  // namespace
}  // namespace caffe
