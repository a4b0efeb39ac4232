// eval_type: "detection": what a solver makes of the tops of DetectionEvaluate.
#include "caffe/solvers/detection_scores.hpp"

#include "caffe/test/expect_error.hpp"
#include "caffe/test/info_lines.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

using kernels::PrecisionMean;

/// Rows of item, label, score, is an object, is none.
void Add(const vector<float>& rows, DetectionScores* scores) {
  Blob<float> blob(vector<int>{1, 1, static_cast<int>(rows.size()) / 5, 5});
  std::copy(rows.begin(), rows.end(), blob.mutable_cpu_data());
  scores->Add("found", blob);
}

// Label 1: two objects in two batches; the best and the third detection are correct. Label 2: no
// objects. Label 3: one object, detected, and a difficult one, which does not count.
DetectionScores TwoBatches() {
  DetectionScores scores;
  Add({-1, 1, 1,    -1, -1, -1, 2, 0,    -1, -1, -1, 3, 1,    -1, -1,  // objects
       0,  1, 0.9f, 1,  0,  0,  1, 0.8f, 0,  1,  0,  2, 0.5f, 0,  1},
      &scores);
  Add({-1, 1, 1,    -1, -1, -1, 2, 0,    -1, -1, -1, 3, 0,    -1, -1,  //
       0,  1, 0.7f, 1,  0,  1,  3, 0.9f, 0,  0,  1,  3, 0.8f, 1,  0},
      &scores);
  return scores;
}

TEST(DetectionScores, AreAveragePrecisionsOverAllBatches) {
  const std::map<int, double> integral = TwoBatches().AveragePrecisions(PrecisionMean::kIntegral);
  ASSERT_EQ(2u, integral.size());  // label 2 has no objects
  EXPECT_NEAR(0.5 * 1 + 0.5 * 2 / 3, integral.at(1), 1e-9);
  EXPECT_NEAR(1, integral.at(3), 1e-9);
  // Recalls 0 to 0.5 have precision 1, those above 2/3.
  EXPECT_NEAR((6 * 1 + 5 * 2. / 3) / 11,
              TwoBatches().AveragePrecisions(PrecisionMean::k11Point).at(1), 1e-9);
}

/// Returns a test net whose output is `rows` in each batch.
string Detector(const vector<float>& rows) {
  string net =
      "layer { name: 'x' type: 'DummyData' top: 'x' include { phase: TRAIN }"
      " dummy_data_param { shape { dim: 1 } } }"
      "layer { name: 'loss' type: 'Reduction' bottom: 'x' top: 'loss'"
      " include { phase: TRAIN } loss_weight: 1 } ";
  string tops, shapes, fillers, bottoms;
  for (size_t i = 0; i < rows.size(); ++i) {
    const string top = "'v" + std::to_string(i) + "' ";
    tops += "top: " + top;
    bottoms += "bottom: " + top;
    shapes += "shape { dim: 1 dim: 1 dim: 1 dim: 1 } ";
    fillers += "data_filler { value: " + std::to_string(rows[i]) + " } ";
  }
  return net + "layer { name: 'rows' type: 'DummyData' include { phase: TEST } " + tops +
         "dummy_data_param { " + shapes + fillers + "} }" +
         "layer { name: 'flat' type: 'Concat' include { phase: TEST } " + bottoms +
         "top: 'flat' concat_param { axis: 3 } }"
         "layer { name: 'map' type: 'Reshape' include { phase: TEST } bottom: 'flat' top: 'map'"
         " reshape_param { shape { dim: 1 dim: 1 dim: -1 dim: 5 } } }";
}

TEST(DetectionScores, AreReportedBySolverTests) {
  const auto solver = MakeSolver<float>(
      Detector({-1, 1, 1, -1, -1, 0, 1, 0.9f, 1, 0, 0, 1, 0.95f, 0, 1}),
      "eval_type: 'detection' ap_version: 'MaxIntegral' show_per_class_result: true "
      "test_iter: 2 test_interval: 10");
  const InfoLines info;
  testing::internal::CaptureStderr();
  FLAGS_logtostderr = true;
  solver->Step(1);
  FLAGS_logtostderr = false;
  const string said = testing::internal::GetCapturedStderr();
  // Two objects in two batches; of four detections the two with lower scores are correct.
  EXPECT_NE(string::npos, said.find("class1: 0.5\n")) << said;
  EXPECT_NE(string::npos, said.find("    Test net output #0: map = 0.5\n")) << said;
}

TEST(DetectionScoresErrors, RejectsInvalidOutputs) {
  const string net = Detector({-1, 1, 1, -1, -1});
  EXPECT_ERROR(MakeSolver<float>(net, "eval_type: 'segmentation' test_iter: 1 test_interval: 1"),
               "eval_type may be classification or detection; it is \"segmentation\"");
  EXPECT_ERROR(MakeSolver<float>(net, "ap_version: '12point' test_iter: 1 test_interval: 1"),
               "ap_version may be 11point, MaxIntegral or Integral; it is \"12point\"");
  DetectionScores scores;
  EXPECT_ERROR(scores.Add("loss", Blob<float>(vector<int>{1, 4})), "rows of 5; loss has shape 1 4");
}

}  // namespace
}  // namespace caffe
