#ifndef TOOLS_LAYRUB_RECORDED_SOLVER_HPP_
#define TOOLS_LAYRUB_RECORDED_SOLVER_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/caffe.hpp"
#include "layrub/base/progress_line.hpp"
#include "layrub/placement/cost/timeline.hpp"

namespace layrub_tool {

/// An SGD solver that runs every operation of `net` under a plan and records the timeline of each
/// iteration. Its learning rate is 0, so the parameters do not change. It writes no snapshots.
std::unique_ptr<caffe::Solver<float>> MakeRecordedSolver(
    const caffe::NetParameter& net, const caffe::PlacementParameter& placement);

/// The progress line of `what` during `iteration`, counted from 0: "timing lenet, iteration 3 of
/// 50".
std::string IterationText(const std::string& what, int iteration, int iterations);

/// Runs `warm_up` iterations, then `iterations` more, and returns the timelines of the latter.
/// Shows progress, as IterationText(what, ...), in `line`.
std::vector<layrub::Timeline> Record(caffe::Solver<float>* solver, int warm_up, int iterations,
                                     const std::string& what, layrub::ProgressLine* line);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_RECORDED_SOLVER_HPP_
