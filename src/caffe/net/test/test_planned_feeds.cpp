// Sources under a plan for a device. Their batches wait in host memory and are copied to the
// planned tops on the load lane, whatever users' layers do. On an emulated device.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

#include "caffe/layers/base_data_layer.hpp"
#include "caffe/net/test/training.hpp"
#include "caffe/test/device_scope.hpp"
#ifdef USE_HDF5
#include "caffe/util/hdf5.hpp"
#endif
#include "layrub/device/emulated_device.hpp"
#include "layrub/placement/strategies/strategy.hpp"

#ifdef USE_OPENCV
#include <opencv2/core/core.hpp>
#include <opencv2/imgcodecs.hpp>
#endif

namespace caffe {
namespace {

constexpr int kSteps = 6;

/// Batches of a user: images and labels with consecutive numbers. data_param's batch_size is the
/// number of values of an image. From batch rand_skip on there are half as many images.
class CountingDataLayer : public BasePrefetchingDataLayer<float> {
 public:
  explicit CountingDataLayer(const LayerParameter& param)
      : BasePrefetchingDataLayer<float>(param),
        width_(param.data_param().has_batch_size() ? param.data_param().batch_size() : 6),
        shrinks_at_(static_cast<int>(param.data_param().rand_skip())) {}
  ~CountingDataLayer() override { StopInternalThread(); }
  const char* type() const override { return "TestCountingData"; }
  /// Waits until the batch after the next is loaded.
  void AwaitBatch() {
    while (prefetch_full_.size() < 2) std::this_thread::yield();
  }
  void DataLayerSetUp(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    top[0]->Reshape({8, width_});
    top[1]->Reshape({8});
  }

 protected:
  bool SavePosition(SourcePosition* position) const override {
    position->position = {static_cast<uint64_t>(batches_)};
    return true;
  }
  bool RestorePosition(const LayerProgress& progress) override {
    batches_ = static_cast<int>(progress.position(0));
    return true;
  }
  void load_batch(Batch<float>* batch) override {
    const int images = shrinks_at_ > 0 && batches_ >= shrinks_at_ ? 4 : 8;
    batch->data_.Reshape({images, width_});
    batch->label_.Reshape({images});
    float* data = batch->data_.mutable_cpu_data();
    for (int i = 0; i < images * width_; ++i)
      data[i] = static_cast<float>((i + 5 * batches_) % 13 - 6) / 4;
    for (int i = 0; i < images; ++i)
      batch->label_.mutable_cpu_data()[i] = static_cast<float>((i + batches_) % 4);
    ++batches_;
  }
  const int width_, shrinks_at_;
  int batches_ = 0;
};

/// The same with its own forward for each device, as written for Caffe.
class OwnForwardDataLayer : public CountingDataLayer {
 public:
  using CountingDataLayer::CountingDataLayer;
  ~OwnForwardDataLayer() override { StopInternalThread(); }

 protected:
  void Forward_gpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    Batch<float>* batch = prefetch_full_.pop();
    caffe_copy(batch->data_.count(), batch->data_.gpu_data(), top[0]->mutable_gpu_data());
    caffe_copy(batch->label_.count(), batch->label_.gpu_data(), top[1]->mutable_gpu_data());
    Caffe::device().Synchronize();
    prefetch_free_.push(batch);
  }
};

/// The same, but fills the host's side of its tops on any device.
class HostForwardDataLayer : public CountingDataLayer {
 public:
  using CountingDataLayer::CountingDataLayer;
  ~HostForwardDataLayer() override { StopInternalThread(); }

 protected:
  void Forward_gpu(const vector<Blob<float>*>&, const vector<Blob<float>*>& top) override {
    Batch<float>* batch = prefetch_full_.pop();
    std::copy_n(batch->data_.cpu_data(), batch->data_.count(), top[0]->mutable_cpu_data());
    std::copy_n(batch->label_.cpu_data(), batch->label_.count(), top[1]->mutable_cpu_data());
    prefetch_free_.push(batch);
  }
};

template <typename LayerType>
shared_ptr<Layer<float>> Make(const LayerParameter& param) {
  return shared_ptr<Layer<float>>(new LayerType(param));
}
LayerRegisterer<float> register_counting("TestCountingData", Make<CountingDataLayer>);
LayerRegisterer<float> register_own("TestOwnForwardData", Make<OwnForwardDataLayer>);
LayerRegisterer<float> register_host("TestHostForwardData", Make<HostForwardDataLayer>);

/// A net with a source at the start, and one that runs after other tensors have freed bytes.
NetParameter NetOf(const string& type, const string& data_param = "prefetch: 2") {
  const string source = "type: '" + type + "' data_param { " + data_param + " } }";
  return ParseNet("layer { name: 'data' top: 'data' top: 'label' " + source + R"(
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
    layer { name: "tanh1" type: "TanH" bottom: "ip1" top: "tanh1" }
    layer { name: "ip2" type: "InnerProduct" bottom: "tanh1" top: "ip2"
            inner_product_param { num_output: 6 weight_filler { type: "xavier" } } }
    layer { name: "late" top: "late" top: "late_label" )" +
                  source + R"(
    layer { name: "silence" type: "Silence" bottom: "late_label" }
    layer { name: "sum" type: "Eltwise" bottom: "ip2" bottom: "late" top: "sum" }
    layer { name: "tanh2" type: "TanH" bottom: "sum" top: "tanh2" }
    layer { name: "ip3" type: "InnerProduct" bottom: "tanh2" top: "ip3"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip3" bottom: "label" top: "loss" })");
}

int Feeds(const layrub::Plan& plan) {
  return static_cast<int>(std::count_if(plan.steps.begin(), plan.steps.end(), [](const auto& step) {
    return step.kind == layrub::StepKind::kRun && step.lane == layrub::Lane::kLoad;
  }));
}

/// Trains on the CPU, without a plan.
vector<float> TrainUnplanned(const NetParameter& net) {
  const DeviceScope scope(Caffe::chosen_device(), Caffe::CPU);
  OpenSolver solver(SolverFor(net));
  for (int i = 0; i < kSteps; ++i) {
    solver.net()->ClearParamDiffs();
    solver.net()->ForwardBackward();
    solver.ApplyUpdate();
  }
  return TrainedState(&solver);
}

class PlannedFeeds : public testing::TestWithParam<string> {
 protected:
  vector<float> Train(const NetParameter& net, int feeds = 2, int64_t capacity = 0) {
    OpenSolver solver(SolverFor(net, GetParam()));
    solver.mutable_placement_extra()->padding = 512;
    solver.mutable_placement_extra()->executor.poison = true;
    solver.mutable_placement_extra()->machine.capacity = capacity;
    solver.Step(kSteps);
    EXPECT_EQ(Feeds(solver.net()->planned()->plan()), feeds);
    EXPECT_TRUE(solver.net()->planned()->executor().SentinelsIntact());
    return TrainedState(&solver);
  }
  void ExpectTheBitsOfTheCpu(const NetParameter& net, int feeds = 2) {
    const vector<float> state = Train(net, feeds);
    EXPECT_TRUE(AllFinite(state));
    EXPECT_TRUE(SameBits(state, TrainUnplanned(net)));
  }

  layrub::EmulatedDevice device_{int64_t{1} << 30, 0};
  const DeviceScope scope_{&device_, Caffe::GPU};
};

TEST_P(PlannedFeeds, BringBatchesInOrder) {
  for (const char* prefetch : {"prefetch: 1", "prefetch: 4"})
    ExpectTheBitsOfTheCpu(NetOf("TestCountingData", prefetch));
}

TEST_P(PlannedFeeds, TakeNoDeviceMemoryAndDoNotBlockTheHost) {
  SolverParameter param = SolverFor(NetOf("TestCountingData"), GetParam());
  param.mutable_placement()->set_deterministic(true);
  OpenSolver solver(param);
  solver.Step(1);
  device_.pool().ResetPeak();
  const int64_t reads = device_.host_reads();
  solver.Step(kSteps);
  EXPECT_EQ(device_.pool().peak(), 0);
  EXPECT_EQ(device_.host_reads() - reads, 0);
  EXPECT_GT(device_.host_pool().used(), 0) << "pinned memory, for what is read ahead";
}

TEST_P(PlannedFeeds, RunLayersWithTheirOwnForward) {
  for (const char* type : {"TestOwnForwardData", "TestHostForwardData"})
    ExpectTheBitsOfTheCpu(NetOf(type));
}

TEST_P(PlannedFeeds, MayBringBatchesOfAnotherShape) {
  ExpectTheBitsOfTheCpu(NetOf("TestCountingData", "prefetch: 2 rand_skip: 3"));
}

/// Waits until the sources of a net of NetOf have loaded their next batches.
void AwaitBatches(OpenSolver* solver) {
  for (const char* source : {"data", "late"}) {
    boost::static_pointer_cast<CountingDataLayer>(solver->net()->layer_by_name(source))
        ->AwaitBatch();
  }
}

/// Makes single steps, each when the batch after the next is loaded.
void StepSlowly(OpenSolver* solver, int steps) {
  for (int i = 0; i < steps; ++i) {
    AwaitBatches(solver);
    solver->Step(1);
  }
}

TEST_P(PlannedFeeds, CopyTheNextBatchAheadIfMemoryIsLeft) {
  OpenSolver solver(SolverFor(NetOf("TestCountingData", "prefetch: 4"), GetParam()));
  StepSlowly(&solver, kSteps);
  const PlannedNet<float>& planned = *solver.net()->planned();
  EXPECT_EQ(planned.fed_ahead(), 4 * (kSteps - 1)) << "data and labels of two sources";
  const int64_t ahead = 2 * (layrub::Aligned(8 * 6 * 4) + layrub::Aligned(8 * 4));
  EXPECT_EQ(device_.total_bytes() - device_.free_bytes(), planned.plan().device_bytes + ahead);
  EXPECT_TRUE(SameBits(TrainedState(&solver), TrainUnplanned(NetOf("TestCountingData"))));
}

TEST_P(PlannedFeeds, CopyNothingAheadIfNoMemoryIsLeft) {
  SolverParameter param = SolverFor(NetOf("TestCountingData", "prefetch: 4"), GetParam());
  OpenSolver free(param);
  free.Step(1);
  const int64_t bytes = free.net()->planned()->plan().device_bytes;
  param.mutable_placement()->set_device_memory(BudgetFor(bytes));
  OpenSolver solver(param);
  StepSlowly(&solver, kSteps);
  EXPECT_EQ(solver.net()->planned()->fed_ahead(), 0);
  EXPECT_TRUE(SameBits(TrainedState(&solver), TrainUnplanned(NetOf("TestCountingData"))));
}

/// The test net shares memory of the training net, which is enlarged for it.
TEST_P(PlannedFeeds, KeepToTheBudgetWithALargerTestNet) {
  SolverParameter param = SolverFor(NetOf("TestCountingData", "prefetch: 4"), GetParam());
  *param.add_test_net_param() = ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data"
            dummy_data_param { shape { dim: 400 dim: 6 } } }
    layer { name: "ip1" type: "InnerProduct" bottom: "data" top: "ip1"
            inner_product_param { num_output: 7 } }
    layer { name: "sum" type: "Reduction" bottom: "ip1" top: "sum" })");
  param.add_test_iter(1);
  param.set_test_interval(2);
  OpenSolver free(param);
  const PlacementOptions options = free.WantedPlacement().value();
  const int64_t bytes =
      SmallestPlans(free.MemoryGraphs(options).value(), options).value().device_bytes;
  param.mutable_placement()->set_device_memory(BudgetFor(bytes));
  OpenSolver solver(param);
  StepSlowly(&solver, kSteps);
  EXPECT_EQ(solver.planned_device_bytes(), bytes);
  EXPECT_GT(bytes, solver.net()->planned()->plan().device_bytes) << "the test net needs more";
  device_.pool().Trim();
  EXPECT_LE(device_.total_bytes() - device_.free_bytes() - device_.pool().used(), bytes);
  EXPECT_EQ(solver.net()->planned()->fed_ahead(), 0);
}

TEST_P(PlannedFeeds, StopCopyingAheadIfBatchesAreNotUsed) {
  OpenSolver solver(SolverFor(NetOf("TestOwnForwardData", "prefetch: 4"), GetParam()));
  StepSlowly(&solver, kSteps);
  EXPECT_EQ(solver.net()->planned()->fed_ahead(), 0);
  device_.pool().Trim();
  EXPECT_EQ(device_.total_bytes() - device_.free_bytes() - device_.pool().used(),
            solver.net()->planned()->plan().device_bytes)
      << "what was taken for it is free again";
}

TEST_P(PlannedFeeds, BringBatchesOfARestoredSourceNotThoseCopiedAhead) {
  const NetParameter net = NetOf("TestCountingData", "prefetch: 4");
  const auto train = [&](const string& strategy) {
    OpenSolver solver(SolverFor(net, strategy));
    vector<LayerProgress> progress(solver.net()->layers().size());
    StepSlowly(&solver, 2);
    for (size_t i = 0; i < progress.size(); ++i)
      solver.net()->layers()[i]->SaveProgress(&progress[i]);
    StepSlowly(&solver, 2);
    for (const int source : {0, 4})
      EXPECT_TRUE(solver.net()->layers()[source]->RestoreProgress(progress[source]));
    StepSlowly(&solver, 2);
    return TrainedState(&solver);
  };
  const vector<float> state = train(GetParam());
  const DeviceScope scope(&device_, Caffe::CPU);
  EXPECT_TRUE(SameBits(state, train("keep")));
}

TEST_P(PlannedFeeds, BringGeneratedDataOnce) {
  const NetParameter net = ParseNet(R"(
    layer { name: "data" type: "DummyData" top: "data" top: "t"
            dummy_data_param { refill: false shape { dim: 5 dim: 7 } shape { dim: 5 dim: 3 }
                               data_filler { type: "gaussian" std: 1 } } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 3 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "t" top: "loss" })");
  OpenSolver solver(SolverFor(net, GetParam()));
  solver.Step(kSteps);
  EXPECT_EQ(solver.net()->planned()->fed_ahead(), 2 * (kSteps - 1));
  EXPECT_TRUE(SameBits(TrainedState(&solver), TrainUnplanned(net)));
}

#ifdef USE_HDF5
TEST_P(PlannedFeeds, BringRowsOfSeveralFiles) {
  const string folder = testing::TempDir() + "planned_feeds_" + std::to_string(getpid());
  std::filesystem::create_directories(folder);
  std::ofstream list(folder + "/list");
  for (int f = 0; f < 2; ++f) {
    const string path = folder + "/" + std::to_string(f) + ".h5";
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    Blob<float> data({5, 6}), label({5});
    for (int i = 0; i < 30; ++i)
      data.mutable_cpu_data()[i] = static_cast<float>((7 * f + i) % 11 - 5) / 3;
    for (int i = 0; i < 5; ++i) label.mutable_cpu_data()[i] = static_cast<float>((f + i) % 4);
    hdf5_save_nd_dataset(file, "data", data);
    hdf5_save_nd_dataset(file, "label", label);
    H5Fclose(file);
    list << path << "\n";
  }
  list.close();
  const NetParameter net = ParseNet(R"(
    layer { name: "h5" type: "HDF5Data" top: "data" top: "label"
            hdf5_data_param { batch_size: 3 source: ")" +
                                    folder + R"(/list" } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
  ExpectTheBitsOfTheCpu(net, 1);
  std::filesystem::remove_all(folder);
}
#endif

#ifdef USE_OPENCV
TEST_P(PlannedFeeds, BringImagesAndWindowsThatAreDrawnAtRandom) {
  const string folder = testing::TempDir() + "planned_feeds_" + std::to_string(getpid()) + "/";
  std::filesystem::create_directories(folder);
  std::ofstream list(folder + "list"), windows(folder + "windows");
  for (int n = 0; n < 5; ++n) {
    cv::Mat image(8, 9, CV_8UC3);
    for (int i = 0; i < 216; ++i) image.data[i] = static_cast<uchar>(37 * (i + 5 * n) % 251);
    const string name = std::to_string(n) + ".png";
    cv::imwrite(folder + name, image);
    list << name << " " << n % 4 << "\n";
    windows << "# " << n << "\n" << name << "\n3 8 9\n2\n";
    windows << 1 + n % 3 << " 0.8 1 1 6 7\n0 0.1 0 2 8 5\n";
  }
  list.close();
  windows.close();
  const string source = "batch_size: 4 root_folder: '" + folder + "' source: '" + folder;
  for (const string& layer :
       {"type: 'ImageData' image_data_param { shuffle: true " + source + "list'",
        "type: 'WindowData' window_data_param { " + source + "windows'"}) {
    ExpectTheBitsOfTheCpu(ParseNet("layer { name: 'data' top: 'data' top: 'label' " + layer + R"( }
            transform_param { crop_size: 5 mirror: true scale: 0.01 mean_value: 120 } }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
              inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })"),
                          1);
  }
  std::filesystem::remove_all(folder);
}
#endif

TEST_P(PlannedFeeds, ExistOnACpuOnlyInPlansForADevice) {
  const DeviceScope scope(&device_, Caffe::CPU);
  const NetParameter net = NetOf("TestCountingData");
  const vector<float> state = TrainUnplanned(net);
  EXPECT_TRUE(SameBits(Train(net, 0), state));
  EXPECT_TRUE(SameBits(Train(net, 2, int64_t{1} << 30), state));
}

/// Reads the tops of the source as soon as it has run.
class Reader : public Net<float>::Callback {
 public:
  explicit Reader(const Net<float>* net) : net_(net) {}
  vector<float> seen;

 protected:
  void run(int layer) override {
    if (layer > 0) return;
    for (const Blob<float>* top : net_->top_vecs()[0])
      seen.insert(seen.end(), top->cpu_data(), top->cpu_data() + top->count());
  }

 private:
  const Net<float>* const net_;
};

TEST_P(PlannedFeeds, AreWaitedForWhenATopIsReadWithinThePass) {
  constexpr int kWidth = 40000;  // so large that a copy takes longer than the next step
  const NetParameter net = ParseNet(R"(
    layer { name: "data" type: "TestCountingData" top: "data" top: "label"
            data_param { batch_size: 40000 } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
  const auto read = [&net](const string& strategy) {
    OpenSolver solver(SolverFor(net, strategy));
    Reader reader(solver.net().get());
    EXPECT_TRUE(solver.Place().ok());
    solver.net()->add_after_forward(&reader);
    for (int i = 0; i < kSteps; ++i) solver.net()->ForwardBackward();
    return reader.seen;
  };
  const vector<float> seen = read(GetParam());
  EXPECT_EQ(seen.size(), size_t{kSteps} * (8 * kWidth + 8));
  const DeviceScope scope(&device_, Caffe::CPU);
  EXPECT_TRUE(SameBits(seen, read("keep")));
}

INSTANTIATE_TEST_SUITE_P(EveryStrategy, PlannedFeeds, testing::ValuesIn(layrub::StrategyNames()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace caffe
