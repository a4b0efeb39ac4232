#ifndef TOOLS_LAYRUB_RECORDED_SOLVER_HPP_
#define TOOLS_LAYRUB_RECORDED_SOLVER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "layrub/base/progress_line.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub_tool {

/// An SGD solver that runs every operation of `net` under a plan, keeps the timeline of each
/// iteration and leaves the parameters alone: its learning rate is 0. It writes nothing.
std::unique_ptr<caffe::Solver<float>> MakeRecordedSolver(
    const caffe::NetParameter& net, const caffe::PlacementParameter& placement);

/// What a terminal shows while `what` is in an iteration, counted from 0: "timing lenet, iteration
/// 3 of 50".
std::string IterationText(const std::string& what, int iteration, int iterations);

/// Timelines of `iterations` iterations after `warm_up` others. `line` shows how far it has come in
/// `what`.
std::vector<layrub::Timeline> Record(caffe::Solver<float>* solver, int warm_up, int iterations,
                                     const std::string& what, layrub::ProgressLine* line);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_RECORDED_SOLVER_HPP_
