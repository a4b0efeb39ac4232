#include "caffe/test/expect_error.hpp"
#include "caffe/util/insert_splits.hpp"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace caffe {
namespace {

NetParameter Parse(const string& text) {
  NetParameter net;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &net)) << text;
  return net;
}

// Expects that InsertSplits turns the text `before` into `after`.
void ExpectSplits(const string& before, const string& after) {
  NetParameter split;
  InsertSplits(Parse(before), &split);
  EXPECT_EQ(split.DebugString(), Parse(after).DebugString());
  NetParameter again;
  InsertSplits(split, &again);
  EXPECT_EQ(again.DebugString(), split.DebugString()) << "a split net needs no more splits";
}

TEST(InsertSplits, LeavesAChainAlone) {
  const string chain =
      "name: 'chain' force_backward: true"
      " layer { name: 'data' top: 'data' top: 'label' }"
      " layer { name: 'ip' bottom: 'data' top: 'ip' }"
      " layer { name: 'loss' bottom: 'ip' bottom: 'label' top: 'loss' loss_weight: 2 }";
  ExpectSplits(chain, chain);
}

TEST(InsertSplits, GivesEachReaderACopy) {
  ExpectSplits(
      "layer { name: 'data' top: 'data' }"
      " layer { name: 'a' bottom: 'data' top: 'a' }"
      " layer { name: 'b' bottom: 'data' top: 'b' }",
      "layer { name: 'data' top: 'data' }"
      " layer { name: 'data_data_0_split' type: 'Split' bottom: 'data'"
      "         top: 'data_data_0_split_0' top: 'data_data_0_split_1' }"
      " layer { name: 'a' bottom: 'data_data_0_split_0' top: 'a' }"
      " layer { name: 'b' bottom: 'data_data_0_split_1' top: 'b' }");
}

TEST(InsertSplits, CountsALayerThatReadsTwice) {
  ExpectSplits(
      "layer { name: 'data' top: 'x' top: 'y' }"
      " layer { name: 'sum' bottom: 'y' bottom: 'y' top: 'z' }"
      " layer { name: 'use' bottom: 'x' bottom: 'z' top: 'w' }",
      "layer { name: 'data' top: 'x' top: 'y' }"
      " layer { name: 'y_data_1_split' type: 'Split' bottom: 'y'"
      "         top: 'y_data_1_split_0' top: 'y_data_1_split_1' }"
      " layer { name: 'sum' bottom: 'y_data_1_split_0' bottom: 'y_data_1_split_1' top: 'z' }"
      " layer { name: 'use' bottom: 'x' bottom: 'z' top: 'w' }");
}

TEST(InsertSplits, SplitsTheLastVersionOfAnInPlaceBlob) {
  ExpectSplits(
      "layer { name: 'ip' top: 'ip' }"
      " layer { name: 'relu' bottom: 'ip' top: 'ip' }"
      " layer { name: 'a' bottom: 'ip' top: 'a' }"
      " layer { name: 'b' bottom: 'ip' top: 'b' }",
      "layer { name: 'ip' top: 'ip' }"
      " layer { name: 'relu' bottom: 'ip' top: 'ip' }"
      " layer { name: 'ip_relu_0_split' type: 'Split' bottom: 'ip'"
      "         top: 'ip_relu_0_split_0' top: 'ip_relu_0_split_1' }"
      " layer { name: 'a' bottom: 'ip_relu_0_split_0' top: 'a' }"
      " layer { name: 'b' bottom: 'ip_relu_0_split_1' top: 'b' }");
}

TEST(InsertSplits, SplitsEachVersionOfAnInPlaceBlobSeparately) {
  ExpectSplits(
      "layer { name: 'ip' top: 'ip' }"
      " layer { name: 'a' bottom: 'ip' top: 'a' }"
      " layer { name: 'relu' bottom: 'ip' top: 'ip' }"
      " layer { name: 'b' bottom: 'ip' top: 'b' }",
      "layer { name: 'ip' top: 'ip' }"
      " layer { name: 'ip_ip_0_split' type: 'Split' bottom: 'ip'"
      "         top: 'ip_ip_0_split_0' top: 'ip_ip_0_split_1' }"
      " layer { name: 'a' bottom: 'ip_ip_0_split_0' top: 'a' }"
      " layer { name: 'relu' bottom: 'ip_ip_0_split_1' top: 'ip' }"
      " layer { name: 'b' bottom: 'ip' top: 'b' }");
}

TEST(InsertSplits, MovesALossWeightToTheFirstCopy) {
  ExpectSplits(
      "layer { name: 'l' top: 'x' top: 'y' loss_weight: 2 loss_weight: 3 }"
      " layer { name: 'use' bottom: 'x' top: 'z' }",
      "layer { name: 'l' top: 'x' top: 'y' loss_weight: 0 loss_weight: 3 }"
      " layer { name: 'x_l_0_split' type: 'Split' bottom: 'x'"
      "         top: 'x_l_0_split_0' top: 'x_l_0_split_1' loss_weight: 2 loss_weight: 0 }"
      " layer { name: 'use' bottom: 'x_l_0_split_1' top: 'z' }");
}

TEST(InsertSplits, RemovesTheLossWeightOfALayerThatIsNoLoss) {
  const string split =
      " layer { name: 'x_l_0_split' type: 'Split' bottom: 'x'"
      "         top: 'x_l_0_split_0' top: 'x_l_0_split_1' loss_weight: 2 loss_weight: 0 }"
      " layer { name: 'use' bottom: 'x_l_0_split_1' top: 'z' }";
  const string use = " layer { name: 'use' bottom: 'x' top: 'z' }";
  ExpectSplits("layer { name: 'l' type: 'InnerProduct' top: 'x' loss_weight: 2 }" + use,
               "layer { name: 'l' type: 'InnerProduct' top: 'x' }" + split);
  // A loss layer without a loss_weight would have a weight of 1.
  ExpectSplits("layer { name: 'l' type: 'HingeLoss' top: 'x' loss_weight: 2 }" + use,
               "layer { name: 'l' type: 'HingeLoss' top: 'x' loss_weight: 0 }" + split);
  const string zero = "layer { name: 'l' type: 'InnerProduct' top: 'x' loss_weight: 0 }" + use;
  ExpectSplits(zero, zero);
}

TEST(InsertSplitsErrors, ReportsAnUnknownBottomWithItsLayer) {
  NetParameter split;
  const NetParameter net = Parse("layer { name: 'ip' bottom: 'nowhere' top: 'ip' }");
  EXPECT_ERROR(InsertSplits(net, &split),
               "Unknown bottom blob 'nowhere' .layer 'ip', bottom index 0");
}

}  // namespace
}  // namespace caffe
