#include <gtest/gtest.h>

#include <random>

#include "layrub/placement/strategies/vary.hpp"
#include "layrub/placement/test/hand_made.hpp"

namespace layrub {
namespace {

using testing::HandMade;
using testing::LinkMachine;

class Vary : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c", "d"}) net_.Add(name, 8);
  }
  Lessons After(const std::vector<double>& returns, int times) {
    Lessons lessons;
    std::mt19937 random;
    for (int i = 0; i < times; ++i) {
      lessons = layrub::Vary(net_.graph, LinkMachine(1), returns, std::move(lessons), &random);
    }
    return lessons;
  }
  HandMade net_;
};

TEST_F(Vary, ChangesWhatTookTimeToBringBackAndNothingElse) {
  const Lessons lessons = After({0, 2, 0, 1}, 20);
  for (const size_t t : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(lessons.weights[t], 1);
    EXPECT_EQ(lessons.tolls[t], 0);
  }
  for (const size_t t : {size_t{1}, size_t{3}}) {
    EXPECT_TRUE(lessons.weights[t] != 1 || lessons.tolls[t] != 0);
    EXPECT_GT(lessons.weights[t], 0);
  }
}

TEST_F(Vary, GoesTheSameWayEachTime) {
  const Lessons one = After({1, 2, 3, 4}, 9), other = After({1, 2, 3, 4}, 9);
  EXPECT_EQ(one.weights, other.weights);
  EXPECT_EQ(one.tolls, other.tolls);
}

TEST_F(Vary, LeavesAPlanAloneThatBringsNothingBack) {
  const Lessons lessons = After({0, 0, 0, 0}, 3);
  EXPECT_TRUE(lessons.weights.empty());
  EXPECT_TRUE(lessons.tolls.empty());
}

}  // namespace
}  // namespace layrub
