#include "caffe/layers/test/variant_check.hpp"

namespace caffe {
namespace {

TEST(Silence, TakesItsBottomsAndGivesThemNoGradient) {
  LayerCase silence("type: 'Silence'", {{2, 3}, {4}}, 0);
  silence.SetUp();
  EXPECT_TRUE(silence.Traits().forward.reads.empty());
  for (Blob<double>* blob : silence.bottom) {
    std::fill_n(blob->mutable_cpu_diff(), blob->count(), 7.);
  }
  silence.layer->Forward(silence.bottom, silence.top);
  silence.layer->Backward(silence.top, {true, false}, silence.bottom);
  EXPECT_EQ(silence.bottom[0]->asum_diff(), 0);
  EXPECT_EQ(silence.bottom[1]->asum_diff(), 28);
}

TEST(Silence, DeclaresTheGradientsThatItWrites) {
  LayerCase silence("type: 'Silence'", {{2, 3}, {4}}, 0);
  silence.SetUp();
  const MemoryTraits one = silence.layer->Traits(silence.bottom, silence.top, {false, true});
  EXPECT_EQ(one.backward.at(0).writes, (vector<Operand>{BottomDiff(1)}));
  const MemoryTraits none = silence.layer->Traits(silence.bottom, silence.top, {false, false});
  EXPECT_TRUE(none.backward.empty());
}

}  // namespace
}  // namespace caffe
