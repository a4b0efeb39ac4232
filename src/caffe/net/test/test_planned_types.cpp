// Every registered layer type trains to the same bits under every strategy, and a net of all types
// resumes from a snapshot as if it had never stopped.
#include <gtest/gtest.h>

#if !defined(USE_HDF5) || !defined(USE_LMDB) || !defined(USE_OPENCV)

TEST(PlannedTypes, TrainUnderEveryStrategy) {
  GTEST_SKIP() << "built without HDF5, LMDB or OpenCV, which some layer types need";
}

#else

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "caffe/layers/python_layer.hpp"
#include "caffe/net/test/source_files.hpp"
#include "caffe/net/test/tight_training.hpp"
#include "caffe/test/program_data.hpp"
#include "layrub/placement/strategies/strategy.hpp"
#include "layrub/placement/test/tiers.hpp"

namespace caffe {
namespace {

constexpr int kIterations = 4;

/// The Python layer of the nets: y = x + 0.25 * x * |x|.
class CurveBody : public PythonBody<float> {
 public:
  void SetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>&) override {}
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }
  void Forward(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    const float* x = bottom[0]->cpu_data();
    float* y = top[0]->mutable_cpu_data();
    for (int i = 0; i < bottom[0]->count(); ++i) y[i] = x[i] + 0.25f * x[i] * std::abs(x[i]);
  }
  void Backward(const vector<Blob<float>*>& top, const vector<bool>& propagate_down,
                const vector<Blob<float>*>& bottom) override {
    if (!propagate_down[0]) return;
    const float* x = bottom[0]->cpu_data();
    const float* dy = top[0]->cpu_diff();
    float* dx = bottom[0]->mutable_cpu_diff();
    for (int i = 0; i < bottom[0]->count(); ++i) dx[i] = dy[i] * (1 + 0.5f * std::abs(x[i]));
  }
};

/// The nets of nets/types, by name.
std::vector<std::string> TypeNets() {
  std::vector<std::string> names;
  const std::string folder = SourceFolder() + "/src/caffe/net/test/nets/types";
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.push_back(file.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// A solver whose net has the inputs that programs give.
class FedSolver : public OpenSolver {
 public:
  explicit FedSolver(const SolverParameter& param) : OpenSolver(param) { data_.Give(net().get()); }

 private:
  ProgramData<float> data_;
};

class PlannedTypes : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    PythonLayer<float>::SetBodyMaker([](Layer<float>*) { return std::make_unique<CurveBody>(); });
    files_ = new SourceFiles;
  }
  static void TearDownTestSuite() {
    delete files_;
    PythonLayer<float>::SetBodyMaker({});
  }

  static NetParameter ReadTypes(const std::string& name) {
    std::string text;
    NetParameter net = ReadNet("types/" + name);
    google::protobuf::TextFormat::PrintToString(net, &text);
    for (size_t at; (at = text.find("FOLDER")) != std::string::npos;)
      text.replace(at, 6, files_->folder());
    return ParseNet(text);
  }

  static std::vector<float> Train(const SolverParameter& param, bool poison = false) {
    FedSolver solver(param);
    solver.mutable_placement_extra()->executor.poison = poison;
    solver.Step(kIterations);
    return TrainedState(&solver);
  }

  /// The result without any plan, as in Caffe. Trained once for each net.
  static const std::vector<float>& Unplanned(const std::string& name) {
    static std::map<std::string, std::vector<float> > known;
    const auto [entry, is_new] = known.try_emplace(name);
    if (is_new) {
      FedSolver solver(SolverFor(ReadTypes(name)));
      entry->second = TrainUnplanned(&solver, kIterations);
    }
    return entry->second;
  }

  static SourceFiles* files_;
};
SourceFiles* PlannedTypes::files_ = nullptr;

TEST_F(PlannedTypes, CoverAllRegisteredTypes) {
  std::set<std::string> seen;
  for (const std::string& name : TypeNets()) {
    const NetParameter net = ReadTypes(name);
    for (const LayerParameter& layer : net.layer()) seen.insert(layer.type());
  }
  for (const std::string& type : LayerRegistry<float>::LayerTypeList())
    EXPECT_EQ(seen.count(type), 1u) << type << " is in none of nets/types";
  EXPECT_EQ(seen.size(), 83u);
}

class EveryType : public PlannedTypes,
                  public ::testing::WithParamInterface<std::tuple<std::string, std::string> > {
 protected:
  std::string net() const { return std::get<0>(GetParam()); }
  std::string strategy() const { return std::get<1>(GetParam()); }
};

TEST_P(EveryType, TrainsToTheSameBitsAsUnplannedUnderPoison) {
  const std::vector<float> state = Train(SolverFor(ReadTypes(net()), strategy()), true);
  EXPECT_TRUE(AllFinite(state));
  EXPECT_TRUE(SameBits(state, Unplanned(net())));
}

INSTANTIATE_TEST_SUITE_P(
    EveryNetAndStrategy, EveryType,
    ::testing::ValuesIn(layrub::testing::Pairs(TypeNets(), layrub::StrategyNames())),
    [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

class EveryTypeNet : public PlannedTypes, public ::testing::WithParamInterface<std::string> {};

TEST_P(EveryTypeNet, TrainsToTheSameBitsInAutosSmallestBudget) {
  const SolverParameter param = WithinSmallestBudget(SolverFor(ReadTypes(GetParam()), "auto"));
  EXPECT_TRUE(SameBits(Train(param), Unplanned(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(EveryNet, EveryTypeNet, ::testing::ValuesIn(TypeNets()),
                         [](const auto& test) { return test.param; });

const char kEverything[] = "everything";

class ResumedTraining : public PlannedTypes,
                        public ::testing::WithParamInterface<std::tuple<std::string, bool> > {
 protected:
  /// All nets side by side; names of layers and blobs begin with the net's.
  static NetParameter Everything() {
    NetParameter all;
    all.set_name("Everything");
    all.mutable_state()->set_phase(TRAIN);
    for (const std::string& name : TypeNets()) {
      const NetParameter net = ReadTypes(name);
      for (LayerParameter layer : net.layer()) {
        layer.set_name(name + "." + layer.name());
        // The tops of HDF5Data are the names of datasets.
        const auto rename = [&](std::string* blob) {
          if (blob->rfind("hdf5", 0) != 0) *blob = name + "." + *blob;
        };
        for (std::string& blob : *layer.mutable_bottom()) rename(&blob);
        for (std::string& blob : *layer.mutable_top()) rename(&blob);
        *all.add_layer() = layer;
      }
    }
    return all;
  }
  bool hdf5() const { return std::get<1>(GetParam()); }
  SolverParameter Param() const {
    const std::string& name = std::get<0>(GetParam());
    SolverParameter param =
        SolverFor(name == kEverything ? Everything() : ReadTypes(name), "hybrid");
    param.set_snapshot_prefix(files_->folder() + "/" + name);
    param.set_snapshot_format(hdf5() ? SolverParameter_SnapshotFormat_HDF5
                                     : SolverParameter_SnapshotFormat_BINARYPROTO);
    return param;
  }
};

TEST_P(ResumedTraining, FromASnapshotEqualsUninterruptedTraining) {
  std::vector<float> expected;
  {
    FedSolver solver(Param());
    solver.Step(2);
    solver.Snapshot();
    solver.Step(2);
    expected = TrainedState(&solver);
  }
  EXPECT_TRUE(AllFinite(expected));
  SolverParameter param = Param();
  param.set_random_seed(1702);
  FedSolver resumed(param);
  const std::string state = Param().snapshot_prefix() + "_iter_2.solverstate";
  resumed.Restore((state + (hdf5() ? ".h5" : "")).c_str());
  EXPECT_EQ(resumed.iter(), 2);
  resumed.Step(2);
  EXPECT_TRUE(SameBits(TrainedState(&resumed), expected));
}

std::vector<std::string> TypeNetsAndEverything() {
  std::vector<std::string> names = TypeNets();
  names.push_back(kEverything);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryNet, ResumedTraining,
                         ::testing::Combine(::testing::ValuesIn(TypeNetsAndEverything()),
                                            ::testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  (std::get<1>(test.param) ? "_hdf5" : "_binary");
                         });

}  // namespace
}  // namespace caffe

#endif
