#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

struct LrnCase {
  vector<int> shape;
  int size;
  double alpha, beta, k;
  bool within;
};

// Windows smaller than, equal to and larger than the axes they slide over.
const LrnCase kCases[] = {
    {{2, 7, 3, 2}, 3, 0.5, 0.75, 1, false}, {{2, 7, 3, 2}, 5, 1, 0.75, 2, false},
    {{1, 4, 2, 3}, 7, 2, 0.5, 1.5, false},  {{1, 3, 2, 2}, 15, 1, 0.75, 1, false},
    {{2, 3, 2, 2}, 1, 1, 0.75, 1, false},   {{1, 2, 5, 4}, 3, 1, 0.75, 1, true},
    {{1, 2, 3, 6}, 5, 2, 0.5, 1, true},     {{2, 1, 3, 2}, 9, 1, 0.75, 1, true},
    {{1, 2, 3, 2}, 1, 1, 1.25, 1, true}};

string Lrn(const LrnCase& c) {
  return "name: 'lrn' type: 'LRN' lrn_param { local_size: " + std::to_string(c.size) +
         " alpha: " + std::to_string(c.alpha) + " beta: " + std::to_string(c.beta) +
         " k: " + std::to_string(c.k) +
         " norm_region: " + (c.within ? "WITHIN_CHANNEL" : "ACROSS_CHANNELS") + " }";
}

/// Computes one value by the definition.
double Expected(const LrnCase& c, const Blob<double>& x, int n, int channel, int h, int w) {
  const int pad = c.size / 2;
  double sum = 0;
  if (c.within) {
    for (int y = std::max(0, h - pad); y <= std::min(c.shape[2] - 1, h + pad); ++y) {
      for (int z = std::max(0, w - pad); z <= std::min(c.shape[3] - 1, w + pad); ++z) {
        sum += std::pow(x.data_at(n, channel, y, z), 2);
      }
    }
  } else {
    for (int i = std::max(0, channel - pad); i <= std::min(c.shape[1] - 1, channel + pad); ++i) {
      sum += std::pow(x.data_at(n, i, h, w), 2);
    }
  }
  const double s = c.within ? 1 + c.alpha / (c.size * c.size) * sum : c.k + c.alpha / c.size * sum;
  return x.data_at(n, channel, h, w) * std::pow(s, -c.beta);
}

TEST(LRNLayer, FollowsTheDefinition) {
  for (const LrnCase& c : kCases) {
    SCOPED_TRACE(Lrn(c));
    auto x = RandomBlob(c.shape, 1);
    for (const Phase phase : {TRAIN, TEST}) {
      Blob<double> y;
      auto layer = MakeLayer(Lrn(c), phase);
      layer->SetUp({x.get()}, {&y});
      layer->Forward({x.get()}, {&y});
      ASSERT_EQ(y.shape(), c.shape);
      for (int i = 0; i < y.count(); ++i) {
        const int w = i % c.shape[3], h = i / c.shape[3] % c.shape[2];
        const int n = i / x->count(1), channel = i / x->count(2) % c.shape[1];
        ASSERT_NEAR(y.cpu_data()[i], Expected(c, *x, n, channel, h, w), 1e-12);
      }
    }
  }
}

TEST(LRNLayer, EveryVariantGivesTheGradient) {
  for (const LrnCase& c : kCases) {
    SCOPED_TRACE(Lrn(c));
    auto x = RandomBlob(c.shape, 2);
    Blob<double> y;
    for (int variant = -1; variant < 2; ++variant) {
      GradientChecker<double> checker(1e-4, 1e-6);
      checker.set_variant(variant);
      checker.CheckGradientExhaustive(MakeLayer(Lrn(c)).get(), {x.get()}, {&y});
    }
  }
}

TEST(LRNLayer, AllVariantsGiveTheSameBitsInPlaceToo) {
  for (const LrnCase& c : kCases) {
    auto x = RandomBlob(c.shape, 3);
    Blob<double> y;
    CheckVariants(MakeLayer(Lrn(c)).get(), {x.get()}, {&y}, {true}, true);
  }
}

TEST(LRNLayer, NeedsNoFullSizeWorkspace) {
  const vector<int> shape = {4, 64, 8, 8};
  Blob<double> x(shape), y;
  auto layer = MakeLayer(Lrn({shape, 5, 1, 0.75, 1, false}));
  layer->SetUp({&x}, {&y});
  const MemoryTraits traits = layer->Traits({&x}, {&y}, {true});
  EXPECT_EQ(traits.forward.workspace_bytes, x.count() / 64 * 7 * 8);
  EXPECT_EQ(traits.backward[0].workspace_bytes, x.count() / 64 * 17 * 8);
  EXPECT_EQ(traits.backward[0].reads, (vector<Operand>{BottomData(0), TopDiff(0)}));
}

TEST(LRNLayer, IsRightOnManyThreads) {
  for (const bool within : {false, true}) {
    const LrnCase c = {{8, 16, 16, 16}, 5, 1, 0.75, 1, within};
    auto x = RandomBlob(c.shape, 4);
    Blob<double> y;
    auto layer = MakeLayer(Lrn(c));
    layer->SetUp({x.get()}, {&y});
    layer->Forward({x.get()}, {&y});
    for (int n = 0; n < 8; ++n) {
      EXPECT_NEAR(y.data_at(n, 9, 7, 5), Expected(c, *x, n, 9, 7, 5), 1e-12);
    }
  }
}

TEST(LRNLayerErrors, RejectsEvenWindowsAndOtherThanFourAxes) {
  Blob<double> x(vector<int>{2, 3, 4, 5}), flat(vector<int>{2, 3}), y;
  EXPECT_ERROR(MakeLayer("name: 'lrn' type: 'LRN' lrn_param { local_size: 4 }")->SetUp({&x}, {&y}),
               "Layer lrn: LRN only supports odd values for local_size");
  EXPECT_ERROR(MakeLayer("name: 'lrn' type: 'LRN'")->SetUp({&flat}, {&y}),
               "Layer lrn: Input must have 4 axes");
}

}  // namespace
}  // namespace caffe
