// Errors in a process that goes on: an allocation of the device, the spill file or a check in
// another solver fails. An exception, nothing left behind, and an object that works or says that it
// is dead. On an emulated device, whatever device other tests run on.
#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <new>

#include "caffe/solvers/test/parallel_training.hpp"
#include "caffe/test/device_scope.hpp"
#include "layrub/device/emulated_device.hpp"
#include "layrub/device/test/file_size_limit.hpp"

namespace caffe {
namespace {

NetParameter SmallNet() {
  return ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data" top: "label"
            dummy_data_param { shape { dim: 8 dim: 2 dim: 12 dim: 12 } shape { dim: 8 }
                               data_filler { type: "gaussian" std: 1 }
                               data_filler { type: "constant" value: 1 } } }
    layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
            convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "tanh1" type: "TanH" bottom: "conv1" top: "tanh1" }
    layer { name: "conv2" type: "Convolution" bottom: "tanh1" top: "conv2"
            convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "xavier" } } }
    layer { name: "tanh2" type: "TanH" bottom: "conv2" top: "tanh2" }
    layer { name: "ip" type: "InnerProduct" bottom: "tanh2" top: "ip"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
  )");
}

/// Trains, after a pass without a plan.
std::vector<float> Train(const SolverParameter& param) {
  OpenSolver solver(param);
  solver.net()->ForwardBackward();
  solver.Step(3);
  return TrainedState(&solver);
}

TEST(SolverErrors, AnyDeviceAllocationMayFailWithoutLeaks) {
  layrub::EmulatedDevice device(int64_t{1} << 30, 0);
  const DeviceScope scope(&device, Caffe::GPU);
  const ThrowOnError throws;
  for (const char* strategy : {"keep", "hybrid", "vdnn_all"}) {
    const SolverParameter param = SolverFor(SmallNet(), strategy);
    const std::vector<float> expected = Train(param);
    int failed = 0;
    for (int64_t n = 1;; ++n) {
      device.pool().Trim();
      ASSERT_EQ(device.free_bytes(), device.total_bytes()) << strategy << ", before " << n;
      device.FailAllocation(n);
      try {
        EXPECT_EQ(Train(param), expected) << "there was memory to give back";
      } catch (const std::exception& error) {
        ++failed;
        EXPECT_NE(string(error.what()).find("memory"), string::npos) << error.what();
      }
      if (!device.has_failed()) break;  // there is no n-th allocation
    }
    EXPECT_GT(failed, 0) << strategy;
    device.FailAllocation(INT64_MAX);
    EXPECT_EQ(Train(param), expected);
  }
}

TEST(SolverErrors, ANetWhoseSpillFileFailsReportsThatItIsDead) {
  Caffe::set_throw_on_error(true);
  char folder[] = "/tmp/solver_errors.XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  {
    SolverParameter param = SolverFor(SmallNet(), "vdnn_all");
    param.mutable_placement()->set_spill_file(folder);
    OpenSolver solver(param);
    solver.Step(2);
    {
      const layrub::testing::FileSizeLimit limit(256);
      EXPECT_THROW(solver.Step(1), Error);
    }
    for (int i = 0; i < 2; ++i) {
      try {
        solver.Step(1);
        ADD_FAILURE() << "a pass of a dead net";
      } catch (const Error& error) {
        const string what = error.what();
        EXPECT_NE(what.find("is dead"), string::npos) << what;
        EXPECT_NE(what.find(string("Cannot write to the spill file ") + folder), string::npos)
            << what;
      }
    }
  }
  EXPECT_EQ(rmdir(folder), 0) << "something is left there";
  Caffe::set_throw_on_error(false);
}

/// Copies its bottom. In a solver other than the root, the third forward fails.
class FussyLayer : public Layer<float> {
 public:
  using Layer<float>::Layer;
  const char* type() const override { return "TestFussy"; }
  void Reshape(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    top[0]->ReshapeLike(*bottom[0]);
  }

 protected:
  void Forward_cpu(const vector<Blob<float>*>& bottom, const vector<Blob<float>*>& top) override {
    CHECK(Caffe::root_solver() || ++passes_ < 3) << "enough is enough";
    top[0]->CopyFrom(*bottom[0]);
  }
  void Backward_cpu(const vector<Blob<float>*>& top, const vector<bool>&,
                    const vector<Blob<float>*>& bottom) override {
    bottom[0]->CopyFrom(*top[0], true);
  }

 private:
  int passes_ = 0;
};
LayerRegisterer<float> register_fussy("TestFussy", [](const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new FussyLayer(param));
});

TEST(SolverErrors, AFailedCheckInAFollowerEndsTrainingButNotTheProcess) {
  Caffe::set_throw_on_error(true);
  NetParameter net = SmallNet();
  net.mutable_layer(2)->set_type("TestFussy");
  {
    const SolverCount count(2);
    OpenSolver root(SolverFor(net, "hybrid"));
    ParallelSolvers<float> all(&root, layrub::ConnectThreads({nullptr, nullptr}));
    ASSERT_TRUE(all.Start().ok());
    try {
      root.Step(10);
      ADD_FAILURE() << "it went on alone";
    } catch (const layrub::GroupFailed& error) {
      EXPECT_NE(string(error.what()).find("solver 1 of 2"), string::npos) << error.what();
      EXPECT_NE(string(error.what()).find("enough is enough"), string::npos) << error.what();
    }
    EXPECT_EQ(root.iter(), 2);
  }
  OpenSolver next(SolverFor(net, "hybrid"));
  next.Step(3);
  EXPECT_EQ(next.iter(), 3);
  Caffe::set_throw_on_error(false);
}

}  // namespace
}  // namespace caffe
