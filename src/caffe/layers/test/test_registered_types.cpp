// Every layer type that a net may name can be made from a LayerParameter with nothing but the type:
// a layer reads its parameters only when it is set up.
#include <gtest/gtest.h>

#include "caffe/layer_factory.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class RegisteredTypes : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RegisteredTypes, Precisions);

TYPED_TEST(RegisteredTypes, CanBeMadeFromEmptyParameters) {
  const vector<string> types = LayerRegistry<TypeParam>::LayerTypeList();
  EXPECT_GT(types.size(), 60u);
  for (const string& type : types) {
    LayerParameter param;
    param.set_type(type);
    EXPECT_EQ(LayerRegistry<TypeParam>::CreateLayer(param)->type(), type);
  }
}

}  // namespace
}  // namespace caffe
