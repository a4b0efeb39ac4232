// Training that resumes with another prototxt, other data, other solvers or an invalid message
// continues, logs what starts from the beginning, and never reads out of range.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "caffe/test/warnings.hpp"
#include "resumed_training.hpp"

namespace caffe {
namespace {

class ResumeOfChanged : public ::testing::Test {
 protected:
  ~ResumeOfChanged() override { std::filesystem::remove_all(folder_); }

  /// Trains by `way` and returns its snapshot.
  string SnapshotOf(const Way& way) {
    Trainer<float> trainer(way, folder_ + "/run" + std::to_string(++runs_), 1);
    trainer.Train();
    return trainer.File();
  }
  Way WayOf(const string& source) const {
    Way way;
    way.net = NetOf(files_.Sources().at(source));
    return way;
  }
  /// Resumes training by `way` from `file` to its end and returns the warnings.
  vector<string> Resume(const Way& way, const string& file) {
    const Warnings warnings;
    Trainer<float> trainer(way, folder_ + "/again", 2);
    const Trained trained = trainer.Train(file);
    EXPECT_EQ(trainer.solver().iter(), Trainer<float>::kIterations);
    return warnings.lines;
  }

  const TrainingFiles files_;
  const string folder_ = NewFolder();
  int runs_ = 0;
};

TEST_F(ResumeOfChanged, NothingLogsNoWarning) {
  EXPECT_EQ(Resume(WayOf("dummy"), SnapshotOf(WayOf("dummy"))), vector<string>());
}

TEST_F(ResumeOfChanged, LayerNamesWarnsOfMissingWeights) {
  for (const string& format : SnapshotFormats()) {
    Way way = WayOf("dummy");
    way.format = format;
    const string file = SnapshotOf(way);
    way.net = Replaced(way.net, "name: 'ip'", "name: 'renamed'");
    const vector<string> warnings = Resume(way, file);
    ASSERT_EQ(warnings.size(), 2u) << format;
    EXPECT_NE(warnings[0].find(" has weights of layers that the net does not have: ip."),
              string::npos);
    EXPECT_NE(warnings[1].find(" has no weights of these layers, which start with the values of "
                               "their fillers: renamed."),
              string::npos);
  }
}

#ifdef USE_LMDB

TEST_F(ResumeOfChanged, LayersLogsRemovedAndNewOnes) {
  const string file = SnapshotOf(WayOf("lmdb"));
  Way way = WayOf("lmdb");
  way.net = Replaced(way.net, "name: 'source'", "name: 'renamed'");
  EXPECT_EQ(
      Resume(way, file),
      (vector<string>{
          file + ", train net: the net no longer has layer 'source': its saved state is ignored.",
          file + ", train net: there is no saved state of layer 'renamed': it starts from the "
                 "beginning."}));
}

TEST_F(ResumeOfChanged, LayerTypesStartsThemAnew) {
  const auto type = [](const string& layer) { return layer.substr(layer.rfind("type: "), 20); };
  for (const auto& [from, from_layer] : files_.Sources()) {
    if (from == "dummy" || from == "input") continue;  // they save nothing
    const ResumeState kept = Trainer<float>(WayOf(from), folder_ + "/run", 1).solver().Progress();
    for (const auto& [to, to_layer] : files_.Sources()) {
      if (type(from_layer) == type(to_layer)) continue;
      Trainer<float> trainer(WayOf(to), folder_ + "/again", 2);
      const Warnings warnings;
      trainer.solver().RestoreProgress(kept, "file");
      trainer.solver().Progress();
      ASSERT_FALSE(warnings.lines.empty()) << from << " to " << to;
      EXPECT_EQ(warnings.lines.back(),
                "file, train net: the saved state does not fit layer 'source': it starts from the "
                "beginning.")
          << from << " to " << to;
      // If two kinds store the same number of values, the source finds that its records differ.
      EXPECT_LE(warnings.lines.size(), from.find("shuffled") == 0 ? 2u : 1u)
          << from << " to " << to;
      trainer.solver().Step(1);
    }
  }
}

TEST_F(ResumeOfChanged, DatabasesStartsAtTheFirstRecord) {
  const string file = SnapshotOf(WayOf("lmdb"));
  std::filesystem::remove_all(files_.folder() + "/lmdb");
  {
    const std::unique_ptr<db::DB> database(db::GetDB("lmdb")), from(db::GetDB("leveldb"));
    database->Open(files_.folder() + "/lmdb", db::NEW);
    from->Open(files_.folder() + "/leveldb", db::READ);
    const std::unique_ptr<db::Transaction> transaction(database->NewTransaction());
    const std::unique_ptr<db::Cursor> cursor(from->NewCursor());
    for (; cursor->valid(); cursor->Next()) transaction->Put("x" + cursor->key(), cursor->value());
    transaction->Commit();
  }
  const vector<string> warnings = Resume(WayOf("lmdb"), file);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("Layer source (source " + files_.folder() +
                             "/lmdb): the record with key 'image"),
            string::npos)
      << warnings[0];
  EXPECT_NE(warnings[1].find("does not fit layer 'source': it starts from the beginning"),
            string::npos);
}

TEST_F(ResumeOfChanged, SolverCountsRestartsTheData) {
  Way one = WayOf("lmdb"), two = WayOf("lmdb");
  two.solvers = 2;
  const string of_one = SnapshotOf(one), of_two = SnapshotOf(two);
  const string anew = ": data and random numbers start from the beginning.";
  EXPECT_EQ(Resume(one, of_two),
            vector<string>{of_two + " has the state of 2 solvers, but this training has 1" + anew});
  EXPECT_EQ(Resume(two, of_one),
            vector<string>{of_one + " has the state of 1 solver, but this training has 2" + anew});
}

#endif

#ifdef USE_OPENCV

TEST_F(ResumeOfChanged, ImageListsStartsAtTheFirstImage) {
  const string file = SnapshotOf(WayOf("images"));
  const string list = files_.folder() + "/images.txt";
  std::ofstream(list) << "image9.png 1\nimage8.png 2\nimage8.png 3\nimage8.png 0\nimage9.png 0\n"
                      << "image9.png 1\nimage9.png 2\nimage9.png 3\nimage9.png 0\nimage9.png 0\n";
  const vector<string> warnings = Resume(WayOf("images"), file);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_NE(warnings[0].find("Layer source: the image list " + list + " has changed: image image"),
            string::npos)
      << warnings[0];
}

#endif

TEST_F(ResumeOfChanged, AverageLossLogsNoWarning) {
  Way way = WayOf("dummy");
  const string file = SnapshotOf(way);
  way.fields += " average_loss: 2";
  EXPECT_EQ(Resume(way, file), vector<string>());
}

/// Invalid messages must not cause out-of-range reads.
TEST_F(ResumeOfChanged, ProgressRejectsInvalidMessagesSafely) {
  const uint64_t large = std::numeric_limits<uint64_t>::max();
  for (const auto& [name, layer] : files_.Sources()) {
    SCOPED_TRACE(name);
    Trainer<float> trainer(WayOf(name), folder_ + "/run", 1);
    const ResumeState good = trainer.solver().Progress();
    const auto restore = [&](const std::function<void(LayerProgress*)>& change) {
      ResumeState bad = good;
      NetProgress* net = bad.mutable_solver(0)->mutable_net(0);
      for (LayerProgress& of_layer : *net->mutable_layer()) change(&of_layer);
      trainer.solver().RestoreProgress(bad, "file");
      trainer.solver().Step(1);
    };
    restore([](LayerProgress* progress) { progress->clear_random(); });
    restore([](LayerProgress* progress) { progress->add_random("7"); });
    restore([](LayerProgress* progress) {
      for (string& random : *progress->mutable_random()) random = "none";
    });
    restore([](LayerProgress* progress) { progress->clear_position(); });
    restore([&](LayerProgress* progress) {
      for (uint64_t& number : *progress->mutable_position()) number = large;
    });
    restore([](LayerProgress* progress) { progress->add_position(1); });
    restore([](LayerProgress* progress) {
      for (uint32_t& number : *progress->mutable_order()) number = 4000000000u;
    });
    restore([](LayerProgress* progress) {
      for (uint32_t& number : *progress->mutable_order()) number = 0;
    });
    restore([](LayerProgress* progress) { progress->add_order(1); });
    restore([](LayerProgress* progress) { progress->clear_order(); });
    restore([](LayerProgress* progress) { progress->set_key(string(2000, 'z')); });
    restore([](LayerProgress* progress) { progress->clear_key(); });
    ResumeState no_generator = good;
    no_generator.mutable_solver(0)->clear_random();
    no_generator.mutable_solver(0)->mutable_net(0)->clear_layer();
    const Warnings warnings;
    trainer.solver().RestoreProgress(no_generator, "file");
    trainer.solver().Progress();
    EXPECT_GT(warnings.Count("file: the state of the random generator cannot be read"), 0);
    trainer.solver().RestoreProgress(ResumeState(), "file");
    EXPECT_GT(warnings.Count("file has the state of 0 solvers, but this training has 1:"), 0);
    trainer.solver().Step(1);
  }
}

/// Cannot save its progress in the solver of rank 1.
class SilentSource : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "SilentSource"; }
  void LayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({3, 5});
    top[1]->Reshape({3});
  }
  void Reshape(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {}
  void SaveProgress(LayerProgress*) const override {
    if (Caffe::solver_rank() == 1) throw std::runtime_error("the tape is stuck");
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    for (Blob<float>* blob : top) std::fill_n(blob->mutable_cpu_data(), blob->count(), 1.0f);
  }
};
LayerRegisterer<float> register_silent("SilentSource", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new SilentSource(param));
});

TEST_F(ResumeOfChanged, SolverNamesTheOneWhoseSaveProgressFails) {
  Way way;
  way.net = NetOf("layer { name: 'source' type: 'SilentSource' top: 'data' top: 'label' }");
  way.solvers = 3;
  try {
    SnapshotOf(way);
    FAIL() << "there is a snapshot";
  } catch (const layrub::GroupFailed& failed) {
    EXPECT_NE(string(failed.what()).find("solver 1 of 3: the tape is stuck"), string::npos)
        << failed.what();
  }
}

}  // namespace
}  // namespace caffe
