// A program like Caffe's own command: it trains, tests and times nets through the C++ API, with
// gflags, signals and timers.
#include <gflags/gflags.h>
#include <glog/logging.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "boost/algorithm/string.hpp"
#include "caffe/caffe.hpp"
#include "caffe/util/signal_handler.h"

using caffe::Blob;
using caffe::Caffe;
using caffe::Layer;
using caffe::Net;
using caffe::shared_ptr;
using caffe::Solver;
using caffe::string;
using caffe::Timer;
using caffe::vector;

DEFINE_string(client_solver, "", "Solver prototxt.");
DEFINE_string(client_model, "", "Net prototxt.");
DEFINE_string(client_weights, "", "Trained weights, for train and test.");
DEFINE_int32(client_iterations, 3, "Passes of test and time.");
DEFINE_string(client_stage, "", "Stages of the net, separated by commas.");

namespace {

/// The results of an action.
struct Report {
  int iter = 0;
  float loss = 0;
  std::map<string, float> outputs;
  std::map<string, double> forward_ms, backward_ms;
};

Report Train() {
  caffe::SolverParameter param;
  caffe::ReadSolverParamsFromTextFileOrDie(FLAGS_client_solver, &param);
  Caffe::set_mode(Caffe::CPU);
  caffe::SignalHandler signals(caffe::SolverAction::STOP, caffe::SolverAction::SNAPSHOT);
  shared_ptr<Solver<float> > solver(caffe::SolverRegistry<float>::CreateSolver(param));
  solver->SetActionFunction(signals.GetActionFunction());
  if (!FLAGS_client_weights.empty()) {
    solver->net()->CopyTrainedLayersFrom(FLAGS_client_weights);
    for (const auto& net : solver->test_nets()) net->ShareTrainedLayersWith(solver->net().get());
  }
  solver->Solve();
  EXPECT_EQ(solver->GetRequestedAction(), caffe::SolverAction::NONE);
  Report report;
  report.iter = solver->iter();
  report.loss = solver->net()->output_blobs()[0]->cpu_data()[0];
  return report;
}

/// Computes the means of all outputs.
Report Test() {
  vector<string> stages;
  boost::split(stages, FLAGS_client_stage, boost::is_any_of(","));
  Net<float> net(FLAGS_client_model, caffe::TEST, 0, &stages);
  net.CopyTrainedLayersFrom(FLAGS_client_weights);
  Report report;
  for (int pass = 0; pass < FLAGS_client_iterations; ++pass) {
    float loss;
    const vector<Blob<float>*>& outputs = net.Forward(&loss);
    report.loss += loss / FLAGS_client_iterations;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const int blob = net.output_blob_indices()[i];
      EXPECT_EQ(net.blob_loss_weights()[blob], net.blob_names()[blob] == "loss" ? 1 : 0);
      report.outputs[net.blob_names()[blob]] += outputs[i]->cpu_data()[0] / FLAGS_client_iterations;
    }
  }
  return report;
}

/// Times the layers one by one, calling each separately.
Report Time() {
  Net<float> net(FLAGS_client_model, caffe::TRAIN);
  Report report;
  net.Forward(&report.loss);
  net.Backward();
  Timer whole, part;
  whole.Start();
  for (int pass = 0; pass < FLAGS_client_iterations; ++pass) {
    for (int i = 0; i < net.layers().size(); ++i) {
      part.Start();
      net.layers()[i]->Forward(net.bottom_vecs()[i], net.top_vecs()[i]);
      report.forward_ms[net.layer_names()[i]] += part.MicroSeconds() / 1000;
    }
    for (int i = net.layers().size() - 1; i >= 0; --i) {
      part.Start();
      net.layers()[i]->Backward(net.top_vecs()[i], net.bottom_need_backward()[i],
                                net.bottom_vecs()[i]);
      report.backward_ms[net.layers()[i]->layer_param().name()] += part.MilliSeconds();
    }
  }
  whole.Stop();
  double sum = 0;
  for (const auto& entry : report.forward_ms) sum += entry.second;
  EXPECT_LE(sum, whole.MilliSeconds());
  report.outputs["loss"] = net.blob_by_name("loss")->cpu_data()[0];
  return report;
}

const std::map<string, boost::function<Report()> > kActions = {
    {"train", Train}, {"test", Test}, {"time", Time}};

// Data of ones; labels 0; two classes with weights at zero: loss = log 2, and accuracy 1 by ties.
const char kNet[] =
    "name: 'client' "
    "layer { name: 'data' type: 'DummyData' top: 'data' top: 'label' dummy_data_param { "
    "        shape { dim: 4 dim: 3 } shape { dim: 4 } "
    "        data_filler { value: 1 } data_filler { value: 0 } } } "
    "layer { name: 'ip' type: 'InnerProduct' bottom: 'data' top: 'ip' "
    "        inner_product_param { num_output: 2 } } "
    "layer { name: 'only' type: 'Silence' bottom: 'label' include { stage: 'never' } } "
    "layer { name: 'accuracy' type: 'Accuracy' bottom: 'ip' bottom: 'label' top: 'accuracy' "
    "        include { phase: TEST } } "
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' top: 'loss' } ";

/// Does what `main` would do with a command line.
Report RunCommand(vector<string> words) {
  vector<char*> pointers;
  for (string& word : words) pointers.push_back(&word[0]);
  int argc = pointers.size();
  char** argv = pointers.data();
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  CHECK_EQ(argc, 2) << "flags are removed, the action stays";
  return kActions.at(argv[1])();
}

class ClientToolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    caffe::MakeTempDir(&folder_);
    std::ofstream((folder_ + "/net.prototxt").c_str()) << kNet;
    std::ofstream((folder_ + "/solver.prototxt").c_str())
        << "net: '" << folder_ << "/net.prototxt' base_lr: 0.5 lr_policy: 'fixed' max_iter: 20 "
        << "test_iter: 1 test_interval: 10 display: 10 snapshot_prefix: '" << folder_ << "/s' ";
  }
  string folder_;
};

TEST_F(ClientToolTest, TrainsTestsAndTimes) {
  const Report timed = RunCommand({"client", "-client_model=" + folder_ + "/net.prototxt", "time"});
  EXPECT_NEAR(timed.loss, std::log(2), 1e-5);
  EXPECT_NEAR(timed.outputs.at("loss"), std::log(2), 1e-5);
  EXPECT_EQ(timed.forward_ms.size(), 3);
  EXPECT_GE(timed.backward_ms.at("ip"), 0);

  const Report trained =
      RunCommand({"client", "train", "-client_solver=" + folder_ + "/solver.prototxt"});
  EXPECT_EQ(trained.iter, 20);
  EXPECT_LT(trained.loss, 0.1);

  const Report tested = RunCommand({"client", "test", "--client_model=" + folder_ + "/net.prototxt",
                                    "--client_weights=" + folder_ + "/s_iter_20.caffemodel"});
  EXPECT_EQ(tested.outputs.at("accuracy"), 1);
  EXPECT_NEAR(tested.outputs.at("loss"), tested.loss, 1e-6);
  EXPECT_LE(tested.loss, trained.loss);

  const Report finetuned =
      RunCommand({"client", "train", "-client_solver=" + folder_ + "/solver.prototxt"});
  EXPECT_LT(finetuned.loss, trained.loss) << "begins with the weights of the flag";
}

TEST(ClientGlobalInit, ParsesKnownFlagsAndStartsTheLog) {
  const auto start = [] {
    char name[] = "client", flag[] = "--client_iterations=5", action[] = "train";
    char* words[] = {name, flag, action};
    int argc = 3;
    char** argv = words;
    caffe::GlobalInit(&argc, &argv);
    LOG(ERROR) << argc - 1 << " is left: " << argv[1];
    exit(FLAGS_client_iterations);
  };
  EXPECT_EXIT(start(), ::testing::ExitedWithCode(5), "client_tool.* 1 is left: train");
}

TEST(ClientSignals, BecomeActionsOfASolver) {
  caffe::SignalHandler handler(caffe::SolverAction::STOP, caffe::SolverAction::SNAPSHOT);
  caffe::ActionCallback asked = handler.GetActionFunction();
  EXPECT_EQ(asked(), caffe::SolverAction::NONE);
  raise(SIGHUP);
  EXPECT_EQ(asked(), caffe::SolverAction::SNAPSHOT);
  raise(SIGINT);
  EXPECT_EQ(asked(), caffe::SolverAction::STOP);
  EXPECT_EQ(asked(), caffe::SolverAction::NONE);
}

TEST(ClientTimer, ReportsWhetherItHasRun) {
  caffe::CPUTimer timer;
  EXPECT_TRUE(timer.initted());
  EXPECT_FALSE(timer.has_run_at_least_once());
  EXPECT_EQ(timer.MilliSeconds(), 0);
  timer.Start();
  EXPECT_TRUE(timer.running());
  boost::posix_time::ptime now = boost::posix_time::microsec_clock::local_time();
  timer.Stop();
  EXPECT_FALSE(timer.running());
  EXPECT_GE(timer.MicroSeconds(), 0);
  EXPECT_FALSE(now.is_not_a_date_time());
}

}  // namespace
