#include "layrub/recorded_solver.hpp"

#include "caffe/planned_net.hpp"
#include "layrub/commands.hpp"

namespace layrub_tool {

std::unique_ptr<caffe::Solver<float>> MakeRecordedSolver(
    const caffe::NetParameter& net, const caffe::PlacementParameter& placement) {
  caffe::SolverParameter param;
  *param.mutable_train_net_param() = net;
  *param.mutable_train_state() = net.state();
  param.set_type("SGD");
  param.set_base_lr(0);
  param.set_momentum(0.9f);
  param.set_lr_policy("fixed");
  param.set_snapshot_after_train(false);
  param.set_random_seed(kSyntheticSeed);
  *param.mutable_placement() = placement;
  std::unique_ptr<caffe::Solver<float>> solver(caffe::SolverRegistry<float>::CreateSolver(param));
  solver->mutable_placement_extra()->executor.record = true;
  solver->mutable_placement_extra()->optimizations = DebugFlag();
  return solver;
}

std::string IterationText(const std::string& what, int iteration, int iterations) {
  return what + ", iteration " + std::to_string(iteration + 1) + " of " +
         std::to_string(iterations);
}

std::vector<layrub::Timeline> Record(caffe::Solver<float>* solver, int warm_up, int iterations,
                                     const std::string& what, layrub::ProgressLine* line) {
  line->Show(what);
  solver->Step(warm_up);
  std::vector<layrub::Timeline> timelines;
  for (int i = 0; i < iterations; ++i) {
    if (line->Due()) line->Show(IterationText(what, i, iterations));
    solver->Step(1);
    timelines.push_back(solver->net()->planned()->executor().timeline());
  }
  return timelines;
}

}  // namespace layrub_tool
