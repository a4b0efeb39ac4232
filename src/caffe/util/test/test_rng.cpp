#include "caffe/util/rng.hpp"

#include <gtest/gtest.h>

#include <locale>

#include "caffe/util/math_functions.hpp"

namespace caffe {
namespace {

unsigned int Draw(Caffe::RNG* random) { return (*static_cast<rng_t*>(random->generator()))(); }

TEST(RandomState, ContinuesWithTheSameNumbers) {
  for (const int drawn : {0, 1, 623, 624, 625, 10000}) {
    Caffe::RNG random(7), other(8);
    for (int i = 0; i < drawn; ++i) Draw(&random);
    ASSERT_TRUE(SetState(StateOf(&random), &other));
    for (int i = 0; i < 2000; ++i) ASSERT_EQ(Draw(&other), Draw(&random)) << drawn << " " << i;
  }
}

TEST(RandomState, OfTheThreadCoversAllDraws) {
  Caffe::set_random_seed(3);
  caffe_rng_rand();
  const std::string state = StateOf(&Caffe::rng_stream());
  std::vector<double> first(5), again(5);
  caffe_rng_gaussian<double>(5, 0, 1, first.data());
  Caffe::set_random_seed(4);
  ASSERT_TRUE(SetState(state, &Caffe::rng_stream()));
  caffe_rng_gaussian<double>(5, 0, 1, again.data());
  EXPECT_EQ(again, first);
}

TEST(RandomState, IsSharedByCopiesOfAHandle) {
  Caffe::RNG random(7), handle(random), source(9);
  ASSERT_TRUE(SetState(StateOf(&source), &random));
  EXPECT_EQ(Draw(&handle), Draw(&source));
}

TEST(RandomState, IsRejectedIfInvalid) {
  Caffe::RNG random(7), same(7);
  const std::string state = StateOf(&random);
  for (const std::string& text :
       {std::string(), std::string("1 2 3"), state + " 1", state + " x", "x" + state,
        state.substr(0, state.size() / 2), "99999999999999999999 " + state})
    EXPECT_FALSE(SetState(text, &random)) << text.substr(0, 40);
  EXPECT_EQ(Draw(&random), Draw(&same));
}

class Thousands : public std::numpunct<char> {
  char do_thousands_sep() const override { return ','; }
  std::string do_grouping() const override { return "\3"; }
};

TEST(RandomState, IsTheSameInEveryLocale) {
  Caffe::RNG random(7), other(8);
  const std::string state = StateOf(&random);
  const std::locale before = std::locale::global(std::locale(std::locale(), new Thousands));
  EXPECT_EQ(StateOf(&random), state);
  EXPECT_TRUE(SetState(state, &other));
  std::locale::global(before);
  EXPECT_EQ(Draw(&other), Draw(&random));
}

TEST(CopyOfAGenerator, DrawsTheSameNumbersIndependently) {
  Caffe::RNG random(7), same(7);
  const shared_ptr<Caffe::RNG> copy = CopyOf(&random);
  const unsigned int first = Draw(copy.get()), second = Draw(copy.get());
  EXPECT_EQ(Draw(&random), first);
  EXPECT_EQ(Draw(&random), second);
  Draw(&same);
  EXPECT_EQ(Draw(&same), second);
}

}  // namespace
}  // namespace caffe
