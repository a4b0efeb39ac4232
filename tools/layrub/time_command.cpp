#include <glog/logging.h>

#include <algorithm>
#include <iomanip>
#include <iostream>

#include "caffe/caffe.hpp"
#include "layrub/commands.hpp"
#include "layrub/flags.hpp"
#include "layrub/planned_time.hpp"
#include "layrub/recorded_solver.hpp"
#include "layrub/time_report.hpp"
#include "layrub/write_profile.hpp"

namespace layrub_tool {

namespace {

/// A profile is the median of at most so many iterations.
constexpr int kMostProfiled = 10;

/// Milliseconds, summed over iterations, of each layer and of whole passes.
struct Times {
  std::vector<double> forward, backward;  // by layer
  double forward_pass = 0, backward_pass = 0;
};

void RunOnce(caffe::Net<float>* net, Times* times) {
  caffe::Timer pass, layer;
  const auto& layers = net->layers();
  const int count = static_cast<int>(layers.size());
  pass.Start();
  for (int i = 0; i < count; ++i) {
    layer.Start();
    layers[i]->Forward(net->bottom_vecs()[i], net->top_vecs()[i]);
    times->forward[i] += layer.MicroSeconds() / 1000;
  }
  times->forward_pass += pass.MicroSeconds() / 1000;
  pass.Start();
  for (int i = count - 1; i >= 0; --i) {
    layer.Start();
    if (net->layer_need_backward()[i]) {
      layers[i]->Backward(net->top_vecs()[i], net->bottom_need_backward()[i],
                          net->bottom_vecs()[i]);
    }
    times->backward[i] += layer.MicroSeconds() / 1000;
  }
  times->backward_pass += pass.MicroSeconds() / 1000;
}

/// Runs the net without a plan and logs the lines of `caffe time`.
TimeReport TimeDirect(const caffe::NetParameter& param) {
  caffe::Net<float> net(param);
  for (const std::string& weights : SplitList(FLAGS_weights)) net.CopyTrainedLayersFrom(weights);

  layrub::ProgressLine line;
  const std::string what = "timing " + net.name();
  line.Show(what);
  // A first pass outside the measurement touches all memory.
  LOG(INFO) << "Performing Forward";
  float loss;
  net.Forward(&loss);
  LOG(INFO) << "Initial loss: " << loss;
  LOG(INFO) << "Performing Backward";
  net.Backward();

  LOG(INFO) << "*** Benchmark begins ***";
  LOG(INFO) << "Testing for " << FLAGS_iterations << " iterations.";
  const size_t layers = net.layers().size();
  Times times{std::vector<double>(layers), std::vector<double>(layers)};
  caffe::Timer total, iteration;
  total.Start();
  for (int i = 0; i < FLAGS_iterations; ++i) {
    if (line.Due()) line.Show(IterationText(what, i, FLAGS_iterations));
    iteration.Start();
    RunOnce(&net, &times);
    LOG(INFO) << "Iteration: " << i + 1 << " forward-backward time: " << iteration.MilliSeconds()
              << " ms.";
  }
  const double total_ms = total.MilliSeconds();
  LOG(INFO) << "Average time per layer: ";
  const double n = FLAGS_iterations;
  for (size_t i = 0; i < layers; ++i) {
    const std::string& name = net.layers()[i]->layer_param().name();
    LOG(INFO) << std::setfill(' ') << std::setw(10) << name << "\tforward: " << times.forward[i] / n
              << " ms.";
    LOG(INFO) << std::setfill(' ') << std::setw(10) << name
              << "\tbackward: " << times.backward[i] / n << " ms.";
  }
  LOG(INFO) << "Average Forward pass: " << times.forward_pass / n << " ms.";
  LOG(INFO) << "Average Backward pass: " << times.backward_pass / n << " ms.";
  LOG(INFO) << "Average Forward-Backward: " << total_ms / n << " ms.";
  LOG(INFO) << "Total Time: " << total_ms << " ms.";
  LOG(INFO) << "*** Benchmark ends ***";

  TimeReport report;
  report.net = net.name();
  report.iterations = FLAGS_iterations;
  report.seconds = total_ms / n / 1000;
  report.layers = LayersOf(net);
  for (size_t i = 0; i < layers; ++i) {
    report.layers[i].forward = times.forward[i] / n / 1000;
    if (net.layer_need_backward()[i]) report.layers[i].backward = times.backward[i] / n / 1000;
  }
  const caffe::Optimizations none{false, false, false};  // layers ran one by one, on plain arrays
  const layrub::Graph graph = net.MemoryGraph(-1, {}, none);
  AddOperations(graph, DirectChoices(graph), &report.layers);
  return report;
}

void Print(const TimeReport& report) {
  std::cout << (FLAGS_format == "json" ? ToJson(report) : ToText(report));
}

}  // namespace

int RunTime(const std::vector<std::string>&) {
  Require("time", "model", FLAGS_model);
  if (FLAGS_iterations < 1) Fail("--iterations must be at least 1.");
  RefuseUnknownFormat();
  const bool planned = PlacementFlagGiven();
  const caffe::Phase phase = PhaseFlag(caffe::TRAIN);
  if (planned && phase != caffe::TRAIN)
    Fail("a memory plan is timed in training: leave out --phase=TEST.");
  ChooseDevice("time");
  const caffe::NetParameter param = NetOfFlags("time", phase);
  if (!FLAGS_profile.empty()) {
    RefusePlacementFlags("time --profile");
    if (phase != caffe::TRAIN) Fail("--profile measures training: leave out --phase=TEST.");
    CheckWritable(FLAGS_profile);
    WriteProfile(param, std::min(FLAGS_iterations, kMostProfiled), FLAGS_profile);
    return kSuccess;
  }
  if (!planned) {
    Print(TimeDirect(param));
    return kSuccess;
  }
  const layrub::Result<TimeReport> report = TimePlanned(param, FLAGS_iterations);
  if (!report.ok()) return ExitCode(report.status());
  Print(report.value());
  return kSuccess;
}

}  // namespace layrub_tool
