// Training that resumes from a snapshot is, bit for bit, the training that never stopped.
#include "resumed_training.hpp"

namespace caffe {
namespace {

/// SGD with two batches per test, which continue in the data of the previous test.
const char kTested[] = "momentum: 0.9 test_iter: 2 test_interval: 3 ";

const TrainingFiles& Files() {
  static const TrainingFiles files;
  return files;
}

vector<string> SourceNames() {
  vector<string> names;
  for (const auto& [name, layer] : Files().Sources()) names.push_back(name);
  return names;
}

class ExactResumeOf : public ::testing::TestWithParam<string> {
 protected:
  Way TheWay() const {
    Way way;
    way.net = NetOf(Files().Sources().at(GetParam()));
    way.fields = kTested;
    return way;
  }
};

TEST_P(ExactResumeOf, ASourceWithoutAPlan) {
  Way way = TheWay();
  way.strategy = "";
  ExpectExactResume(way);
}

TEST_P(ExactResumeOf, ASourceUnderEachKindOfPlan) {
  for (const string strategy : {"keep", "vdnn_all", "sqrt", "hybrid"}) {
    SCOPED_TRACE(strategy);
    Way way = TheWay();
    way.strategy = strategy;
    ExpectExactResume(way);
  }
}

TEST_P(ExactResumeOf, ASourceInEachFormat) {
  for (const string& format : SnapshotFormats()) {
    SCOPED_TRACE(format);
    Way way = TheWay();
    way.format = format;
    ExpectExactResume(way);
  }
}

TEST_P(ExactResumeOf, ASourceThatSeveralSolversShare) {
  if (GetParam() == "memory" || GetParam() == "input") GTEST_SKIP() << "a program feeds one solver";
  if (GetParam() == "leveldb") GTEST_SKIP() << "a process opens a LevelDB once";
  for (const int solvers : {2, 3}) {
    SCOPED_TRACE(solvers);
    Way way = TheWay();
    way.solvers = solvers;
    way.strategy = "hybrid";
    ExpectExactResume(way);
  }
}

INSTANTIATE_TEST_SUITE_P(Sources, ExactResumeOf, ::testing::ValuesIn(SourceNames()),
                         [](const auto& test) { return test.param; });

class ExactResumeWith : public ::testing::TestWithParam<string> {};

/// Every solver type, with several passes per iteration, clipped gradients, several solvers, and
/// both precisions.
TEST_P(ExactResumeWith, ASolver) {
  for (const string& format : SnapshotFormats()) {
    Way way;
    way.net = NetOf(Files().Sources().at("dummy"));
    way.fields = GetParam() + " iter_size: 2 clip_gradients: 1 test_iter: 1 test_interval: 2";
    way.format = format;
    ExpectExactResume<float>(way);
    ExpectExactResume<double>(way);
    way.solvers = 2;
    ExpectExactResume<float>(way);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ExactResumeWith, ::testing::ValuesIn(SolverKinds()), KindName);

/// Sequences that continue from pass to pass, so that the hidden state matters.
string Sequences(const string& type) {
  return R"(
    layer { name: 'data' type: 'DummyData' top: 'x' top: 'cont' top: 'label'
            dummy_data_param {
              shape { dim: 3 dim: 2 dim: 5 } shape { dim: 3 dim: 2 } shape { dim: 3 dim: 2 }
              data_filler { type: 'gaussian' std: 1 } data_filler { type: 'constant' value: 1 }
              data_filler { type: 'constant' value: 2 } } }
    layer { name: 'recurrent' type: ')" +
         type + R"(' bottom: 'x' bottom: 'cont' top: 'h'
            recurrent_param { num_output: 4 weight_filler { type: 'uniform' min: -0.5 max: 0.5 } } }
    layer { name: 'ip' type: 'InnerProduct' bottom: 'h' top: 'ip'
            inner_product_param { num_output: 3 axis: 2 weight_filler { type: 'xavier' } } }
    layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss'
            softmax_param { axis: 2 } })";
}

TEST(ExactResume, RestoresTheHiddenStateOfRecurrentLayers) {
  for (const string type : {"LSTM", "RNN"}) {
    for (const string strategy : {"", "keep", "vdnn_all", "hybrid"}) {
      for (const string& format : SnapshotFormats()) {
        SCOPED_TRACE(type + " " + strategy + " " + format);
        Way way;
        way.net = Sequences(type);
        way.fields = kTested;
        way.strategy = strategy;
        way.format = format;
        ExpectExactResume<float>(way);
        ExpectExactResume<double>(way);
      }
    }
  }
}

TEST(ExactResume, RestoresTheMeanOfFewLosses) {
  for (const int snapshot : {1, 2, 3, 5, 7}) {
    SCOPED_TRACE(snapshot);
    Way way;
    way.net = NetOf(Files().Sources().at("dummy"));
    way.fields = "average_loss: " + std::to_string(snapshot);  // the snapshot is after 5
    ExpectExactResume(way);
  }
}

/// The rate falls in most iterations and depends on all losses so far.
TEST(ExactResume, RestoresThePlateauOfTheLoss) {
  for (const string& format : SnapshotFormats()) {
    Way way;
    way.net = NetOf(Files().Sources().at("dummy"));
    way.fields = "lr_policy: 'plateau' plateau_winsize: [2, 1, 2, 1] rampup_interval: 3";
    way.format = format;
    ExpectExactResume<float>(way);
    ExpectExactResume<double>(way);
  }
}

/// Requests one action while the solver tests.
class AskedWhileTesting {
 public:
  AskedWhileTesting(SolverAction::Enum action, int question)
      : action_(action), question_(question) {}
  SolverAction::Enum operator()() { return ++asked_ == question_ ? action_ : SolverAction::NONE; }

 private:
  const SolverAction::Enum action_;
  const int question_;
  int asked_ = 0;
};

/// The test during which the snapshot is written runs again from its beginning.
TEST(ExactResume, ResumesFromTheMiddleOfATest) {
  for (const auto action : {SolverAction::SNAPSHOT, SolverAction::STOP}) {
    SCOPED_TRACE(action);
    const string folder = NewFolder();
    Way way;
    way.net = NetOf(Files().Sources().at("dummy"));
    way.fields = "momentum: 0.9 test_iter: 5 test_iter: 4 test_interval: 3 snapshot: 100";
    const Trained whole = Trainer<float>(way, folder + "/whole", 1).Train();
    {
      Trainer<float> stopped(way, folder + "/run", 1);
      // One request per batch of the tests (5 + 4 before iterations 0 and 3) and per iteration (3).
      stopped.solver().SetActionFunction(AskedWhileTesting(action, 9 + 3 + 7));
      const string state = folder + "/run_iter_3.solverstate";
      stopped.solver().Step(4);
      if (action == SolverAction::STOP) stopped.solver().Snapshot();
    }
    Trained resumed =
        Trainer<float>(way, folder + "/again", 2).Train(folder + "/run_iter_3.solverstate");
    EXPECT_TRUE(resumed.bits == whole.bits);
    EXPECT_TRUE(resumed.progress == whole.progress);
    std::filesystem::remove_all(folder);
  }
}

/// The display and the test after the last iteration also read data and draw random numbers.
TEST(ExactResume, ResumesAfterTheEndOfTraining) {
  for (const string source : {"dummy", "shuffled_images"}) {
    if (Files().Sources().count(source) == 0) continue;
    const string folder = NewFolder();
    Way way;
    way.net = NetOf(Files().Sources().at(source));
    way.fields = string(kTested) + "snapshot: 100";
    const Trained whole = Trainer<float>(way, folder + "/whole", 1).Train();
    {
      Way shorter = way;
      shorter.fields += " max_iter: 6 snapshot_after_train: true";
      Trainer<float> trainer(shorter, folder + "/run", 1);
      trainer.solver().Solve();
      std::filesystem::remove(folder + "/run_iter_6.solverstate");
      trainer.solver().Snapshot();
    }
    const Trained resumed =
        Trainer<float>(way, folder + "/again", 2).Train(folder + "/run_iter_6.solverstate");
    EXPECT_TRUE(resumed.bits == whole.bits) << source;
    EXPECT_TRUE(resumed.progress == whole.progress) << source;
    std::filesystem::remove_all(folder);
  }
}

TEST(ExactResume, RewindsASolverThatHasTrainedOn) {
  for (const auto& [name, layer] : Files().Sources()) {
    SCOPED_TRACE(name);
    const string folder = NewFolder();
    Way way;
    way.net = NetOf(layer);
    way.fields = kTested;
    way.strategy = "hybrid";
    Trainer<float> trainer(way, folder + "/run", 1);
    const Trained first = trainer.Train();
    const Trained second = trainer.Train(trainer.File());
    EXPECT_EQ(trainer.solver().iter(), 9);
    EXPECT_TRUE(second.bits == first.bits);
    EXPECT_TRUE(second.progress == first.progress);
    std::filesystem::remove_all(folder);
  }
}

/// In Caffe sources restart, so programs skip as many batches as were read before.
TEST(ExactResume, SkipsNothingIfTheProgramAdvancesTheDataItself) {
  for (const auto& [name, layer] : Files().Sources()) {
    for (const int solvers : {1, 2}) {
      if (solvers > 1 && (name == "memory" || name == "input" || name == "leveldb")) continue;
      SCOPED_TRACE(name + " " + std::to_string(solvers));
      const string folder = NewFolder();
      Way way;
      way.net = NetOf(layer);
      way.fields = kTested;
      way.solvers = solvers;
      Trainer<float> trainer(way, folder + "/run", 1), again(way, folder + "/again", 2);
      const Trained whole = trainer.Train();
      again.solver().Restore(trainer.File().c_str());
      for (int i = 0; i < again.solver().iter(); ++i) again.solver().net()->Forward();
      const Trained resumed = again.GoOn(trainer.File());
      EXPECT_TRUE(resumed.bits == whole.bits);
      EXPECT_TRUE(resumed.progress == whole.progress);
      std::filesystem::remove_all(folder);
    }
  }
}

/// The program's own loop sets the position in the data, before a Step and a snapshot.
TEST(ExactResume, LeavesTheDataToTheProgramsOwnLoop) {
  const string folder = NewFolder();
  Way way;
  way.net = NetOf(Files().Sources().at("dummy"));
  string expected;
  for (const bool restored : {false, true}) {
    Trainer<float> trainer(way, folder + "/run" + std::to_string(restored), 1);
    if (restored) {
      Trainer<float> other(way, folder + "/other", 2);
      other.Train();
      trainer.solver().Restore(other.File().c_str());
      Caffe::set_random_seed(3);
    } else {
      Caffe::set_random_seed(3);
    }
    Net<float>& net = *trainer.solver().net();
    net.ClearParamDiffs();
    net.ForwardBackward();
    trainer.solver().ApplyUpdate();
    const string random = trainer.solver().Progress().solver(0).random();
    if (expected.empty()) expected = random;
    EXPECT_EQ(random, expected);
  }
  std::filesystem::remove_all(folder);
}

/// A user's source that saves its progress.
template <typename Dtype>
class CountingLayer : public BasePrefetchingDataLayer<Dtype> {
 public:
  explicit CountingLayer(const LayerParameter& param) : BasePrefetchingDataLayer<Dtype>(param) {}
  ~CountingLayer() override { this->StopInternalThread(); }
  const char* type() const override { return "Counting"; }
  void DataLayerSetUp(const vector<Blob<Dtype>*>&, const vector<Blob<Dtype>*>& top) override {
    top[0]->Reshape({3, 6});
    top[1]->Reshape({3});
    for (const auto& batch : this->prefetch_) {
      batch->data_.Reshape({3, 6});
      batch->label_.Reshape({3});
    }
  }

 protected:
  void load_batch(Batch<Dtype>* batch) override {
    for (int i = 0; i < 18; ++i) {
      batch->data_.mutable_cpu_data()[i] =
          static_cast<Dtype>(caffe_rng_rand() % 100 + batches_) / 100;
    }
    for (int i = 0; i < 3; ++i)
      batch->label_.mutable_cpu_data()[i] = static_cast<Dtype>((i + batches_) % 4);
    ++batches_;
  }
  bool SavePosition(SourcePosition* position) const override {
    position->position = {batches_};
    return true;
  }
  bool RestorePosition(const LayerProgress& progress) override {
    batches_ = progress.position_size() == 1 ? progress.position(0) : 0;
    return progress.position_size() == 1;
  }

 private:
  uint64_t batches_ = 0;
};

REGISTER_LAYER_CLASS(Counting);

TEST(ExactResume, RestoresAUsersSourceThatSavesItsProgress) {
  Way way;
  way.net = NetOf("layer { name: 'source' type: 'Counting' top: 'data' top: 'label' }");
  way.fields = kTested;
  ExpectExactResume(way);
}

/// A user's source that saves no progress and ends after kBatches batches.
template <typename Dtype>
class EndingLayer : public CountingLayer<Dtype> {
 public:
  explicit EndingLayer(const LayerParameter& param) : CountingLayer<Dtype>(param) {}
  ~EndingLayer() override { this->StopInternalThread(); }

 protected:
  static constexpr int kBatches = 10;  // for 9 iterations and the shape of the next

  void load_batch(Batch<Dtype>* batch) override {
    if (loaded_++ == kBatches) BlockingQueue<int>().pop();  // waits until interrupted
    CountingLayer<Dtype>::load_batch(batch);
  }
  bool SavePosition(SourcePosition*) const override { return false; }

 private:
  int loaded_ = 0;
};
REGISTER_LAYER_CLASS(Ending);

TEST(ExactResume, DoesNotWaitForASourceThatSavesNoProgress) {
  const string folder = NewFolder();
  Way way;
  way.net = NetOf("layer { name: 'source' type: 'Ending' top: 'data' top: 'label' }");
  Trainer<float> trainer(way, folder + "/run", 1);
  trainer.Train();
  EXPECT_EQ(trainer.solver().net()->Forward().size(), 1u);  // the last batch
  trainer.solver().Snapshot();
  EXPECT_TRUE(std::filesystem::exists(folder + "/run_iter_9.solverstate"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace caffe
