#include <google/protobuf/text_format.h>

#include "caffe/net.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/util/layout_proto.hpp"

namespace caffe {
namespace {

DeviceLayout LayoutOf(const string& text) {
  DeviceLayout proto;
  CHECK(google::protobuf::TextFormat::ParseFromString(text, &proto)) << text;
  return proto;
}

TEST(DeviceLayout, ConvertsBackToTheSameLayout) {
  const layrub::Layout layout{
      {8, 6},
      {{}, {2, 4}},
      {layrub::Cut(0), layrub::Part(), layrub::Cut(1), layrub::PartGradient(), layrub::Whole()}};
  EXPECT_TRUE(FromProto(ToProto(layout)) == layout);
}

TEST(DeviceLayout, RejectsInvalidLayoutsInAPrototxt) {
  EXPECT_ERROR(FromProto(LayoutOf("dim: 8 level { cut: 1 }")), "cut is no dimension");
  EXPECT_ERROR(FromProto(LayoutOf("dim: 8 level { cut: -1 }")), "cut is no dimension");
  EXPECT_ERROR(FromProto(LayoutOf("dim: 6 level { cut: 0 } level { cut: 0 }")),
               "dimension 0 cannot be cut into 4 equal parts");
  EXPECT_ERROR(FromProto(LayoutOf("dim: -8")), "dim -8 is no dimension");
  EXPECT_ERROR(FromProto(LayoutOf("dim: 8 joined { dim: 3 size: 8 }")), "joined.dim");
  EXPECT_ERROR(FromProto(LayoutOf("dim: 8 joined { dim: 0 size: 4 size: 2 }")),
               "the sum of joined.size");
  EXPECT_ERROR(
      FromProto(LayoutOf("level {} level {} level {} level {} level {} level {} level {}")),
      "more than 64 devices");
}

NetParameter NetOf(const string& layer) {
  NetParameter net;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      R"(layer { name: "data" type: "DummyData" top: "x" dummy_data_param { shape { dim: 4 dim: 3 } } })" +
          layer,
      &net));
  return net;
}

TEST(DeviceLayout, RejectsALayoutThatDoesNotFitTheLayersBlobs) {
  EXPECT_ERROR(Net<float>(NetOf(R"(layer { name: "drop" type: "Dropout" bottom: "x" top: "y"
                                           layout { dim: 400 dim: 3 level { cut: 0 } } })")),
               "not the one that the net was divided for");
  EXPECT_ERROR(Net<float>(NetOf(R"(layer { name: "e" type: "Exchange" bottom: "x" top: "y"
                                           exchange_param { from { dim: 4 dim: 3 level { cut: 0 } }
                                                            to { dim: 4 dim: 3 level {} } } })")),
               "not the one that the net was divided for");
  EXPECT_ERROR(Net<float>(NetOf(R"(layer { name: "e" type: "Exchange" bottom: "x" top: "y"
                                           exchange_param { from { dim: 4 dim: 3 } to { dim: 4 } } })")),
               "not of one array on the same devices");
  EXPECT_ERROR(Net<float>(NetOf(R"(layer { name: "d" type: "DummyData" top: "y"
                                           layout { level {} } dummy_data_param { shape { dim: 4 } } })")),
               "a source must have items");
}

TEST(DeviceLayout, CannotRunADividedNetOnOneDevice) {
  Net<float> net(NetOf(R"(layer { name: "e" type: "Exchange" bottom: "x" top: "y"
                                  exchange_param { from { dim: 8 dim: 3 level { cut: 0 } }
                                                   to { dim: 8 dim: 3 level {} } } })"));
  EXPECT_ERROR(net.Forward(), "a net that is divided among devices runs on these only");
}

}  // namespace
}  // namespace caffe
