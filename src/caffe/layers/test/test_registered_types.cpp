// Every layer type that a net may name can be made of parameters that say nothing else: a layer
// looks at them when it is set up.
#include <gtest/gtest.h>

#include "caffe/layer_factory.hpp"

namespace caffe {
namespace {

template <typename Dtype>
class RegisteredTypes : public ::testing::Test {};
using Precisions = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RegisteredTypes, Precisions);

TYPED_TEST(RegisteredTypes, CanBeMadeOfEmptyParameters) {
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
