// Areas, overlaps and offsets of boxes; matching, suppression, average precision.
#include <gtest/gtest.h>

#include "caffe/kernels/detection/box_lists.hpp"

namespace caffe {
namespace kernels {
namespace {

TEST(Boxes, HaveAnArea) {
  EXPECT_EQ(Area({0, 1, 2, 4}), 6);
  EXPECT_EQ(Area({1, 0, 0, 2}), 0);
  EXPECT_EQ(Area({1, 2, 0, 0}), 0);  // not 2
}

TEST(Boxes, OverlapByIntersectionOverUnion) {
  EXPECT_DOUBLE_EQ(Overlap({0, 0, 2, 2}, {1, 1, 3, 3}), 1.0 / 7);
  EXPECT_DOUBLE_EQ(Overlap({0, 0, 2, 2}, {0, 0, 2, 1}), 0.5);
  EXPECT_EQ(Overlap({0, 0, 2, 2}, {2, 0, 4, 2}), 0);
  EXPECT_EQ(Overlap({0, 0, 2, 2}, {3, 3, 4, 4}), 0);
  EXPECT_EQ(Overlap({1, 1, 1, 1}, {1, 1, 1, 1}), 0);
}

class BoxOffsets : public ::testing::Test {
 protected:
  void Check(BoxCode code, const double (&expected)[4]) const {
    for (const bool use_variances : {false, true}) {
      const Prior prior = PriorAt(kPriors, 2, 1, use_variances);
      double offsets[4];
      EncodeBox(code, prior, kBox, offsets);
      for (int k = 0; k < 4; ++k)
        EXPECT_NEAR(offsets[k], expected[k] / (use_variances ? kPriors[12 + k] : 1), 1e-12) << k;
      const BoundingBox decoded = DecodeBox(code, prior, offsets);
      EXPECT_NEAR(decoded.xmin, kBox.xmin, 1e-12);
      EXPECT_NEAR(decoded.ymin, kBox.ymin, 1e-12);
      EXPECT_NEAR(decoded.xmax, kBox.xmax, 1e-12);
      EXPECT_NEAR(decoded.ymax, kBox.ymax, 1e-12);
    }
  }

  // The second prior is 0.4 wide and 0.2 high.
  const double kPriors[16] = {9, 9, 9, 9, 0.2, 0.2, 0.6, 0.4, 9, 9, 9, 9, 0.1, 0.1, 0.2, 0.25};
  const BoundingBox kBox = {0.3, 0.3, 0.5, 0.5};
};

TEST_F(BoxOffsets, OfCornersAreDistances) { Check(BoxCode::kCorner, {0.1, 0.1, -0.1, 0.1}); }

TEST_F(BoxOffsets, OfCornersAreRelativeToTheSize) {
  Check(BoxCode::kCornerSize, {0.25, 0.5, -0.25, 0.5});
}

TEST_F(BoxOffsets, OfTheCentreAndSizeUseLogarithms) {
  Check(BoxCode::kCenterSize, {0, 0.5, std::log(0.5), 0});
}

std::vector<int> ObjectsOf(const std::vector<BoxMatch>& matches) {
  std::vector<int> objects;
  for (const BoxMatch& match : matches) objects.push_back(match.object);
  return objects;
}

const std::vector<BoundingBox> kBoxes = {{0, 0, 2, 1}, {0, 0, 2, 2}, {4, 4, 6, 6}, {9, 9, 10, 10}};
const std::vector<BoundingBox> kObjects = {{0, 0, 2, 2}, {4, 4, 6, 5}, {20, 20, 21, 21}};

TEST(MatchBoxes, MatchesEachObjectToABox) {
  const std::vector<BoxMatch> matches = MatchBoxes(kBoxes, {}, kObjects, false, 0.1);
  EXPECT_EQ(ObjectsOf(matches), (std::vector<int>{-1, 0, 1, -1}));
  EXPECT_DOUBLE_EQ(matches[0].overlap, 0.5);
  EXPECT_DOUBLE_EQ(matches[1].overlap, 1);
  EXPECT_DOUBLE_EQ(matches[2].overlap, 0.5);
  EXPECT_EQ(matches[3].overlap, 0);
}

TEST(MatchBoxes, MatchesOtherBoxesToObjectsThatTheyOverlapEnough) {
  EXPECT_EQ(ObjectsOf(MatchBoxes(kBoxes, {}, kObjects, true, 0.5)),
            (std::vector<int>{0, 0, 1, -1}));
  EXPECT_EQ(ObjectsOf(MatchBoxes(kBoxes, {}, kObjects, true, 0.6)),
            (std::vector<int>{-1, 0, 1, -1}));
}

TEST(MatchBoxes, MatchesTheBestPairFirst) {
  // Both objects overlap the first box most, by 3/4 and 1; they overlap the second box by 2/3 and
  // 1/2.
  const std::vector<BoundingBox> boxes = {{0, 0, 4, 4}, {0, 0, 4, 2}};
  EXPECT_EQ(ObjectsOf(MatchBoxes(boxes, {}, {{0, 0, 4, 3}, {0, 0, 4, 4}}, false, 0.5)),
            (std::vector<int>{1, 0}));
  EXPECT_EQ(ObjectsOf(MatchBoxes(boxes, {}, {{0, 0, 4, 3}}, false, 0.5)),
            (std::vector<int>{0, -1}));
}

TEST(MatchBoxes, ResolvesTiesInFavourOfTheFirst) {
  const BoundingBox box = {0, 0, 1, 1};
  EXPECT_EQ(ObjectsOf(MatchBoxes({box, box, box}, {}, {box, box}, true, 0.5)),
            (std::vector<int>{0, 1, 0}));
}

TEST(MatchBoxes, IgnoresExcludedBoxes) {
  EXPECT_EQ(ObjectsOf(MatchBoxes(kBoxes, {false, true, false, false}, kObjects, true, 0.4)),
            (std::vector<int>{0, -1, 1, -1}));
  EXPECT_EQ(ObjectsOf(MatchBoxes(kBoxes, {}, {}, true, 0.4)), std::vector<int>(4, -1));
}

// The first overlaps the second by 0.9 and the third by 0.5, the second the third by 5/9.
const std::vector<BoundingBox> kRivals = {{0, 0, 2, 2}, {0, 0, 2, 1.8}, {0, 0, 2, 1}, {5, 5, 6, 6}};
const std::vector<double> kScores = {0.5, 0.9, 0.7, 0.6};

std::vector<int> Kept(double threshold, double eta = 1, int top_k = -1, double least_score = -1) {
  return Suppress(kRivals, kScores, {threshold, eta, top_k, least_score});
}

TEST(Suppress, KeepsTheBestOfOverlappingBoxes) {
  EXPECT_EQ(Kept(0.5), (std::vector<int>{1, 3}));
  EXPECT_EQ(Kept(0.6), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(Kept(0.95), (std::vector<int>{1, 2, 3, 0}));
}

TEST(Suppress, MultipliesAThresholdAboveAHalfByEta) {
  EXPECT_EQ(Kept(0.6, 0.9), (std::vector<int>{1, 3}));      // 0.54 < 5/9
  EXPECT_EQ(Kept(0.6, 0.95), (std::vector<int>{1, 2, 3}));  // 0.57 > 5/9
}

TEST(Suppress, ConsidersOnlyTheBestScores) {
  EXPECT_EQ(Kept(0.6, 1, 2), (std::vector<int>{1, 2}));
  EXPECT_EQ(Kept(0.6, 1, 0), std::vector<int>());
  EXPECT_EQ(Kept(0.6, 1, -1, 0.6), (std::vector<int>{1, 2}));
}

TEST(Suppress, KeepsTheFirstOfEqualScores) {
  EXPECT_EQ(Suppress({{0, 0, 1, 1}, {0, 0, 1, 1}}, {0.5, 0.5}, {}), std::vector<int>{0});
}

TEST(AveragePrecision, IsTheRequestedMean) {
  // By score: precision 1, 1/2, 2/3, 3/4 at recall 1/4, 1/4, 1/2, 3/4.
  const std::vector<Finding> findings = {{0.7, true}, {0.9, true}, {0.6, true}, {0.8, false}};
  EXPECT_NEAR(AveragePrecision(findings, 4, PrecisionMean::kIntegral), (1 + 2.0 / 3 + 0.75) / 4,
              1e-12);
  EXPECT_NEAR(AveragePrecision(findings, 4, PrecisionMean::kMaxVoc), (1 + 0.75 + 0.75) / 4, 1e-12);
  EXPECT_NEAR(AveragePrecision(findings, 4, PrecisionMean::k11Point), (3 + 5 * 0.75) / 11, 1e-12);
}

TEST(AveragePrecision, IsZeroWithoutObjectsOrFindings) {
  for (const auto mean :
       {PrecisionMean::kIntegral, PrecisionMean::k11Point, PrecisionMean::kMaxVoc}) {
    EXPECT_EQ(AveragePrecision({}, 3, mean), 0);
    EXPECT_EQ(AveragePrecision({{0.5, false}}, 0, mean), 0);
    EXPECT_EQ(AveragePrecision({{0.5, false}}, 3, mean), 0);
    EXPECT_NEAR(AveragePrecision({{0.5, true}, {0.4, true}}, 2, mean), 1, 1e-12);
  }
}

}  // namespace
}  // namespace kernels
}  // namespace caffe
