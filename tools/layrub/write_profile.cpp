#include "layrub/write_profile.hpp"

#include <glog/logging.h>

#include <string>
#include <thread>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/planned_net.hpp"
#include "caffe/util/arithmetic_rates.hpp"
#include "caffe/util/library_settings.hpp"
#include "layrub/flags.hpp"
#include "layrub/machine_file.hpp"
#include "layrub/placement/cost/algorithm_choices.hpp"
#include "layrub/placement/cost/profile.hpp"
#include "layrub/recorded_solver.hpp"
#include "layrub/runtime/measure.hpp"

namespace layrub_tool {

namespace {

using layrub::Machine;
using layrub::Timeline;

constexpr int kProfileWarmUp = 2;

std::unique_ptr<caffe::Solver<float>> MakeSolver(const caffe::NetParameter& net,
                                                 const std::string& strategy, int workspace) {
  caffe::PlacementParameter placement;
  placement.set_strategy(strategy);
  std::unique_ptr<caffe::Solver<float>> solver = MakeRecordedSolver(net, placement);
  solver->mutable_placement_extra()->algorithm = workspace;
  return solver;
}

}  // namespace

Machine MeasureDevice() {
  Machine machine;
  if (caffe::Caffe::mode() == caffe::Caffe::GPU) {
    machine.name = caffe::Caffe::device().Name();
    machine.capacity = caffe::Caffe::device().total_bytes();
  } else {
    machine.name = "cpu, " + std::to_string(std::thread::hardware_concurrency()) + " threads";
  }
  const caffe::ArithmeticRates rates = caffe::MeasureArithmetic();
  machine.flops = rates.flops;
  machine.tf32_flops = rates.tf32_flops;
  machine.memory_bandwidth = rates.memory_bandwidth;
  return machine;
}

void WriteProfile(const caffe::NetParameter& net, int iterations, const std::string& path) {
  caffe::library_settings().measure = true;
  layrub::ProgressLine line;
  line.Show("measuring the device");
  Machine machine = MeasureDevice();
  // Runs every operation with each of its algorithms: all with their first, then all with their
  // second, and so on.
  for (int workspace = 0, choices = 1; workspace < choices; ++workspace) {
    const auto solver = MakeSolver(net, "keep", workspace);
    const std::vector<Timeline> timelines =
        Record(solver.get(), kProfileWarmUp, iterations,
               "measuring each operation, workspace " + std::to_string(workspace + 1), &line);
    caffe::PlannedNet<float>& planned = *solver->net()->planned();
    layrub::LearnOperations(planned.graph(), planned.plan(), timelines, &machine);
    if (workspace > 0) continue;
    choices = layrub::AlgorithmChoices(solver->net()->MemoryGraph(-1));
    layrub::MeasureCopies(caffe::MakeBackend(FLAGS_spill_file).get(), kBytesToCopy, &machine);
    LOG(INFO) << "Measured " << layrub::MeasuredOperations(planned.graph(), machine) << " of the "
              << planned.graph().ops.size() << " operations of net " << planned.graph().name << ".";
  }
  // Then with copies at the same time.
  const auto solver = MakeSolver(net, "inter", -1);
  const std::vector<Timeline> timelines =
      Record(solver.get(), kProfileWarmUp, iterations, "measuring operations beside copies", &line);
  const caffe::PlannedNet<float>& planned = *solver->net()->planned();
  layrub::LearnInterference(planned.graph(), planned.plan(), timelines, &machine);
  WriteMachineFile(path, machine);
  LOG(INFO) << "Wrote " << path << ", for --machine=" << path;
}

}  // namespace layrub_tool
