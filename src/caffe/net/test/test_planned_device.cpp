// How plans use their device: its memory, its libraries, and when the host waits for it. Always on
// an emulated device.
#include <memory>

#include "caffe/solvers/test/parallel_training.hpp"
#include "caffe/test/device_scope.hpp"
#include "caffe/util/library_workspace.hpp"
#include "layrub/device/emulated_device.hpp"
#include "layrub/placement/strategies/strategy.hpp"

namespace caffe {
namespace {

constexpr int64_t kContext = int64_t{6} << 20;
constexpr int64_t kLibraries = int64_t{9} << 20;

std::vector<LibraryWorkspace> algorithms_seen;

/// Copies its bottom, and notes the workspace that a library would use.
class LibraryCallLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestLibraryCall"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->CopyFrom(*bottom[0]);
    algorithms_seen.push_back(library_workspace());
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    bottom[0]->CopyFrom(*top[0], true);
    algorithms_seen.push_back(library_workspace());
  }
};
LayerRegisterer<float> register_call("TestLibraryCall", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new LibraryCallLayer(param));
});

class PlannedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { Use(int64_t{4} << 30); }
  /// Switches to a device of `bytes`, of which the context and libraries take some.
  void Use(int64_t bytes, int64_t context_bytes = 0, int64_t library_bytes = 0) {
    scope_.reset();
    device_ = std::make_unique<layrub::EmulatedDevice>(bytes, context_bytes, library_bytes);
    scope_ = std::make_unique<DeviceScope>(device_.get(), Caffe::GPU);
  }

  std::unique_ptr<layrub::EmulatedDevice> device_;
  std::unique_ptr<DeviceScope> scope_;
};

/// Returns how often the host waits for the device in an iteration, except between passes.
int64_t ReadsOfAnIteration(const SolverParameter& param, const layrub::EmulatedDevice& device) {
  constexpr int kIterations = 3;
  OpenSolver solver(param);
  solver.Step(2);
  const int64_t before = device.host_reads();
  solver.Step(kIterations);
  const int64_t reads = device.host_reads() - before;
  EXPECT_EQ(reads % kIterations, 0);
  return reads / kIterations;
}

/// Notes whether the host waits for the device between the backward and the last update.
class WatchfulSolver : public OpenSolver {
 public:
  WatchfulSolver(const SolverParameter& param, const layrub::EmulatedDevice& device)
      : OpenSolver(param), device_(device) {}

 protected:
  void ClipGradients() override {
    reads_ = device_.host_reads();
    OpenSolver::ClipGradients();
  }
  void ComputeUpdateValue(int param_id, float rate) override {
    OpenSolver::ComputeUpdateValue(param_id, rate);
    EXPECT_EQ(device_.host_reads(), reads_);
  }

 private:
  const layrub::EmulatedDevice& device_;
  int64_t reads_ = 0;
};

TEST_F(PlannedDeviceTest, HostDoesNotWaitBeforeAnIterationEnds) {
  const Items items;
  for (const std::string& strategy : layrub::StrategyNames()) {
    SolverParameter param = SolverFor(items.Net(4), strategy);
    EXPECT_EQ(ReadsOfAnIteration(param, *device_), 0) << strategy;
    param.set_clip_gradients(1e-3f);
    EXPECT_EQ(ReadsOfAnIteration(param, *device_), 1) << strategy << ", the norm at its end";
    WatchfulSolver(param, *device_).Step(2);
  }
}

TEST_F(PlannedDeviceTest, LibrariesUseAWorkspaceInThePlan) {
  const NetParameter net = ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data" dummy_data_param {
      shape { dim: 2 dim: 3 } data_filler { type: "constant" value: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
      inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "call" type: "TestLibraryCall" bottom: "ip" top: "call" loss_weight: 1 })");
  for (const std::string& strategy : layrub::StrategyNames()) {
    OpenSolver solver(SolverFor(net, strategy));
    algorithms_seen.clear();
    solver.Step(2);
    const layrub::Graph& graph = solver.net()->planned()->graph();
    const auto found =
        std::find_if(graph.tensors.begin(), graph.tensors.end(),
                     [](const layrub::Tensor& t) { return t.name == "library_workspace"; });
    ASSERT_NE(found, graph.tensors.end());
    EXPECT_EQ(found->bytes, device_->library_workspace_bytes());
    EXPECT_TRUE(found->is_state());
    ASSERT_EQ(algorithms_seen.size(), 4u) << strategy;
    const auto id = static_cast<layrub::TensorId>(found - graph.tensors.begin());
    for (const LibraryWorkspace& seen : algorithms_seen) {
      EXPECT_EQ(seen.memory, solver.net()->planned()->executor().Address(id));
      EXPECT_EQ(seen.bytes, found->bytes);
    }
    EXPECT_EQ(library_workspace().memory, nullptr) << "only while an operation runs";
    solver.net()->ForwardFrom(0);
    EXPECT_EQ(algorithms_seen.back().memory, nullptr) << "nor without a plan";
  }
}

TEST_F(PlannedDeviceTest, BudgetIsLimitedByTheDevice) {
  Use(int64_t{8} << 20, 0, int64_t{1} << 20);
  PlacementParameter parameter;
  for (const auto& [given, mib] : {std::pair("6MiB", 6), std::pair("1GiB", 8)}) {
    parameter.set_device_memory(given);
    const auto options = ToOptions(parameter);
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(options.value().budget.device, int64_t{mib} << 20) << given;
    EXPECT_EQ(options.value().budget.reserved, int64_t{1} << 20);
  }
}

TEST_F(PlannedDeviceTest, LibrariesNeedNoWorkspaceOnACpu) {
  Caffe::set_mode(Caffe::CPU);
  OpenSolver solver(SolverFor(ReadNet("lenet"), "keep"));
  solver.Step(1);
  for (const layrub::Tensor& tensor : solver.net()->planned()->graph().tensors)
    EXPECT_NE(tensor.name, "library_workspace");
}

TEST_F(PlannedDeviceTest, PlanningAgainMayUseTheBytesOfTheOldPlan) {
  const SolverParameter param = SolverFor(ReadNet("mini_resnet"), "auto");
  const int64_t keep = [&] {
    OpenSolver solver(SolverFor(ReadNet("mini_resnet"), "keep"));
    EXPECT_TRUE(solver.Place().ok());
    return solver.planned_device_bytes();
  }();
  Use(2 * kContext + kLibraries + keep * 3 / 4, 2 * kContext, kLibraries);
  OpenSolver solver(param);
  solver.Step(8);
  EXPECT_LT(solver.planned_device_bytes(), keep);
  EXPECT_EQ(solver.iter(), 8);
}

/// Places the nets of `param` within `bytes` of the device.
layrub::Status PlaceWithin(SolverParameter param, int64_t bytes, int64_t* planned = nullptr) {
  param.mutable_placement()->set_device_memory(std::to_string(bytes));
  OpenSolver solver(param);
  const layrub::Status status = solver.Place();
  if (planned) *planned = solver.planned_device_bytes();
  return status;
}

TEST_F(PlannedDeviceTest, BudgetIncludesContextAndLibraries) {
  SolverParameter param = SolverFor(ReadNet("mini_resnet"), "hybrid");
  *param.add_test_net_param() = ReadNet("mini_resnet");
  param.mutable_test_net_param(0)->mutable_state()->set_phase(TEST);
  param.add_test_iter(1);
  param.set_test_interval(100);
  const std::string needed = "--device_memory=";
  const std::string least = PlaceWithin(param, 1).message;
  const int64_t alone = std::stoll(least.substr(least.find(needed) + needed.size()));
  EXPECT_EQ(least.find("context"), std::string::npos) << least;

  Use(int64_t{1} << 30, kContext, kLibraries);
  const int64_t all = alone + kContext + kLibraries;
  for (const int64_t tight : {kContext, all - 1}) {
    const std::string message = PlaceWithin(param, tight).message;
    EXPECT_NE(message.find(needed + std::to_string(all)), std::string::npos) << message;
    EXPECT_NE(message.find("15.0 MiB of it are for the context and libraries"), std::string::npos)
        << message;
  }
  int64_t planned = 0;
  EXPECT_TRUE(PlaceWithin(param, all, &planned).ok());
  EXPECT_EQ(planned, alone);
}

TEST_F(PlannedDeviceTest, PlanningAgainLeavesBytesForContextAndLibraries) {
  Use(int64_t{1} << 30, kContext, kLibraries);
  SolverParameter param = SolverFor(ReadNet("mini_resnet"), "auto");
  constexpr int64_t kPlans = int64_t{2} << 20;
  param.mutable_placement()->set_device_memory(std::to_string(kPlans + kContext + kLibraries));
  OpenSolver solver(param);
  solver.Step(8);
  EXPECT_FALSE(solver.machine().measured.empty());
  EXPECT_LE(solver.planned_device_bytes(), kPlans);
}

}  // namespace
}  // namespace caffe
