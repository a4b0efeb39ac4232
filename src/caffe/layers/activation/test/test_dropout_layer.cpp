#include <cmath>

#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"

namespace caffe {
namespace {

string Dropout(const string& param = "") {
  return "name: 'drop' type: 'Dropout' dropout_param { " + param + " }";
}

/// A layer set up on x and y. Seeds the random stream of its forwards with `seed`.
shared_ptr<Layer<double>> Seeded(unsigned seed, const string& text, Blob<double>* x,
                                 Blob<double>* y) {
  Caffe::set_random_seed(seed);
  auto layer = MakeLayer(text);
  layer->SetUp({x}, {y});
  return layer;
}

vector<double> Forward(Layer<double>* layer, Blob<double>* x) {
  Blob<double> y;
  layer->Forward({x}, {&y});
  return DataOf(y);
}

TEST(DropoutLayer, DropsTheWantedShareAndScalesTheRest) {
  Blob<double> x(vector<int>{100, 1000}), y;
  for (int i = 0; i < x.count(); ++i) x.mutable_cpu_data()[i] = i + 1;
  for (const double ratio : {0.0, 0.1, 0.5, 0.75}) {
    auto layer = Seeded(1, Dropout("dropout_ratio: " + std::to_string(ratio)), &x, &y);
    layer->Forward({&x}, {&y});
    int dropped = 0;
    for (int i = 0; i < x.count(); ++i) {
      if (y.cpu_data()[i] == 0) {
        ++dropped;
      } else {
        ASSERT_NEAR(y.cpu_data()[i], (i + 1) / (1 - ratio), 1e-6 * (i + 1));
      }
    }
    // Within five standard deviations.
    EXPECT_NEAR(dropped, ratio * x.count(), 5 * std::sqrt(ratio * (1 - ratio) * x.count()));
  }
}

TEST(DropoutLayer, NeighboursAndSuccessivePassesAreIndependent) {
  Blob<double> x(vector<int>{1 << 16}), y;
  std::fill_n(x.mutable_cpu_data(), x.count(), 1);
  auto layer = Seeded(2, Dropout(), &x, &y);
  const vector<double> first = Forward(layer.get(), &x), second = Forward(layer.get(), &x);
  const int n = x.count() - 1;
  const double tolerance = 5 * std::sqrt(n) / 2;
  int neighbours = 0, passes = 0, shifted = 0;
  for (int i = 0; i < n; ++i) {
    neighbours += first[i] == first[i + 1];
    passes += first[i] == second[i];
    shifted += first[i + 1] == second[i];
  }
  EXPECT_NEAR(neighbours, n / 2, tolerance);
  EXPECT_NEAR(passes, n / 2, tolerance);
  EXPECT_NEAR(shifted, n / 2, tolerance);
}

TEST(DropoutLayer, MasksFollowTheRandomStreamAndDifferBetweenLayers) {
  auto x = RandomBlob({500}, 3);
  Blob<double> y;
  auto first = Seeded(3, Dropout(), x.get(), &y), sibling = Seeded(3, Dropout(), x.get(), &y);
  const vector<double> expected = Forward(first.get(), x.get());
  EXPECT_NE(Forward(sibling.get(), x.get()), expected);
  EXPECT_EQ(Forward(Seeded(3, Dropout(), x.get(), &y).get(), x.get()), expected);
  EXPECT_NE(Forward(Seeded(4, Dropout(), x.get(), &y).get(), x.get()), expected);
}

TEST(DropoutLayer, TheSameSeedBeforeAForwardRepeatsTheMask) {
  auto x = RandomBlob({500}, 3);
  Blob<double> y;
  auto layer = Seeded(3, Dropout(), x.get(), &y);
  Caffe::set_random_seed(7);
  const vector<double> expected = Forward(layer.get(), x.get());
  EXPECT_NE(Forward(layer.get(), x.get()), expected);
  Caffe::set_random_seed(7);
  EXPECT_EQ(Forward(layer.get(), x.get()), expected);
}

TEST(DropoutLayer, BackwardDropsWhatForwardDropped) {
  auto x = RandomBlob({2, 50}, 4);
  Blob<double> y;
  auto layer = Seeded(4, Dropout("dropout_ratio: 0.25"), x.get(), &y);
  for (int pass = 0; pass < 3; ++pass) {
    layer->Forward({x.get()}, {&y});
    for (int i = 0; i < y.count(); ++i) y.mutable_cpu_diff()[i] = i + 1;
    layer->Backward({&y}, {true}, {x.get()});
    for (int i = 0; i < y.count(); ++i) {
      const double slope = y.cpu_data()[i] == 0 ? 0 : 1 / 0.75;
      EXPECT_DOUBLE_EQ(x->cpu_diff()[i], slope * (i + 1));
    }
  }
}

TEST(DropoutLayer, RecomputedForwardUsesTheMaskOfItsPass) {
  auto x = RandomBlob({200}, 5);
  Blob<double> y;
  auto layer = Seeded(5, Dropout(), x.get(), &y);
  auto straight = MakeLayer(Dropout());
  straight->SetUp({x.get()}, {&y});
  EXPECT_TRUE(layer->Traits({x.get()}, {&y}, {true}).repeatable);
  for (int pass = 0; pass < 3; ++pass) {
    Caffe::set_random_seed(static_cast<unsigned>(pass));
    const vector<double> expected = Forward(straight.get(), x.get());
    Caffe::set_random_seed(static_cast<unsigned>(pass));
    for (const bool recompute : {false, true, true}) {
      LayerRun run;
      run.recompute = recompute;
      layer->EnterPlan(run);
      EXPECT_EQ(Forward(layer.get(), x.get()), expected);
      layer->LeavePlan();
    }
  }
}

TEST(DropoutLayer, BackwardReadsOnlyTheTopDiffAndRunsInPlace) {
  auto x = RandomBlob({2, 3, 5}, 6);
  Blob<double> y(x->shape());
  for (int i = 0; i < y.count(); ++i) y.mutable_cpu_diff()[i] = i - 7;
  // Each pass uses a new layer, so that each is the first.
  const auto planned = [&](bool alias_forward, bool alias_backward) {
    auto layer = Seeded(6, Dropout(), x.get(), &y);
    PlannedPass<double> pass(layer.get(), {x.get()}, {&y}, {true});
    const MemoryTraits& traits = pass.traits();
    EXPECT_TRUE(traits.saved.empty());
    EXPECT_EQ(traits.backward.at(0).reads, vector<Operand>{TopDiff(0)});
    return pass.Run(0, alias_forward ? &traits.forward.may_alias.at(0) : nullptr,
                    alias_backward ? &traits.backward.at(0).may_alias.at(0) : nullptr);
  };
  const PassResult<double> expected = planned(false, false);
  EXPECT_TRUE(planned(true, false) == expected);
  EXPECT_TRUE(planned(false, true) == expected);
  for (const bool overwritten : {false, true}) {
    auto layer = Seeded(6, Dropout(), x.get(), &y);
    PlannedPass<double> pass(layer.get(), {x.get()}, {&y}, {true});
    EXPECT_TRUE(pass.RunInPlace(pass.kDirect, overwritten) == expected);
  }
}

TEST(DropoutLayer, CopiesOutsideTraining) {
  auto x = RandomBlob({2, 3, 5}, 7);
  Blob<double> y;
  CheckVariants(MakeLayer(Dropout(), TEST).get(), {x.get()}, {&y}, {true}, true);
  auto layer = MakeLayer(Dropout(), TEST);
  layer->SetUp({x.get()}, {&y});
  EXPECT_EQ(Forward(layer.get(), x.get()), DataOf(*x));
}

TEST(DropoutLayer, ScalesInTestingIfNotInTraining) {
  auto x = RandomBlob({2, 3, 5}, 7);
  Blob<double> y;
  const string text = Dropout("dropout_ratio: 0.25 scale_train: false");
  auto trained = Seeded(1, text, x.get(), &y);
  const vector<double> dropped = Forward(trained.get(), x.get());
  for (int i = 0; i < x->count(); ++i)
    EXPECT_TRUE(dropped[i] == 0 || dropped[i] == x->cpu_data()[i]) << i;
  EXPECT_NE(dropped, DataOf(*x));
  CheckVariants(MakeLayer(text, TEST).get(), {x.get()}, {&y}, {true}, true);
  auto tested = MakeLayer(text, TEST);
  tested->SetUp({x.get()}, {&y});
  tested->Forward({x.get()}, {&y});
  std::fill_n(y.mutable_cpu_diff(), y.count(), 2);
  tested->Backward({&y}, {true}, {x.get()});
  for (int i = 0; i < x->count(); ++i) {
    EXPECT_EQ(y.cpu_data()[i], 0.75 * x->cpu_data()[i]);
    EXPECT_EQ(x->cpu_diff()[i], 1.5);
  }
}

TEST(DropoutLayer, DropsInTestingIfWeightsAreSampled) {
  auto x = RandomBlob({2, 3, 5}, 7);
  Blob<double> y;
  const string text = Dropout("sample_weights_test: true");
  for (const Phase phase : {TRAIN, TEST}) {
    Caffe::set_random_seed(3);
    auto layer = MakeLayer(text, phase);
    layer->SetUp({x.get()}, {&y});
    const vector<double> first = Forward(layer.get(), x.get());
    EXPECT_NE(Forward(layer.get(), x.get()), first);
    auto trained = Seeded(3, Dropout(), x.get(), &y);
    EXPECT_EQ(Forward(trained.get(), x.get()), first);
  }
}

TEST(DropoutLayerErrors, RejectsInvalidRatios) {
  Blob<double> x(vector<int>{3}), y;
  for (const char* ratio : {"1", "-0.5", "nan"}) {
    auto layer = MakeLayer(Dropout(string("dropout_ratio: ") + ratio));
    EXPECT_ERROR(layer->SetUp({&x}, {&y}), "Layer drop: dropout_ratio must be at least 0");
  }
}

}  // namespace
}  // namespace caffe
