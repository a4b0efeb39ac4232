// State files of every solver type, in Layrub's layout and in those that Caffe has written.
#include <cmath>

#include "caffe/test/expect_error.hpp"
#include "caffe/util/hdf5.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

class SolverStateOf : public ::testing::TestWithParam<string> {};

/// Trains 6 iterations in one go, and 3 + 3 with a snapshot between, on data that does not change.
TEST_P(SolverStateOf, ResumesAsIfTrainingHadNotStopped) {
  for (const string& format : SnapshotFormats()) {
    const string prefix = NewFolder() + "/run";
    const string fields =
        GetParam() +
        " weight_decay: 0.01 lr_policy: 'step' gamma: 0.5 stepsize: 2 snapshot_prefix: '" + prefix +
        "' snapshot_format: " + format;
    const auto whole = MakeSolver(LinearNet(), fields);
    whole->Step(6);
    const auto first = MakeSolver(LinearNet(), fields);
    first->Step(3);
    first->Snapshot();
    const string file = prefix + "_iter_3.solverstate" + (format == "HDF5" ? ".h5" : "");
    const auto second = MakeSolver(LinearNet(), fields), third = MakeSolver(LinearNet(), fields);
    third->Step(1);  // already under its plan
    for (SGDSolver<float>* solver : {second.get(), third.get()}) {
      solver->Restore(file.c_str());
      EXPECT_EQ(solver->iter(), 3);
      EXPECT_EQ(Bits(State(solver)), Bits(State(first.get()))) << format;
      solver->Step(3);
      EXPECT_EQ(Bits(State(solver)), Bits(State(whole.get()))) << format;
    }
  }
}

TEST_P(SolverStateOf, RejectsTheHistoryOfAnotherSolver) {
  const string prefix = NewFolder() + "/run";
  const bool two =
      ParseSolver(GetParam()).type() == "Adam" || ParseSolver(GetParam()).type() == "AdaDelta";
  MakeSolver(LinearNet(), (two ? "" : "type: 'Adam' ") + ("snapshot_prefix: '" + prefix + "'"))
      ->Snapshot();
  const auto solver = MakeSolver(LinearNet(), GetParam());
  EXPECT_ERROR(solver->Restore((prefix + "_iter_0.solverstate").c_str()),
               "Incorrect length of history blobs in .*: it was written by another solver or net");
}

INSTANTIATE_TEST_SUITE_P(Solvers, SolverStateOf, ::testing::ValuesIn(SolverKinds()), KindName);

/// The contents of a file in Caffe's layout for the linear net: parameters, then the means of the
/// gradients of weights and bias, then the means of their squares.
const vector<float> kWeights = {1, 2, 3}, kMeans = {0.1f, 0.2f, 0.3f}, kSquares = {1, 4, 9};
constexpr float kBiasNow = 4, kBiasMean = 0.4f, kBiasSquare = 16;
constexpr int kIter = 5;
const char kAdam[] = "type: 'Adam' momentum: 0.5 momentum2: 0.75";

/// A blob of old Caffe: four axes in separate fields, with `diff` values if wanted.
BlobProto OldBlob(const vector<float>& values, bool diff) {
  BlobProto blob;
  blob.set_num(1);
  blob.set_channels(1);
  blob.set_height(1);
  blob.set_width(static_cast<int>(values.size()));
  for (float value : values) {
    blob.add_data(value);
    if (diff) blob.add_diff(-value);
  }
  return blob;
}

BlobProto NewBlob(const vector<int>& shape, const vector<float>& values) {
  BlobProto blob;
  for (int dim : shape) blob.mutable_shape()->add_dim(dim);
  for (float value : values) blob.add_data(value);
  return blob;
}

/// Expects that the solver has the values of the files, and that its next step follows Adam's
/// formula.
void ExpectAdamAfter(const string& state_file) {
  const auto solver = MakeSolver(LinearNet(), kAdam);
  solver->Restore(state_file.c_str());
  vector<float> expected = kWeights;
  const auto append = [&](const vector<float>& more, float last) {
    expected.insert(expected.end(), more.begin(), more.end());
    expected.push_back(last);
  };
  expected.push_back(kBiasNow);
  append(kMeans, kBiasMean);
  append(kSquares, kBiasSquare);
  vector<float> found = Parameters<float>(solver.get());
  ASSERT_EQ(solver->history().size(), 4u);
  for (const auto& blob : solver->history())
    found.insert(found.end(), blob->cpu_data(), blob->cpu_data() + blob->count());
  EXPECT_EQ(found, expected);
  EXPECT_EQ(solver->iter(), kIter);

  solver->Step(1);
  const int t = kIter + 1;
  const double rate = 0.1 * std::sqrt(1 - std::pow(0.75, t)) / (1 - std::pow(0.5, t));
  const vector<float> learned = Parameters<float>(solver.get());
  for (int i = 0; i < 4; ++i) {
    const double mean = 0.5 * (i < 3 ? kMeans[i] : kBiasMean) + 0.5 * kGradient;
    const double square = 0.75 * (i < 3 ? kSquares[i] : kBiasSquare) + 0.25 * kGradient * kGradient;
    EXPECT_NEAR(learned[i], expected[i] - rate * mean / std::sqrt(square), 1e-5) << i;
  }
}

TEST(CaffesSolverState, IsReadForAdam) {
  const string folder = NewFolder();
  NetParameter net;
  LayerParameter* const layer = net.add_layer();
  layer->set_name("ip");
  layer->set_type("InnerProduct");
  *layer->add_blobs() = NewBlob({1, 3}, kWeights);
  *layer->add_blobs() = NewBlob({1}, {kBiasNow});
  WriteProtoToBinaryFile(net, folder + "/run_iter_5.caffemodel");
  SolverState state;
  state.set_iter(kIter);
  state.set_learned_net(folder + "/run_iter_5.caffemodel");
  *state.add_history() = NewBlob({1, 3}, kMeans);
  *state.add_history() = NewBlob({1}, {kBiasMean});
  *state.add_history() = NewBlob({1, 3}, kSquares);
  *state.add_history() = NewBlob({1}, {kBiasSquare});
  state.set_current_step(0);
  WriteProtoToBinaryFile(state, folder + "/run_iter_5.solverstate");
  ExpectAdamAfter(folder + "/run_iter_5.solverstate");
}

TEST(CaffesSolverState, IsReadFromOldReleases) {
  const string folder = NewFolder();
  NetParameter net;
  V1LayerParameter* const layer = net.add_layers();
  layer->set_name("ip");
  layer->set_type(V1LayerParameter::INNER_PRODUCT);
  *layer->add_blobs() = OldBlob(kWeights, true);
  *layer->add_blobs() = OldBlob({kBiasNow}, true);
  WriteProtoToBinaryFile(net, folder + "/old.caffemodel");
  SolverState state;  // old states had no current_step
  state.set_iter(kIter);
  state.set_learned_net(folder + "/old.caffemodel");
  *state.add_history() = OldBlob(kMeans, true);
  *state.add_history() = OldBlob({kBiasMean}, true);
  *state.add_history() = OldBlob(kSquares, false);
  *state.add_history() = OldBlob({kBiasSquare}, false);
  WriteProtoToBinaryFile(state, folder + "/old.solverstate");
  ExpectAdamAfter(folder + "/old.solverstate");
}

TEST(CaffesSolverState, IsWrittenInTheSameOrder) {
  const string prefix = NewFolder() + "/run";
  const auto solver = MakeSolver(LinearNet(), kAdam + (" snapshot_prefix: '" + prefix + "'"));
  solver->Step(1);
  solver->Snapshot();
  SolverState state;
  ReadProtoFromBinaryFileOrDie(prefix + "_iter_1.solverstate", &state);
  ASSERT_EQ(state.history_size(), 4);
  for (int i = 0; i < 4; ++i) {
    const bool bias = i % 2 == 1;
    const BlobProto& blob = state.history(i);
    ASSERT_EQ(blob.shape().dim_size(), bias ? 1 : 2);
    EXPECT_EQ(blob.shape().dim(bias ? 0 : 1), bias ? 1 : 3);
    ASSERT_EQ(blob.data_size(), bias ? 1 : 3);
    EXPECT_EQ(blob.diff_size(), 0);
    const double expected = i < 2 ? 0.5 * kGradient : 0.25 * kGradient * kGradient;
    EXPECT_FLOAT_EQ(blob.data(0), static_cast<float>(expected)) << i;
  }
  EXPECT_EQ(state.learned_net(), prefix + "_iter_1.caffemodel");
}

#ifdef USE_HDF5
TEST(CaffesSolverState, IsReadFromHDF5) {
  const string folder = NewFolder();
  const auto model = MakeSolver(LinearNet(), kAdam);
  const auto fill = [](const vector<float>& values, Blob<float>* blob) {
    std::copy(values.begin(), values.end(), blob->mutable_cpu_data());
  };
  fill(kWeights, model->net()->learnable_params()[0]);
  fill({kBiasNow}, model->net()->learnable_params()[1]);
  model->net()->ToHDF5(folder + "/run_iter_5.caffemodel.h5");

  const string name = folder + "/run_iter_5.solverstate.h5";
  const hid_t file = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hdf5_save_int(file, "iter", kIter);
  hdf5_save_string(file, "learned_net", folder + "/run_iter_5.caffemodel.h5");
  hdf5_save_int(file, "current_step", 0);
  const hid_t history = H5Gcreate2(file, "history", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  Blob<float> weights(vector<int>{1, 3}), bias(vector<int>{1});
  fill(kMeans, &weights);
  fill({kBiasMean}, &bias);
  hdf5_save_nd_dataset(history, "0", weights);
  hdf5_save_nd_dataset(history, "1", bias);
  fill(kSquares, &weights);
  fill({kBiasSquare}, &bias);
  hdf5_save_nd_dataset(history, "2", weights);
  hdf5_save_nd_dataset(history, "3", bias);
  H5Gclose(history);
  H5Fclose(file);
  ExpectAdamAfter(name);
}
#endif

}  // namespace
}  // namespace caffe
