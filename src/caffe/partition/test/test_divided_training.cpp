// Nets that are divided among devices learn the same as whole nets, and resume from each other's
// snapshots.
#include <rapidcheck.h>

#include "caffe/util/io.hpp"
#include "caffe/util/signal_handler.h"
#include "divided_nets.hpp"

namespace caffe {
namespace {

using layrub::partition::Partition;
using layrub::partition::SearchGoal;

constexpr double kTolerance = 1e-9;

/// A net of random layers, with branches that are added or joined, and layers in place.
class RandomNet {
 public:
  static NetParameter Make() {
    RandomNet net;
    net.text_ = R"(layer { name: "data" type: "DummyData" top: "v0"
      dummy_data_param { shape { dim: 8 dim: 4 dim: 4 dim: 4 } data_filler { type: "gaussian" std: 1 } } })";
    net.channels_ = {4};
    net.AddConvolution();
    const int layers = *rc::gen::inRange(1, 7);
    for (int i = 0; i < layers; ++i) net.AddLayer();
    net.AddEnd();
    return testing::NetOfText(net.text_);
  }

 private:
  string Blob(int i) const { return "v" + std::to_string(i); }
  int Any() const { return *rc::gen::inRange(0, static_cast<int>(channels_.size())); }
  void Layer(const string& type, const vector<int>& bottoms, int channels, const string& more) {
    text_ += "layer { name: \"l" + std::to_string(++layers_) + "\" type: \"" + type + "\"";
    for (const int bottom : bottoms) text_ += " bottom: \"" + Blob(bottom) + "\"";
    text_ += " top: \"" + Blob(static_cast<int>(channels_.size())) + "\" " + more + " }\n";
    channels_.push_back(channels);
  }
  void InPlace(const string& type, const string& more = "") {
    const string blob = Blob(static_cast<int>(channels_.size()) - 1);
    text_ += "layer { name: \"l" + std::to_string(++layers_) + "\" type: \"" + type +
             "\" bottom: \"" + blob + "\" top: \"" + blob + "\" " + more + " }\n";
  }
  void AddConvolution() {
    const int channels = *rc::gen::element(2, 4, 8, 6);
    const string bias =
        *rc::gen::arbitrary<bool>() ? "bias_filler { type: \"uniform\" }" : "bias_term: false";
    Layer("Convolution", {Any()}, channels,
          "convolution_param { num_output: " + std::to_string(channels) +
              " kernel_size: 3 pad: 1 weight_filler { type: \"xavier\" } " + bias + " }");
  }
  void AddLayer() {
    const int bottom = Any();
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        return InPlace("ReLU", "relu_param { negative_slope: 0.2 }");
      case 1:
        return InPlace("Dropout", "dropout_param { dropout_ratio: 0.3 }");
      case 2:
        return Layer("BatchNorm", {bottom}, channels_[bottom], "");
      case 3: {
        const int other = Any();
        return Layer("Concat", {bottom, other}, channels_[bottom] + channels_[other], "");
      }
      case 4:
        for (size_t other = 0; other < channels_.size(); ++other) {
          if (static_cast<int>(other) != bottom && channels_[other] == channels_[bottom])
            return Layer("Eltwise", {bottom, static_cast<int>(other)}, channels_[bottom], "");
        }
        return AddConvolution();
      default:
        return AddConvolution();
    }
  }
  void AddEnd() {
    const int last = static_cast<int>(channels_.size()) - 1;
    text_ +=
        "layer { name: \"fc\" type: \"InnerProduct\" bottom: \"" + Blob(last) +
        "\" top: \"fc\" inner_product_param { num_output: 4 weight_filler { type: \"xavier\" } "
        "} } layer { name: \"label\" type: \"DummyData\" top: \"label\" dummy_data_param { shape { "
        "dim: 8 } data_filler { type: \"integer\" max: 3 } } } layer { name: \"loss\" type: "
        "\"SoftmaxWithLoss\" bottom: \"fc\" bottom: \"label\" top: \"loss\" }";
  }

  string text_;
  vector<int> channels_;  ///< of the blobs
  int layers_ = 0;
};

SearchGoal ArbitraryWish(const NetAxes& axes) {
  SearchGoal wish;
  wish.cut_all = *rc::gen::arbitrary<bool>();
  // Randomly leaves some axes uncut.
  const auto seed = *rc::gen::inRange(0, 1000);
  wish.allows = [&axes, seed](int level, int op, int axis) {
    const int all = static_cast<int>(axes.network.operations[op].axes.size());
    return all < 2 || (31 * seed + 7 * op + 3 * level) % all != axis;
  };
  return wish;
}

TEST(DividedTraining, OfRandomNetsLearnsTheSameAsTheWholeNet) {
  string folder;
  MakeTempDir(&folder);
  EXPECT_TRUE(rc::check([&] {
    const NetParameter net = RandomNet::Make();
    const int levels = *rc::gen::inRange(1, 3);
    const SolverParameter whole = testing::SolverOf(net);
    const NetAxes axes = testing::AxesOfNet(net);
    const Partition partition = Search(axes.network, levels, ArbitraryWish(axes));
    SolverParameter local = testing::LocalSolver(whole, axes, partition);
    if (*rc::gen::arbitrary<bool>()) local.mutable_placement()->set_strategy("sqrt");
    testing::ExpectClose(testing::TrainWhole(whole),
                         testing::TrainDivided(whole, local, 1 << levels, folder + "/run"),
                         kTolerance);
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

/// A small net in which every kind of cut is worthwhile somewhere.
SolverParameter Solver() {
  SolverParameter param = testing::SolverOf(testing::NetOfText(R"(
    name: "small"
    layer { name: "data" type: "DummyData" top: "data" top: "label" include { phase: TRAIN }
      dummy_data_param { shape { dim: 8 dim: 4 dim: 4 dim: 4 } shape { dim: 8 }
        data_filler { type: "gaussian" std: 1 } data_filler { type: "integer" max: 3 } } }
    layer { name: "data" type: "DummyData" top: "data" top: "label" include { phase: TEST }
      dummy_data_param { shape { dim: 6 dim: 4 dim: 4 dim: 4 } shape { dim: 6 }
        data_filler { type: "gaussian" std: 1 } data_filler { type: "integer" max: 3 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
      convolution_param { num_output: 8 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "conv" }
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
    layer { name: "fc1" type: "InnerProduct" bottom: "conv" top: "fc1"
      inner_product_param { num_output: 64 weight_filler { type: "xavier" } bias_filler { type: "uniform" } } }
    layer { name: "drop" type: "Dropout" bottom: "fc1" top: "fc1" }
    layer { name: "fc2" type: "InnerProduct" bottom: "fc1" top: "fc2"
      inner_product_param { num_output: 4 weight_filler { type: "xavier" } bias_filler { type: "uniform" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc2" bottom: "label" top: "loss" }
    layer { name: "accuracy" type: "Accuracy" bottom: "fc2" bottom: "label" top: "accuracy" include { phase: TEST } })"));
  param.set_max_iter(6);
  return param;
}

/// Sequences that continue from one iteration to the next.
SolverParameter RecurrentSolver() {
  return testing::SolverOf(testing::NetOfText(R"(
    name: "sequences"
    layer { name: "data" type: "DummyData" top: "data"
      dummy_data_param { shape { dim: 3 dim: 4 dim: 6 } data_filler { type: "gaussian" std: 1 } } }
    layer { name: "cont" type: "DummyData" top: "cont"
      dummy_data_param { shape { dim: 3 dim: 4 } data_filler { type: "constant" value: 1 } } }
    layer { name: "lstm1" type: "LSTM" bottom: "data" bottom: "cont" top: "lstm1"
      recurrent_param { num_output: 8 weight_filler { type: "xavier" } bias_filler { type: "uniform" } } }
    layer { name: "lstm2" type: "LSTM" bottom: "lstm1" bottom: "cont" top: "lstm2"
      recurrent_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "rnn" type: "RNN" bottom: "lstm2" bottom: "cont" top: "rnn"
      recurrent_param { num_output: 8 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "Reduction" bottom: "rnn" top: "loss" loss_weight: 0.1
      reduction_param { operation: SUMSQ } })"));
}

Partition CutAll(const NetAxes& axes, int levels) {
  SearchGoal wish;
  wish.cut_all = true;
  return Search(axes.network, levels, wish);
}

/// The partition that cuts recurrent layers along axis `axis` on level `level`.
Partition CutSequences(const NetAxes& axes, const std::vector<string>& by_level) {
  SearchGoal wish;
  wish.allows = [&](int level, int o, int axis) {
    const auto& op = axes.network.operations[o];
    const bool has_units = op.axes.size() == 2 && op.axes[1].name == "unit";
    return !has_units || (axis >= 0 && op.axes[axis].name == by_level[level]);
  };
  return Search(axes.network, static_cast<int>(by_level.size()), wish);
}

class Divided : public ::testing::Test {
 protected:
  Divided() { MakeTempDir(&folder_); }

  /// Trains on `devices` devices (1: the whole net), from a state unless that is empty. Returns the
  /// weights, and writes a snapshot that begins with `prefix`.
  testing::Weights Train(const SolverParameter& whole, int devices, const string& prefix,
                         const string& state = "") {
    if (devices == 1) return TrainWhole(whole, prefix, state);
    int levels = 0;
    while (1 << levels < devices) ++levels;
    const NetAxes axes = testing::AxesOfNet(whole.net_param());
    return TrainParts(whole, axes, CutAll(axes, levels), prefix, state);
  }

  testing::Weights TrainWhole(SolverParameter whole, const string& prefix, const string& state) {
    whole.set_snapshot_prefix(folder_ + "/" + prefix);
    whole.set_snapshot_after_train(true);
    std::unique_ptr<caffe::Solver<double>> solver(SolverRegistry<double>::CreateSolver(whole));
    if (!state.empty()) solver->Restore(state.c_str());
    solver->Solve();
    scores_[prefix] = solver->test_scores();
    return Snapshot(prefix, whole.max_iter());
  }

  testing::Weights TrainParts(SolverParameter whole, const NetAxes& axes,
                              const Partition& partition, const string& prefix,
                              const string& state) {
    whole.set_snapshot_prefix(folder_ + "/" + prefix);
    whole.set_snapshot_after_train(true);
    const SolverParameter local = testing::LocalSolver(whole, axes, partition);
    testing::OnDevices(1 << partition.levels(), [&](layrub::Communicator* group) {
      const std::unique_ptr<caffe::Solver<double>> solver(
          SolverRegistry<double>::CreateSolver(local));
      DividedTraining<double> training(solver.get(), whole, group);
      if (!state.empty()) training.Restore(state);
      CHECK(training.Place().ok());
      const auto no_requests = [] { return SolverAction::NONE; };
      solver->SetActionFunction(no_requests);  // the program has one for signals
      training.Solve(no_requests);
      if (group->rank() == 0) scores_[prefix] = solver->test_scores();
    });
    return Snapshot(prefix, whole.max_iter());
  }

  testing::Weights Snapshot(const string& prefix, int iteration) const {
    NetParameter net;
    ReadProtoFromBinaryFileOrDie(StateOf(prefix, iteration, ".caffemodel"), &net);
    return testing::WeightsOf(net);
  }

  string StateOf(const string& prefix, int iteration, const string& ending = ".solverstate") const {
    return folder_ + "/" + prefix + "_iter_" + std::to_string(iteration) + ending;
  }

  string folder_;
  /// By prefix: the scores of the last test.
  map<string, vector<vector<std::pair<string, double>>>> scores_;
};

TEST_F(Divided, TrainingResumesOnAnyNumberOfDevices) {
  const SolverParameter whole = Solver();
  const testing::Weights expected = Train(whole, 1, "all");
  SolverParameter half = whole;
  half.set_max_iter(3);
  for (const int before : {1, 2, 4}) {
    Train(half, before, "half");
    for (const int after : {1, 2, 4}) {
      SCOPED_TRACE(std::to_string(before) + " devices, then " + std::to_string(after));
      testing::ExpectClose(expected, Train(whole, after, "rest", StateOf("half", 3)), kTolerance);
    }
  }
}

TEST_F(Divided, RecurrentNetsKeepTheirHiddenStates) {
  SolverParameter whole = RecurrentSolver();
  whole.set_max_iter(6);
  const testing::Weights expected = TrainWhole(whole, "all", "");
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  SolverParameter half = whole;
  half.set_max_iter(3);
  TrainWhole(half, "half of one", "");
  using Levels = std::vector<string>;
  for (const Levels& levels : {Levels{"item"}, Levels{"unit"}, Levels{"unit", "unit"},
                               Levels{"unit", "item"}, Levels{"item", "unit"}}) {
    SCOPED_TRACE(levels[0] + ", " + levels.back());
    const Partition partition = CutSequences(axes, levels);
    TrainParts(half, axes, partition, "half", "");
    testing::ExpectClose(expected, TrainWhole(whole, "rest", StateOf("half", 3)), kTolerance);
    testing::ExpectClose(expected,
                         TrainParts(whole, axes, partition, "rest", StateOf("half of one", 3)),
                         kTolerance);
  }
}

TEST_F(Divided, RecurrentNetsTestAndTakeSnapshotsLikeOthers) {
  SolverParameter whole = RecurrentSolver();
  *whole.mutable_net_param()->add_layer() = testing::NetOfText(R"(
    layer { name: "side" type: "InnerProduct" bottom: "lstm1" top: "side"
      inner_product_param { num_output: 8 axis: 2 weight_filler { type: "xavier" } } })")
                                                .layer(0);
  whole.set_max_iter(4);
  whole.set_snapshot(2);
  whole.add_test_iter(2);
  whole.set_test_interval(2);
  const testing::Weights expected = TrainWhole(whole, "one", "");
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  const Partition partition = CutSequences(axes, {"unit", "item"});
  testing::ExpectClose(expected, TrainParts(whole, axes, partition, "four", ""), kTolerance);
  // Outputs are scores as a whole, though each device computes a part.
  const auto &scores = scores_.at("one")[0], &of_four = scores_.at("four")[0];
  ASSERT_EQ(scores.size(), 3u * 4 * 8 + 1);
  ASSERT_EQ(scores.size(), of_four.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    EXPECT_EQ(scores[i].first, of_four[i].first);
    EXPECT_NEAR(scores[i].second, of_four[i].second, 1e-6) << scores[i].first << " " << i;
  }
  // Of a snapshot that was taken while training went on.
  testing::ExpectClose(expected, TrainWhole(whole, "rest", StateOf("four", 2)), kTolerance);
}

TEST_F(Divided, TrainingKeepsTheHistoryOfOtherSolvers) {
  for (const char* type : {"Adam", "AdaDelta", "Nesterov"}) {
    SolverParameter whole = Solver();
    whole.set_type(type);
    whole.set_base_lr(0.01f);
    whole.set_delta(1e-4f);
    if (string(type) == "AdaDelta") whole.set_momentum(0.95f);
    const testing::Weights expected = Train(whole, 1, "all");
    SolverParameter half = whole;
    half.set_max_iter(3);
    Train(half, 4, "half");
    SCOPED_TRACE(type);
    testing::ExpectClose(expected, Train(whole, 2, "rest", StateOf("half", 3)), 1e-8);
  }
}

TEST_F(Divided, SnapshotsTestsAndDisplaysMayComeTogether) {
  SolverParameter whole = Solver();
  whole.set_snapshot(2);
  whole.set_display(2);
  whole.add_test_iter(2);
  whole.set_test_interval(2);
  const testing::Weights expected = Train(whole, 1, "one");
  testing::ExpectClose(expected, Train(whole, 4, "four"), kTolerance);
  for (const int iteration : {2, 4})
    testing::ExpectClose(expected, Train(whole, 2, "rest", StateOf("four", iteration)), kTolerance);
}

TEST_F(Divided, AllMembersEndIfOneFailsAtAnyMessage) {
  SolverParameter whole = Solver();
  whole.set_max_iter(1);
  whole.set_snapshot(1);
  whole.add_test_iter(1);
  whole.set_test_interval(1);
  whole.set_snapshot_prefix(folder_ + "/run");
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  const SolverParameter local = testing::LocalSolver(whole, axes, CutAll(axes, 1));
  // Returns the number of messages of the member that fails.
  const auto train = [&](int failing, int fails_at) {
    int messages = 0;
    testing::OnDevices(2, [&](layrub::Communicator* group) {
      testing::FailingMember member(group, group->rank() == failing ? fails_at : -1);
      const DeviceGroupScope scope(&member);
      const std::unique_ptr<caffe::Solver<double>> solver(
          SolverRegistry<double>::CreateSolver(local));
      DividedTraining<double> training(solver.get(), whole, &member);
      CHECK(training.Place().ok());
      training.Solve();
      if (group->rank() == failing) messages = member.messages();
    });
    return messages;
  };
  for (const int failing : {0, 1}) {
    const int messages = train(failing, -1);
    EXPECT_GT(messages, 20);
    for (int i = 0; i < messages; ++i) {
      try {
        train(failing, i);
        ADD_FAILURE() << "message " << i << " of member " << failing;
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "this member fails");
      }
    }
  }
}

TEST_F(Divided, GradientsAreClippedByTheNormOfTheWholeNet) {
  SolverParameter whole = Solver();
  whole.set_clip_gradients(0.05f);
  const testing::Weights expected = Train(whole, 1, "one");
  EXPECT_NE(expected, Train(Solver(), 1, "unclipped"));
  testing::ExpectClose(expected, Train(whole, 4, "four"), kTolerance);
}

TEST_F(Divided, HdfFilesHoldTheWholeNet) {
  SolverParameter whole = Solver();
  const testing::Weights expected = Train(whole, 1, "all");
  SolverParameter half = whole;
  half.set_max_iter(3);
  half.set_snapshot_format(SolverParameter_SnapshotFormat_HDF5);
  half.set_snapshot(3);
  half.set_snapshot_after_train(false);
  half.set_snapshot_prefix(folder_ + "/half");
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  const SolverParameter local = testing::LocalSolver(half, axes, CutAll(axes, 1));
  testing::OnDevices(2, [&](layrub::Communicator* group) {
    const std::unique_ptr<caffe::Solver<double>> solver(
        SolverRegistry<double>::CreateSolver(local));
    DividedTraining<double> training(solver.get(), half, group);
    CHECK(training.Place().ok());
    training.Solve();
  });
  testing::ExpectClose(expected, Train(whole, 1, "rest", StateOf("half", 3, ".solverstate.h5")),
                       kTolerance);
}

TEST_F(Divided, WeightsOfAFileAreUsedAndOthersStay) {
  const SolverParameter whole = Solver();
  Train(whole, 1, "first");
  NetParameter some;
  ReadProtoFromBinaryFileOrDie(StateOf("first", 6, ".caffemodel"), &some);
  for (LayerParameter& layer : *some.mutable_layer()) {
    if (layer.name() == "fc2") layer.set_name("another");
  }
  const string weights = folder_ + "/some.caffemodel";
  WriteProtoToBinaryFile(some, weights);
  SolverParameter tuned = whole;
  tuned.add_weights(weights);
  const testing::Weights expected = Train(tuned, 1, "one");
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  SolverParameter local = testing::LocalSolver(whole, axes, CutAll(axes, 2));
  tuned.set_snapshot_prefix(folder_ + "/four");
  local.set_snapshot_prefix(folder_ + "/four");
  local.set_snapshot_after_train(true);
  testing::OnDevices(4, [&](layrub::Communicator* group) {
    const std::unique_ptr<caffe::Solver<double>> solver(
        SolverRegistry<double>::CreateSolver(local));
    DividedTraining<double> training(solver.get(), tuned, group);
    training.LoadWeights(weights);
    CHECK(training.Place().ok());
    training.Solve();
  });
  NetParameter net;
  ReadProtoFromBinaryFileOrDie(StateOf("four", 6, ".caffemodel"), &net);
  testing::ExpectClose(expected, testing::WeightsOf(net), kTolerance);
}

TEST_F(Divided, APlanOfAnotherDeviceIsRefused) {
  const SolverParameter whole = Solver();
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  const SolverParameter local = testing::LocalSolver(whole, axes, CutAll(axes, 1));
  vector<layrub::Status> placed(2);
  testing::OnDevices(2, [&](layrub::Communicator* group) {
    SolverParameter own = local;
    own.mutable_placement()->set_strategy(group->rank() == 0 ? "keep" : "liveness");
    const std::unique_ptr<caffe::Solver<double>> solver(SolverRegistry<double>::CreateSolver(own));
    placed[group->rank()] = DividedTraining<double>(solver.get(), whole, group).Place();
  });
  EXPECT_NE(string::npos, placed[0].message.find("device 1 of 2 has another plan than device 0"))
      << placed[0].message;
  EXPECT_FALSE(placed[1].ok());
}

TEST_F(Divided, ABudgetThatIsTooSmallIsReportedByAll) {
  const SolverParameter whole = Solver();
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  SolverParameter local = testing::LocalSolver(whole, axes, CutAll(axes, 1));
  local.mutable_placement()->set_device_memory("1KiB");
  testing::OnDevices(2, [&](layrub::Communicator* group) {
    const std::unique_ptr<caffe::Solver<double>> solver(
        SolverRegistry<double>::CreateSolver(local));
    const layrub::Status placed = DividedTraining<double>(solver.get(), whole, group).Place();
    CHECK(placed.code == layrub::Code::kDoesNotFit) << placed.message;
  });
}

TEST_F(Divided, AnErrorOnOneDeviceEndsAll) {
  const SolverParameter whole = Solver();
  const NetAxes axes = testing::AxesOfNet(whole.net_param());
  const SolverParameter local = testing::LocalSolver(whole, axes, CutAll(axes, 2));
  for (const int failing : {0, 3}) {
    string said;
    try {
      testing::OnDevices(4, [&](layrub::Communicator* group) {
        const std::unique_ptr<caffe::Solver<double>> solver(
            SolverRegistry<double>::CreateSolver(local));
        DividedTraining<double> training(solver.get(), whole, group);
        CHECK(training.Place().ok());
        struct Failure : caffe::Solver<double>::Callback {
          void on_start() override {}
          void on_gradients_ready() override { throw std::runtime_error("out of order"); }
        } failure;
        if (group->rank() == failing) solver->add_callback(&failure);
        training.Solve();
      });
    } catch (const std::exception& error) {
      said = error.what();
    }
    EXPECT_EQ("out of order", said);
  }
}

}  // namespace
}  // namespace caffe
