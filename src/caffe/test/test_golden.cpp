// Compares layers and solvers with values that BVLC Caffe computed; golden/README.md describes the
// cases.

#include <gtest/gtest.h>

#ifndef USE_HDF5

TEST(Golden, AgreesWithTheReference) {
  GTEST_SKIP() << "built without HDF5, which the reference values are stored in";
}

#else

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "caffe/net.hpp"
#include "caffe/solver.hpp"
#include "caffe/test/golden_file.hpp"
#include "caffe/test/source_folder.hpp"
#include "caffe/util/upgrade_proto.hpp"

namespace caffe {
namespace {

namespace fs = std::filesystem;

const char kSolverSuffix[] = "_solver";

fs::path GoldenFolder() {
  const char* folder = std::getenv("LAYRUB_GOLDEN");
  return fs::absolute(folder != nullptr ? folder : SourceFolder() + "/src/caffe/test/golden");
}

/// Returns the sorted names of the prototxt files in a folder that end in `suffix`, without the
/// suffix and extension.
vector<string> Cases(const char* folder, const string& suffix) {
  vector<string> names;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(GoldenFolder() / folder, missing)) {
    const string stem = entry.path().stem().string();
    const bool fits =
        stem.size() > suffix.size() && stem.substr(stem.size() - suffix.size()) == suffix;
    if (entry.path().extension() == ".prototxt" && fits)
      names.push_back(stem.substr(0, stem.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

/// Returns the first layer type of the net that is not registered, or "".
string UnknownLayerType(const NetParameter& net) {
  const vector<string> known = LayerRegistry<float>::LayerTypeList();
  for (const LayerParameter& layer : net.layer()) {
    if (std::find(known.begin(), known.end(), layer.type()) == known.end()) return layer.type();
  }
  return "";
}

void Assign(const GoldenTensor& tensor, const string& what, int count, float* values) {
  CHECK_EQ(static_cast<size_t>(count), tensor.values.size()) << what;
  std::copy(tensor.values.begin(), tensor.values.end(), values);
}

/// Expects max|a-b| <= tolerance * max(1e-3, max|b|), where b is the reference.
void ExpectClose(const GoldenTensor& reference, const string& what, int count, const float* values,
                 float tolerance) {
  ASSERT_EQ(reference.values.size(), static_cast<size_t>(count)) << what;
  float largest = 0, error = 0;
  for (int i = 0; i < count; ++i) {
    const float difference = std::fabs(values[i] - reference.values[i]);
    largest = std::max(largest, std::fabs(reference.values[i]));
    error = std::isnan(difference) ? difference : std::max(difference, error);
    if (std::isnan(error)) break;
  }
  EXPECT_LE(error, tolerance * std::max(1e-3f, largest))
      << what << ": largest reference value " << largest;
}

void ExpectShape(const GoldenTensor& reference, const string& what, const Blob<float>& blob) {
  EXPECT_EQ(reference.shape, blob.shape()) << what;
}

Blob<float>* FindBlob(const Net<float>& net, const string& name) {
  CHECK(net.has_blob(name)) << "the net has no blob " << name;
  return net.blob_by_name(name).get();
}

/// Calls visit(parameter blob, its values in the file, name) for all parameters in
/// group/<layer>/<index>.
template <typename Visit>
void ForEachParam(const GoldenFile& file, const string& group, Net<float>* net, Visit visit) {
  for (const string& layer : file.Names(group)) {
    CHECK(net->has_layer(layer)) << "the net has no layer " << layer;
    for (const string& index : file.Names(group + "/" + layer)) {
      const string path = group + "/" + layer + "/" + index;
      visit(net->layer_by_name(layer)->blobs().at(std::stoi(index)).get(), file.Read(path), path);
    }
  }
}

void SetParams(const GoldenFile& file, const string& group, Net<float>* net) {
  ForEachParam(file, group, net,
               [](Blob<float>* blob, const GoldenTensor& tensor, const string& path) {
                 Assign(tensor, path, blob->count(), blob->mutable_cpu_data());
               });
}

void ExpectParams(const GoldenFile& file, const string& group, bool diff, float tolerance,
                  Net<float>* net) {
  ForEachParam(file, group, net,
               [&](Blob<float>* blob, const GoldenTensor& tensor, const string& path) {
                 ExpectClose(tensor, path, blob->count(),
                             diff ? blob->cpu_diff() : blob->cpu_data(), tolerance);
               });
}

class GoldenLayer : public testing::TestWithParam<string> {};

TEST_P(GoldenLayer, AgreesWithTheReference) {
  constexpr float kTolerance = 1e-4f;
  const fs::path stem = GoldenFolder() / "layers" / GetParam();
  NetParameter param;
  ReadNetParamsFromTextFileOrDie(stem.string() + ".prototxt", &param);
  const string unknown = UnknownLayerType(param);
  if (!unknown.empty()) GTEST_SKIP() << "layer type " << unknown << " is not registered";
  const GoldenFile file(stem.string() + ".h5");
  param.mutable_state()->set_phase(file.Text("phase", "TRAIN") == "TEST" ? TEST : TRAIN);
  Net<float> net(param);

  for (const string& name : file.Names("inputs")) {
    const GoldenTensor tensor = file.Read("inputs/" + name);
    Blob<float>* blob = FindBlob(net, name);
    ExpectShape(tensor, "inputs/" + name, *blob);
    Assign(tensor, name, blob->count(), blob->mutable_cpu_data());
  }
  SetParams(file, "params", &net);
  for (int pass = file.Number("forward_passes", 1); pass > 0; --pass) net.Forward();
  for (const string& name : file.Names("outputs")) {
    const GoldenTensor tensor = file.Read("outputs/" + name);
    const Blob<float>* blob = FindBlob(net, name);
    ExpectShape(tensor, "outputs/" + name, *blob);
    ExpectClose(tensor, "outputs/" + name, blob->count(), blob->cpu_data(), kTolerance);
  }
  if (file.Number("backward", 0) != 0) {
    for (const string& name : file.Names("top_diffs")) {
      Blob<float>* blob = FindBlob(net, name);
      Assign(file.Read("top_diffs/" + name), name, blob->count(), blob->mutable_cpu_diff());
    }
    net.ClearParamDiffs();
    net.Backward();
  }
  for (const string& name : file.Names("bottom_diffs")) {
    const Blob<float>* blob = FindBlob(net, name);
    ExpectClose(file.Read("bottom_diffs/" + name), "bottom_diffs/" + name, blob->count(),
                blob->cpu_diff(), kTolerance);
  }
  ExpectParams(file, "param_diffs", true, kTolerance, &net);
  ExpectParams(file, "params_after", false, kTolerance, &net);
}

/// The weighted sum of the net's losses in its last pass.
float LastLoss(const Net<float>& net) {
  float loss = 0;
  for (size_t i = 0; i < net.blobs().size(); ++i) {
    const float weight = net.blob_loss_weights()[i];
    if (weight != 0) loss += weight * net.blobs()[i]->cpu_data()[0];
  }
  return loss;
}

class GoldenSolver : public testing::TestWithParam<string> {
 protected:
  // The files of a case refer to each other by paths relative to their folder.
  void SetUp() override { fs::current_path(GoldenFolder() / "solvers"); }
  void TearDown() override { fs::current_path(home_); }

 private:
  const fs::path home_ = fs::current_path();
};

TEST_P(GoldenSolver, AgreesWithTheReference) {
  constexpr float kTolerance = 1e-3f;
  SolverParameter param;
  ReadSolverParamsFromTextFileOrDie(GetParam() + kSolverSuffix + ".prototxt", &param);
  const vector<string> solvers = SolverRegistry<float>::SolverTypeList();
  if (std::find(solvers.begin(), solvers.end(), param.type()) == solvers.end()) {
    GTEST_SKIP() << "solver type " << param.type() << " is not registered";
  }
  NetParameter net_param;
  ReadNetParamsFromTextFileOrDie(param.has_net() ? param.net() : param.train_net(), &net_param);
  const string unknown = UnknownLayerType(net_param);
  if (!unknown.empty()) GTEST_SKIP() << "layer type " << unknown << " is not registered";

  const GoldenFile file(GetParam() + ".h5");
  const std::unique_ptr<Solver<float> > solver(SolverRegistry<float>::CreateSolver(param));
  SetParams(file, "params_initial", solver->net().get());
  const GoldenTensor reference = file.Read("loss_per_iteration");
  vector<float> losses;
  for (size_t i = 0; i < reference.values.size(); ++i) {
    solver->Step(1);
    losses.push_back(LastLoss(*solver->net()));
  }
  ExpectClose(reference, "loss_per_iteration", static_cast<int>(losses.size()), losses.data(),
              kTolerance);
  ExpectParams(file, "params_final", false, kTolerance, solver->net().get());
}

string TestName(const testing::TestParamInfo<string>& info) {
  string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Layers, GoldenLayer, testing::ValuesIn(Cases("layers", "")), TestName);
INSTANTIATE_TEST_SUITE_P(Solvers, GoldenSolver, testing::ValuesIn(Cases("solvers", kSolverSuffix)),
                         TestName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenLayer);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenSolver);

TEST(GoldenFolder, HasCases) {
  EXPECT_FALSE(Cases("layers", "").empty() && Cases("solvers", kSolverSuffix).empty())
      << GoldenFolder() << " has neither layers/*.prototxt nor solvers/*_solver.prototxt";
}

}  // namespace
}  // namespace caffe

#endif  // USE_HDF5
