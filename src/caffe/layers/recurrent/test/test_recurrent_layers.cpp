// LSTM, LSTMUnit and RNN, called directly.
#include "caffe/layers/recurrent_layer.hpp"
#include "caffe/layers/test/layer_test_util.hpp"
#include "caffe/layers/test/variant_check.hpp"
#include "caffe/test/expect_error.hpp"
#include "caffe/test/test_gradient_check_util.hpp"

namespace caffe {
namespace {

using Blobs = vector<Blob<double>*>;

string Recurrent(const string& type, const string& fields = "") {
  return "name: 'r' type: '" + type +
         "' recurrent_param { num_output: 4 weight_filler { type: 'gaussian' std: 0.4 } "
         "bias_filler { type: 'gaussian' std: 0.4 } " +
         fields + " }";
}

/// A recurrent layer with bottoms and tops; sequences begin at step 0 unless told otherwise.
class Sequence {
 public:
  Sequence(const string& text, int steps, int streams, const vector<vector<int>>& more = {},
           int tops = 1)
      : layer(MakeLayer(text)) {
    Add(*RandomBlob({steps, streams, 3}, 1));
    Add(Blob<double>(vector<int>{steps, streams}));
    for (size_t i = 0; i < more.size(); ++i)
      Add(*RandomBlob(more[i], 2 + static_cast<unsigned>(i)));
    for (int t = 1; t < steps; ++t) SetCont(t, 1);
    for (int i = 0; i < tops; ++i) {
      owned_.emplace_back(new Blob<double>());
      top.push_back(owned_.back().get());
    }
  }

  void SetUp() { layer->SetUp(bottom, top); }
  void SetCont(int t, double value) {
    const int streams = bottom[1]->shape(1);
    std::fill_n(bottom[1]->mutable_cpu_data() + t * streams, streams, value);
  }
  vector<double> Forward() {
    layer->Forward(bottom, top);
    return DataOf(*top[0]);
  }
  RecurrentLayer<double>* recurrent() { return static_cast<RecurrentLayer<double>*>(layer.get()); }
  void CheckGradient(int checked_bottom) {
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.CheckGradientExhaustive(layer.get(), bottom, top, checked_bottom);
  }

  shared_ptr<Layer<double>> layer;
  Blobs bottom, top;

 private:
  void Add(const Blob<double>& like) {
    owned_.emplace_back(new Blob<double>());
    owned_.back()->CopyFrom(like, false, true);
    bottom.push_back(owned_.back().get());
  }
  vector<shared_ptr<Blob<double>>> owned_;
};

TEST(LSTMUnit, GivesTheGradientAndTouchesOnlyDeclaredOperands) {
  const auto layer = MakeLayer("name: 'unit' type: 'LSTMUnit'");
  const auto cells = RandomBlob({1, 3, 2}, 1), gates = RandomBlob({1, 3, 8}, 2);
  const auto cont = BlobOf({1, 3}, {1, 0, 1});
  Blob<double> c, h;
  const Blobs bottom = {cells.get(), gates.get(), cont.get()}, top = {&c, &h};
  for (int checked = 0; checked < 2; ++checked) {
    GradientChecker<double> checker(1e-4, 1e-6);
    checker.CheckGradientExhaustive(layer.get(), bottom, top, checked);
  }
  for (const vector<bool>& wanted :
       {vector<bool>{true, true, false}, {false, true, false}, {true, false, false}}) {
    CheckVariants(layer.get(), bottom, top, wanted, false);
  }
}

TEST(LSTMUnit, DropsCellsThatAreNotFiniteWhereASequenceBegins) {
  const auto layer = MakeLayer("name: 'unit' type: 'LSTMUnit'");
  const auto cells = BlobOf({1, 1, 1}, {std::nan("")}), gates = RandomBlob({1, 1, 4}, 2);
  const auto cont = BlobOf({1, 1}, {0});
  Blob<double> c, h;
  const Blobs bottom = {cells.get(), gates.get(), cont.get()}, top = {&c, &h};
  layer->SetUp(bottom, top);
  layer->Forward(bottom, top);
  EXPECT_TRUE(std::isfinite(h.cpu_data()[0]));
  c.mutable_cpu_diff()[0] = h.mutable_cpu_diff()[0] = 1;
  layer->Backward(top, {true, true, false}, bottom);
  for (double value : DiffOf(*gates)) EXPECT_TRUE(std::isfinite(value));
}

TEST(LSTMUnit, RejectsBadShapes) {
  const auto layer = MakeLayer("name: 'unit' type: 'LSTMUnit'");
  const auto cells = RandomBlob({1, 3, 2}, 1), gates = RandomBlob({1, 3, 6}, 2);
  const auto cont = RandomBlob({1, 3}, 3);
  Blob<double> c, h;
  EXPECT_ERROR(layer->SetUp({cells.get(), gates.get(), cont.get()}, {&c, &h}),
               "Layer unit: bottom 1, the gates, must be 1 x 3 x 4 \\* 2");
}

class Recurrences : public ::testing::TestWithParam<string> {};

TEST_P(Recurrences, HaveTheGradientOfAllSteps) {
  Sequence sequence(Recurrent(GetParam()), 3, 2);
  sequence.CheckGradient(0);
}

TEST_P(Recurrences, HaveTheGradientAcrossASequenceStart) {
  Sequence sequence(Recurrent(GetParam()), 4, 2);
  sequence.SetCont(2, 0);
  sequence.CheckGradient(0);
}

TEST_P(Recurrences, HaveTheGradientOfAStaticInput) {
  Sequence sequence(Recurrent(GetParam()), 3, 2, {{2, 5}});
  sequence.CheckGradient(2);
}

TEST_P(Recurrences, HaveTheGradientOfExposedStates) {
  const int states = GetParam() == "LSTM" ? 2 : 1;
  Sequence sequence(Recurrent(GetParam(), "expose_hidden: true"), 2, 2,
                    vector<vector<int>>(states, {1, 2, 4}), 1 + states);
  sequence.SetCont(0, 1);
  for (int i = 0; i < states; ++i) sequence.CheckGradient(2 + i);
}

TEST_P(Recurrences, RunASingleStep) {
  Sequence sequence(Recurrent(GetParam()), 1, 2);
  sequence.CheckGradient(0);
}

TEST_P(Recurrences, CarryTheStateFromPassToPassAndForgetItOnReset) {
  Sequence whole(Recurrent(GetParam()), 6, 2), half(Recurrent(GetParam()), 3, 2);
  whole.SetUp();
  half.SetUp();
  for (size_t i = 0; i < whole.layer->blobs().size(); ++i)
    half.layer->blobs()[i]->CopyFrom(*whole.layer->blobs()[i]);
  half.SetCont(0, 1);
  const vector<double> expected = whole.Forward();
  const size_t middle = expected.size() / 2;
  const double* x = whole.bottom[0]->cpu_data();
  vector<double> outputs;
  for (int part = 0; part < 2; ++part) {
    std::copy_n(x + part * 18, 18, half.bottom[0]->mutable_cpu_data());
    const vector<double> values = half.Forward();
    outputs.insert(outputs.end(), values.begin(), values.end());
  }
  EXPECT_EQ(outputs, expected);
  half.recurrent()->Reset();
  std::copy_n(x, 18, half.bottom[0]->mutable_cpu_data());
  EXPECT_EQ(half.Forward(), vector<double>(expected.begin(), expected.begin() + middle));
}

TEST_P(Recurrences, RestartWhereTheIndicatorIsZero) {
  Sequence sequence(Recurrent(GetParam()), 4, 2);
  sequence.SetUp();
  const vector<double> first = sequence.Forward();
  EXPECT_EQ(sequence.Forward(), first);
  sequence.SetCont(2, 0);
  const vector<double> cut = sequence.Forward();
  const size_t middle = first.size() / 2;
  EXPECT_TRUE(std::equal(first.begin(), first.begin() + middle, cut.begin()));
  EXPECT_NE(cut, first);
}

TEST_P(Recurrences, ZeroTheStateForAnotherNumberOfStreams) {
  Sequence sequence(Recurrent(GetParam()), 3, 2);
  sequence.SetUp();
  sequence.SetCont(0, 1);
  const vector<double> fresh = sequence.Forward();
  EXPECT_NE(sequence.Forward(), fresh);
  for (const int streams : {4, 2}) {
    sequence.bottom[0]->Reshape({3, streams, 3});
    sequence.bottom[0]->CopyFrom(*RandomBlob({3, streams, 3}, 1));
    sequence.bottom[1]->Reshape({3, streams});
    for (int t = 0; t < 3; ++t) sequence.SetCont(t, 1);
    sequence.Forward();
    EXPECT_EQ(sequence.top[0]->shape(), (vector<int>{3, streams, 4}));
  }
  EXPECT_EQ(DataOf(*sequence.top[0]), fresh);
}

TEST_P(Recurrences, UseTheBlobsOfTheirParameter) {
  Sequence first(Recurrent(GetParam()), 3, 2);
  first.SetUp();
  LayerParameter param;
  first.layer->ToProto(&param);
  Sequence second(Recurrent(GetParam()), 3, 2);
  second.layer = LayerRegistry<double>::CreateLayer(param);
  second.SetUp();
  EXPECT_EQ(second.Forward(), first.Forward());
  param.mutable_blobs()->RemoveLast();
  second.layer = LayerRegistry<double>::CreateLayer(param);
  EXPECT_ERROR(second.SetUp(), "Layer r: Incorrect number of weight blobs");
}

TEST_P(Recurrences, RejectBadInput) {
  Sequence sequence(Recurrent(GetParam()), 3, 2);
  sequence.SetUp();
  EXPECT_ERROR(sequence.layer->Backward(sequence.top, {true, true}, sequence.bottom),
               "Layer r: Cannot backpropagate to sequence indicators");
  sequence.bottom[0]->Reshape({4, 2, 3});
  EXPECT_ERROR(sequence.Forward(), "Layer r: bottom 1, the continuation indicators, must be 4 x 2");
  sequence.bottom[1]->Reshape({4, 2});
  EXPECT_ERROR(sequence.Forward(), "Layer r was set up for 3 steps");
  sequence.bottom[0]->Reshape({3, 2, 5});
  sequence.bottom[1]->Reshape({3, 2});
  EXPECT_ERROR(sequence.Forward(),
               "Layer r: bottom 0 has another number of features than at set-up");
  Sequence none("name: 'r' type: '" + GetParam() + "'", 3, 2);
  EXPECT_ERROR(none.SetUp(), "Layer r: num_output must be positive");
}

INSTANTIATE_TEST_SUITE_P(Types, Recurrences, ::testing::Values("LSTM", "RNN"),
                         [](const auto& test) { return test.param; });

TEST(LSTM, HasTheBlobsOfCaffe) {
  Sequence sequence(Recurrent("LSTM"), 3, 2, {{2, 5}});
  sequence.SetUp();
  vector<vector<int>> shapes;
  for (const auto& blob : sequence.layer->blobs()) shapes.push_back(blob->shape());
  EXPECT_EQ(shapes, (vector<vector<int>>{{16, 3}, {16}, {16, 5}, {16, 4}}));
}

TEST(RNN, HasTheBlobsOfCaffe) {
  Sequence sequence(Recurrent("RNN"), 3, 2, {{2, 5}});
  sequence.SetUp();
  vector<vector<int>> shapes;
  for (const auto& blob : sequence.layer->blobs()) shapes.push_back(blob->shape());
  EXPECT_EQ(shapes, (vector<vector<int>>{{4, 3}, {4}, {4, 5}, {4, 4}, {4, 4}, {4}}));
}

}  // namespace
}  // namespace caffe
