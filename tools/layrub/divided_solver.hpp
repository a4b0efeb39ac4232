#ifndef TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
#define TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "caffe/caffe.hpp"
#include "caffe/device_group.hpp"
#include "caffe/divided_training.hpp"
#include "caffe/util/signal_handler.h"
#include "layrub/device/ranks.hpp"

namespace layrub_tool {

/// The first member's part in training a net that is divided (--partition): among the processes
/// that mpirun has started, or among GPUs of this process, where each other member is a thread.
class DividedSolver {
 public:
  /// Divides the nets of `whole`, sends the other members what they need, and makes this member's
  /// solver, restored from the file `snapshot` unless that is empty. The solver is not placed yet.
  /// `ranks` must outlive this object.
  DividedSolver(layrub::RankCommunicator* ranks, const caffe::SolverParameter& whole,
                const std::string& snapshot);
  /// `gpus`: a group of several GPUs. This thread uses the first.
  DividedSolver(layrub::Group gpus, const caffe::SolverParameter& whole,
                const std::string& snapshot);
  /// Ends the group, unless Finish has been called.
  ~DividedSolver();

  caffe::Solver<float>* solver() const { return member_.solver.get(); }
  caffe::DividedTraining<float>* training() const { return member_.training.get(); }
  /// Waits, after DividedTraining::Solve, until the other threads have ended.
  void Finish();

 private:
  struct Member {
    std::unique_ptr<caffe::DeviceGroupScope> scope;
    std::unique_ptr<caffe::Solver<float>> solver;
    std::unique_ptr<caffe::DividedTraining<float>> training;
  };
  /// What the first member tells the others.
  struct Work {
    caffe::SolverParameter local;  ///< of a device
    caffe::SolverParameter whole;
    std::string snapshot;
  };
  friend void FollowDivided(layrub::RankCommunicator* ranks);

  void Lead(layrub::Communicator* group, caffe::SolverParameter whole, const std::string& snapshot);
  static Member Make(layrub::Communicator* group, const Work& work);
  static Work ReceiveWork(layrub::Communicator* group);
  /// `signals`: of this process, or null.
  static void Follow(layrub::Communicator* group, const Work& work, caffe::SignalHandler* signals);
  void Join();

  layrub::Group gpus_;
  Member member_;
  std::vector<std::thread> others_;
};

/// In another process: trains with the first process until training ends. Throws
/// layrub::GroupFailed if this or another process fails.
void FollowDivided(layrub::RankCommunicator* ranks);

}  // namespace layrub_tool

#endif  // TOOLS_LAYRUB_DIVIDED_SOLVER_HPP_
