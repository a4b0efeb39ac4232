#ifndef CAFFE_PARALLEL_HPP_
#define CAFFE_PARALLEL_HPP_

#include <memory>
#include <string>
#include <vector>

#include "caffe/solver.hpp"
#include "layrub/communicator.hpp"

namespace caffe {

/// What a solver of several does about the others: before each update the gradients of all are
/// summed and divided by their number, as if the solvers' batches were one. With layer_wise_reduce
/// a gradient is summed as soon as the backward of the last layer that adds to it has ended, while
/// the backward goes on. Callbacks of the solver and its net from its construction on, so it must
/// outlive their training. They throw layrub::GroupFailed.
///
/// The memory of gradients never moves while a plan is in force (they are persistent), so a plan
/// needs to know nothing of this.
template <typename Dtype>
class GradientSum : public Solver<Dtype>::Callback, public Net<Dtype>::Callback {
 public:
  GradientSum(Solver<Dtype>* solver, layrub::Communicator* communicator);
  /// Gives the net the parameters of the solver of rank 0. Each solver of the group calls it.
  void Broadcast();

 protected:
  void on_start() override { passes_ = 0; }
  void on_gradients_ready() override;
  void run(int layer) override;

 private:
  void Sum(const vector<int>& params);

  Solver<Dtype>* const solver_;
  layrub::Communicator* const communicator_;
  const bool layer_wise_;
  vector<int> learning_;             ///< indices of the parameters that learn
  vector<vector<int>> ready_after_;  ///< by layer: those whose gradients its backward completes
  int passes_ = 0;                   ///< backward passes of this iteration that have begun

  DISABLE_COPY_AND_ASSIGN(GradientSum);
};

/// Trains one net with several solvers, each with its own net, plan and memory, and its own part of
/// the data: `root`, which the caller steps, and others that follow it step by step in threads of
/// their own. Only the root tests, displays and takes snapshots. Each solver has the whole batch of
/// the prototxt, so a step learns from as many batches as there are solvers; the learning rate
/// stays as it is.
///
/// An error in a solver ends all of them: the root's step throws layrub::GroupFailed, whose message
/// names the solver. Must outlive the root's training.
template <typename Dtype>
class ParallelSolvers {
 public:
  /// `root` must have been made with Caffe::solver_count() == group.size().
  ParallelSolvers(Solver<Dtype>* root, layrub::Group group);
  /// Ends the others, wherever they are, unless Finish has.
  ~ParallelSolvers();

  /// Makes and places the others as `root` was made, with the same state (`restore`: the file that
  /// it was restored from) and its parameters. The first error of a placement, naming the solver.
  layrub::Status Start(const string& restore = "");
  /// Waits until the others have done what the root has done, and ends their threads. Throws
  /// layrub::GroupFailed when one of them could not.
  void Finish();

  int size() const { return static_cast<int>(group_.size()); }
  /// Solver `rank` of [0, size()); others than the root are for their threads alone from Start to
  /// Finish, and null before.
  Solver<Dtype>* solver(int rank) const;

 private:
  class Gate;
  class Leader;
  class Follower;

  Solver<Dtype>* const root_;
  const layrub::Group group_;
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Leader> leader_;
  std::unique_ptr<GradientSum<Dtype>> sum_;
  vector<std::unique_ptr<Follower>> followers_;
  bool finished_ = false;

  DISABLE_COPY_AND_ASSIGN(ParallelSolvers);
};

/// Caffe's name for training on several GPUs; in a build without NCCL gradients go through the
/// host's memory.
template <typename Dtype>
class NCCL {
 public:
  /// `solver` was made on the first of the GPUs, with Caffe::solver_count() of them.
  explicit NCCL(shared_ptr<Solver<Dtype>> solver) : solver_(solver) {}
  /// Solves, with solvers like this one on the other `gpus`. `restore`: what this one was restored
  /// from, or null.
  void Run(const vector<int>& gpus, const char* restore);

 private:
  const shared_ptr<Solver<Dtype>> solver_;

  DISABLE_COPY_AND_ASSIGN(NCCL);
};

}  // namespace caffe

#endif  // CAFFE_PARALLEL_HPP_
