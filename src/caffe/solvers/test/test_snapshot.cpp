#include <fstream>
#include <sstream>

#include "caffe/test/most_bytes.hpp"
#include "solver_fixture.hpp"

namespace caffe {
namespace {

string Contents(const string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

TEST(Snapshot, HasTheBytesOfTheWholeMessages) {
  const string prefix = NewFolder() + "/run";
  const auto solver =
      MakeSolver(ClassifierNet(),
                 "momentum: 0.9 lr_policy: 'multistep' gamma: 0.5 stepvalue: 1 snapshot_diff: true "
                 "snapshot_prefix: '" +
                     prefix + "'");
  solver->Step(3);
  solver->Snapshot();
  NetParameter net;
  solver->net()->ToProto(&net, true);
  EXPECT_EQ(Contents(prefix + "_iter_3.caffemodel"), net.SerializeAsString());
  SolverState state;
  ReadProtoFromBinaryFileOrDie(prefix + "_iter_3.solverstate", &state);
  EXPECT_EQ(state.history_size(), 4);
  EXPECT_EQ(state.current_step(), 1);
  EXPECT_EQ(Contents(prefix + "_iter_3.solverstate"), state.SerializeAsString());
}

TEST(Snapshot, HoldsOneLayerAtATime) {
  if (Caffe::mode() == Caffe::GPU)
    GTEST_SKIP() << "what is read of a device stays on the host until the next pass";
  constexpr int kLayers = 24;  // of 2 MiB
  string net =
      "layer { name: 'in' type: 'DummyData' top: '0' "
      "dummy_data_param { shape { dim: 1 dim: 512 } } }";
  for (int i = 0; i < kLayers; ++i) {
    net += "layer { name: 'ip" + std::to_string(i) + "' type: 'InnerProduct' bottom: '0' top: '" +
           std::to_string(i + 1) + "' loss_weight: 1 " +
           "inner_product_param { num_output: 1024 bias_term: false } }";
  }
  const auto solver = MakeSolver(net, "snapshot_prefix: '" + NewFolder() + "/run'");
  solver->Step(1);
  const int64_t before = MostBytes();
  solver->Snapshot();
  EXPECT_LT(MostBytes() - before, kLayers * kMiB);
}

}  // namespace
}  // namespace caffe
